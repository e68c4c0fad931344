//! The recorded webhooks beside the shipped rules.

use std::path::{Path, PathBuf};

/// One recorded webhook.
pub struct Sample {
    /// Such as `push_branch.json`.
    pub name: String,
    /// Byte for byte as recorded.
    pub body: Vec<u8>,
    /// Without signatures, which are omitted in the records.
    pub headers: Vec<(String, String)>,
}

/// The repository's root.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The shipped rules folder.
pub fn shipped_rules() -> PathBuf {
    root().join("rules")
}

/// The shipped sources, all of which have samples, in order.
pub fn sources_with_samples() -> Vec<String> {
    let entries = std::fs::read_dir(shipped_rules().join("samples")).expect("samples");
    let name = |entry: std::io::Result<std::fs::DirEntry>| entry.expect("an entry").file_name();
    let mut names: Vec<String> = entries.map(|entry| name(entry).to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// All samples of a source, in order.
pub fn of(source: &str) -> Vec<Sample> {
    let folder = shipped_rules().join("samples").join(source);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension != "headers"));
    paths.sort();
    paths.iter().map(|path| read(path)).collect()
}

/// One sample of a source.
pub fn one(source: &str, name: &str) -> Sample {
    read(&shipped_rules().join("samples").join(source).join(name))
}

fn read(path: &Path) -> Sample {
    let headers = std::fs::read_to_string(path.with_extension("headers")).unwrap_or_default();
    let parse = |line: &str| {
        let (name, value) = line.split_once(':')?;
        Some((name.trim().to_owned(), value.trim().to_owned()))
            .filter(|(_, value)| !value.contains("<omitted>"))
    };
    Sample {
        name: path.file_name().expect("a name").to_string_lossy().into_owned(),
        body: std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display())),
        headers: headers.lines().filter_map(parse).collect(),
    }
}

impl Sample {
    /// The body, to be edited.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{}: {e}", self.name))
    }
}
