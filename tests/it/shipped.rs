//! The shipped rules and every sample beside them, as a person sees them on a phone.
//!
//! `UPDATE_GOLDEN=1 cargo test --test it shipped` writes the golden files anew: read them before committing.

mod coolify;
mod github;
mod github_alerts;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;

use crate::support::{Scene, samples};

/// What each sample of a source becomes, by the sample's name.
type Golden = BTreeMap<String, Vec<Value>>;

fn golden_file(source: &str) -> PathBuf {
    samples::root().join("tests/it/golden").join(format!("{source}.json"))
}

fn seen(source: &str) -> Golden {
    let scene = Scene::shipped();
    let samples = samples::of(source);
    samples.into_iter().map(|sample| (sample.name.clone(), scene.post_sample(source, &sample))).collect()
}

fn compare(source: &str) {
    let seen = seen(source);
    let file = golden_file(source);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let text = serde_json::to_string_pretty(&seen).expect("JSON");
        std::fs::write(&file, text + "\n").expect("to write the golden file");
    }
    let text = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let golden: Golden = serde_json::from_str(&text).expect("JSON");
    assert_eq!(
        seen.keys().collect::<Vec<_>>(),
        golden.keys().collect::<Vec<_>>(),
        "other samples than golden ones"
    );
    for (name, notifications) in &golden {
        assert_eq!(seen[name], *notifications, "{source}/{name}");
    }
}

#[test]
fn every_github_sample_becomes_its_notification() {
    compare("github");
}

#[test]
fn every_coolify_sample_becomes_its_notification() {
    compare("coolify");
}

/// What no person wants to read on a lock screen.
fn blemishes(text: &str) -> Vec<&'static str> {
    let mut found = Vec::new();
    let mut check = |bad: bool, what| found.extend(bad.then_some(what));
    check(text.is_empty() || text == "triggered", "empty");
    check(text != text.trim(), "blanks around it");
    check(text.lines().any(|line| line != line.trim_end()), "a line with trailing blanks");
    check(text.lines().any(|line| line.trim().is_empty()), "an empty line");
    check(text.lines().any(|line| line.ends_with([':', ',', '—', '→', '('])), "a dangling label");
    check(text.lines().any(|line| line.starts_with([':', ',', '—', '→'])), "a label without its start");
    check(
        ["null", "undefined", "[object", "<no value>", "()"].iter().any(|word| text.contains(word)),
        "nothing, spelt out",
    );
    check(text.contains("{\"") || text.contains("[\"") || text.contains("{{"), "raw JSON or a template");
    found
}

#[test]
fn every_title_and_message_reads_well() {
    let mut bad = Vec::new();
    for source in ["github", "coolify"] {
        let text = std::fs::read_to_string(golden_file(source)).expect("a golden file");
        let golden: Golden = serde_json::from_str(&text).expect("JSON");
        for (name, notification) in
            golden.iter().flat_map(|(name, all)| all.iter().map(move |one| (name, one)))
        {
            for field in ["title", "message"] {
                let text = notification[field].as_str().unwrap_or_default();
                bad.extend(
                    blemishes(text)
                        .into_iter()
                        .map(|what| format!("{source}/{name}: {field} is {what}: {text:?}")),
                );
            }
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}
