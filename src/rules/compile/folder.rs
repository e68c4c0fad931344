//! Which files make up the rules.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::problem::{Problem, Problems, SourceFile};

/// Folders of the rules folder that hold no rules.
const NOT_RULES: [&str; 2] = ["tests", "samples"];

/// Reads every `*.yaml` and `*.yml` below `folder`, in the order of their names.
pub(super) fn read(folder: &Path, problems: &mut Problems) -> Vec<Arc<SourceFile>> {
    let mut paths = Vec::new();
    if let Err(error) = collect(folder, &mut paths) {
        let message =
            format!("cannot read the rules folder {:?}: {}", folder.display().to_string(), error.kind());
        problems.push(Problem::anywhere(message).help("name it with --rules DIR, or HOOKBELL_RULES"));
        return Vec::new();
    }
    if paths.is_empty() {
        let message = format!("no *.yaml file in the rules folder {:?}", folder.display().to_string());
        problems
            .push(Problem::anywhere(message).help("put one there, or name another folder with --rules DIR"));
    }
    paths.sort();
    paths.iter().filter_map(|path| read_file(path, problems)).collect()
}

fn collect(folder: &Path, paths: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // Kubernetes keeps what a ConfigMap holds in `..2026_12_01…` and links to it by `..data`; editors hide theirs too.
        if name.starts_with('.') {
            continue;
        }
        if path.is_dir() {
            if !NOT_RULES.contains(&name.as_ref()) {
                collect(&path, paths)?;
            }
        } else if matches!(path.extension().and_then(|e| e.to_str()), Some("yaml" | "yml")) {
            paths.push(path);
        }
    }
    Ok(())
}

fn read_file(path: &Path, problems: &mut Problems) -> Option<Arc<SourceFile>> {
    let name = path.display().to_string();
    let report = |reason: String| Problem::anywhere(format!("cannot read {name:?}: {reason}"));
    match fs::read(path) {
        Ok(bytes) => match String::from_utf8(bytes) {
            Ok(text) => Some(Arc::new(SourceFile::new(name, text))),
            Err(_) => {
                problems.push(report("it is not utf-8".to_owned()).help("save the file as utf-8"));
                None
            }
        },
        Err(error) => {
            problems.push(report(error.kind().to_string()).help("check the file's permissions"));
            None
        }
    }
}
