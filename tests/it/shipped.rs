//! The shipped rules and every sample beside them, as a person sees them on a phone.
//!
//! `UPDATE_GOLDEN=1 cargo test --test it shipped` writes the golden files anew: read them before committing.

mod coolify;
mod github;
mod github_alerts;
mod library;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;

use self::library::Library;
use crate::support::samples::{self, Sample, sources_with_samples};

/// What each sample of a source becomes, by the sample's name.
type Golden = BTreeMap<String, Vec<Value>>;

fn golden_file(source: &str) -> PathBuf {
    samples::root().join("tests/it/golden").join(format!("{source}.json"))
}

fn compare(source: &str, seen: &Golden) {
    let file = golden_file(source);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let text = serde_json::to_string_pretty(seen).expect("JSON");
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
fn every_sample_of_every_sender_becomes_its_notification_through_the_door() {
    let library = Library::start();
    for source in sources_with_samples() {
        let samples = samples::of(&source);
        let post = |sample| {
            let seen = library.post(&source, sample).or_else(|| Library::start().post(&source, sample));
            seen.expect("what a new gateway has not seen")
        };
        let seen = samples.iter().map(|sample| (sample.name.clone(), post(sample))).collect();
        compare(&source, &seen);
    }
}

/// What no person wants to read on a lock screen. A line that the sender itself wrote may be what it is.
fn blemishes(text: &str, sent: &str) -> Vec<&'static str> {
    let mut found = Vec::new();
    let mut check = |bad: bool, what| found.extend(bad.then_some(what));
    check(text.is_empty() || text == "triggered", "empty");
    check(text != text.trim(), "blanks around it");
    check(text.lines().any(|line| line != line.trim_end()), "a line with trailing blanks");
    check(text.lines().any(|line| line.trim().is_empty()), "an empty line");
    let ours: Vec<&str> = text.lines().filter(|line| !sent.contains(line.trim_end_matches('…'))).collect();
    check(ours.iter().any(|line| line.ends_with([':', ',', '—', '→', '('])), "a dangling label");
    check(ours.iter().any(|line| line.starts_with([':', ',', '—', '→'])), "a label without its start");
    let nothing = ["null", "undefined", "[object", "<no value>", "()"];
    let spelt =
        |line: &&str| nothing.iter().any(|word| line.contains(word) && !sent.contains(line_end(line, word)));
    check(ours.iter().any(spelt), "nothing, spelt out");
    check(
        ours.iter().any(|line| line.contains("{\"") || line.contains("[\"") || line.contains("{{")),
        "raw JSON or a template",
    );
    found
}

/// A line from the word's own start: what stands before it may be a label of ours.
fn line_end<'a>(line: &'a str, word: &str) -> &'a str {
    let from = line[..line.find(word).unwrap_or(0)].rfind(": ").map_or(0, |label| label + 2);
    line[from..].trim_end_matches('…')
}

/// All texts in a body, one below the other; a body that is no JSON is one.
fn texts(sample: &Sample) -> String {
    fn collect(value: &Value, into: &mut String) {
        match value {
            Value::String(text) => into.push_str(&format!("{text}\n")),
            Value::Array(items) => items.iter().for_each(|item| collect(item, into)),
            Value::Object(fields) => fields.values().for_each(|field| collect(field, into)),
            _ => {}
        }
    }
    let mut all = String::from_utf8_lossy(&sample.body).into_owned();
    if let Ok(body) = serde_json::from_slice(&sample.body) {
        collect(&body, &mut all);
    }
    all
}

#[test]
fn every_title_and_message_reads_well() {
    let mut bad = Vec::new();
    for source in sources_with_samples() {
        let text = std::fs::read_to_string(golden_file(&source)).expect("a golden file");
        let golden: Golden = serde_json::from_str(&text).expect("JSON");
        for sample in samples::of(&source) {
            let sent = texts(&sample);
            for notification in &golden[&sample.name] {
                for field in ["title", "message"] {
                    let text = notification[field].as_str().unwrap_or_default();
                    let what = blemishes(text, &sent).into_iter();
                    bad.extend(
                        what.map(|what| format!("{source}/{}: {field} is {what}: {text:?}", sample.name)),
                    );
                }
                let title = notification["title"].as_str().unwrap_or_default();
                if title.chars().count() > 50 {
                    bad.push(format!("{source}/{}: the title is too long: {title:?}", sample.name));
                }
            }
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

#[test]
fn the_reader_of_titles_and_messages_sees_what_is_wrong() {
    for (text, what) in [
        ("", "empty"),
        (" a", "blanks around it"),
        ("a \nb", "a line with trailing blanks"),
        ("a\n\nb", "an empty line"),
        ("Branch:", "a dangling label"),
        (", by Ada", "a label without its start"),
        ("By: null", "nothing, spelt out"),
        ("{\"a\":1}", "raw JSON or a template"),
    ] {
        assert_eq!(blemishes(text, "x"), [what], "{text:?}");
    }
    assert_eq!(blemishes("Reads undefined of null", "TypeError: Reads undefined of null"), [""; 0]);
}
