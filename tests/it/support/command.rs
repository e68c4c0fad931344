//! Commands that run and end.

use std::path::Path;
use std::process::{Command, Output, Stdio};

/// What a command left behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// Runs `hookbell` with these words in `folder`, with nothing in its environment but what is given.
pub fn hookbell(folder: &Path, words: &[&str], environment: &[(&str, &str)]) -> Ran {
    let output: Output = Command::new(env!("CARGO_BIN_EXE_hookbell"))
        .args(words)
        .current_dir(folder)
        .env_clear()
        .envs(environment.iter().copied())
        .stdin(Stdio::null())
        .output()
        .expect("to run hookbell");
    Ran {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("utf-8"),
        stderr: String::from_utf8(output.stderr).expect("utf-8"),
    }
}

/// Copies a folder with everything in it.
pub fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        let target = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy_folder(&path, &target);
        } else {
            std::fs::copy(&path, &target).expect("to copy");
        }
    }
}
