//! `hookbell init`: a rules folder to start from, which passes `check` and `test`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

/// What is written, by path.
const FILES: [(&str, &str); 3] = [
    ("door.yaml", include_str!("init/door.yaml")),
    ("tests/door.yaml", include_str!("init/tests.yaml")),
    ("samples/door/ring.json", include_str!("init/ring.json")),
];

pub(super) fn run(folder: &Path) -> Result<ExitCode> {
    let schemas = [
        (".schemas/rules.json", serde_json::to_string_pretty(&crate::rules::schema::rules())?),
        (".schemas/tests.json", serde_json::to_string_pretty(&crate::cases::schema())?),
    ];
    let files: Vec<(PathBuf, &str)> = FILES
        .into_iter()
        .chain(schemas.iter().map(|(name, text)| (*name, text.as_str())))
        .map(|(name, text)| (folder.join(name), text))
        .collect();
    // Nothing is written when anything is in the way: nobody's rules are worth less than ours.
    if let Some((taken, _)) = files.iter().find(|(path, _)| path.exists()) {
        bail!("{:?} is there already; name another folder: hookbell init DIR", taken.display().to_string());
    }
    for (path, text) in &files {
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent)
            .with_context(|| format!("cannot create {:?}", parent.display().to_string()))?;
        fs::write(path, text).with_context(|| format!("cannot write {:?}", path.display().to_string()))?;
        println!("wrote {}", path.display());
    }
    let folder = folder.display();
    println!("\nnext:\n  hookbell check {folder}\n  hookbell test {folder}\n  hookbell --rules {folder}");
    Ok(ExitCode::SUCCESS)
}
