//! Imports point one way: each module uses only those before it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::support::samples::root;

/// Modules in layers; a module may use any module of an earlier layer and none of its own.
/// The leaves import nothing of ours; only the wiring in `cli` knows everything.
const LAYERS: [&[&str]; 10] = [
    &["secret", "problem", "notification", "metrics", "logging", "clock", "footprint", "priority", "words"],
    &["payload", "auth"],
    &["rules"],
    &["pipeline", "outbox", "ntfy"],
    &["cases"],
    &["delivery", "reload"],
    &["server", "operator"],
    &["settings"],
    &["cli"],
    &["main"],
];

fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            rust_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// The top-level module a file belongs to.
fn module_of(file: &Path) -> String {
    let relative = file.strip_prefix(root().join("src")).expect("below src");
    let first = relative.iter().next().expect("a name").to_string_lossy();
    first.trim_end_matches(".rs").to_owned()
}

/// The top-level modules a text refers to by `crate::…`, groups included.
fn modules_used(text: &str) -> BTreeSet<String> {
    let name = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let mut used = BTreeSet::new();
    for after in text.split("crate::").skip(1) {
        match after.strip_prefix('{') {
            Some(group) => {
                let group = group.split("};").next().unwrap_or_default();
                used.extend(group.split(',').map(|part| name(part.trim())));
            }
            None => {
                used.insert(name(after));
            }
        }
    }
    used.retain(|module| !module.is_empty());
    used
}

fn layer_of(module: &str) -> usize {
    LAYERS
        .iter()
        .position(|layer| layer.contains(&module))
        .unwrap_or_else(|| panic!("module {module:?} has no layer: give it a place in LAYERS"))
}

#[test]
fn no_arrow_points_back() {
    let mut files = Vec::new();
    rust_files(&root().join("src"), &mut files);
    assert!(files.len() > 30, "found only {} files", files.len());
    let mut wrong = Vec::new();
    for file in files.iter().filter(|file| module_of(file) != "lib") {
        let module = module_of(file);
        let text = std::fs::read_to_string(file).expect("a file");
        for used in modules_used(&text).into_iter().filter(|used| *used != module) {
            if layer_of(&used) >= layer_of(&module) {
                wrong.push(format!("{}: {module} must not use {used}", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_wrong_arrow_would_be_found() {
    let text = "use crate::server::Gateway;\nuse crate::{rules::set::RuleSet, cli};\n";
    assert_eq!(modules_used(text), ["cli", "rules", "server"].map(str::to_owned).into());
    assert!(layer_of("server") >= layer_of("rules"));
}
