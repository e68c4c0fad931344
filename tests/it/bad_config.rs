//! One mistake per file of tests/bad_config, and beside it the whole text that a person reads.

use std::path::{Path, PathBuf};

use tempfile::tempdir;

use crate::support::command::{copy_folder, hookbell};
use crate::support::samples::root;

/// The cases: a file, or a folder of several.
fn cases() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join("tests/bad_config")).expect("the folder");
    let mut cases: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    cases.retain(|path| path.extension().is_none_or(|extension| extension != "txt"));
    cases.sort();
    cases
}

/// What `hookbell check` says of a folder with only this case in it.
fn report(case: &Path) -> String {
    let folder = tempdir().expect("a folder");
    let rules = folder.path().join("rules");
    if case.is_dir() {
        copy_folder(case, &rules);
    } else {
        std::fs::create_dir(&rules).expect("a folder");
        std::fs::copy(case, rules.join(case.file_name().expect("a name"))).expect("to copy");
    }
    let ran = hookbell(folder.path(), &["check"], &[]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{} passes", case.display());
    ran.stderr
}

#[test]
fn every_mistake_is_told_where_it_is_what_it_is_and_what_to_do() {
    let cases = cases();
    assert!(cases.len() >= 60, "found {} cases", cases.len());
    let mut wrong = Vec::new();
    for case in cases {
        let (expected, actual) = (case.with_extension("txt"), report(&case));
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&expected, &actual).expect("to write");
        }
        let kept = std::fs::read_to_string(&expected).unwrap_or_default();
        if kept != actual {
            wrong.push(format!("== {}\n-- expected\n{kept}-- actual\n{actual}", case.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_a_variable_or_a_file_holds_is_never_shown() {
    let folder = tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join("rules")).expect("a folder");
    std::fs::write(folder.path().join("token"), "hunter2-from-file\n").expect("a file");
    for rules in [
        "sources: { s: { path: /s, verify: { bearer: { env: TOKEN } }, rules: [{ name: r, drop: true }] } }",
        "sources: { s: { path: /s, verify: { env: TOKEN }, rules: [{ name: r, drop: true }] } }",
        "sources: { s: { path: { env: TOKEN }, methods: { file: ../token }, rules: [{ name: r, drop: true }] } }",
        "servers: { default: { url: { env: TOKEN }, timeout: { file: ../token } } }",
        "servers: { default: { url: \"https://me:hunter2@ntfy .example\" } }",
        "sources: { s: { path: /s, rules: [{ name: r, publish: { topic: { env: TOKEN }, priority: { env: TOKEN }, message: m } }] } }",
    ] {
        std::fs::write(folder.path().join("rules/rules.yaml"), rules).expect("rules");
        let ran = hookbell(
            folder.path(),
            &["check"],
            &[("TOKEN", "hunter2 secret"), ("NTFY_URL", "https://a:hunter2@b")],
        );
        assert_eq!(ran.code, Some(1), "{rules}");
        assert!(!ran.stderr.contains("hunter2"), "{rules}:\n{}", ran.stderr);
    }
}
