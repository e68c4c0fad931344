//! What is no mistake, but hardly meant: warnings.

use std::collections::BTreeSet;

use super::source::Compiled;
use crate::problem::{Problem, nearest};
use crate::rules::decode::At;
use crate::rules::node::{Key, Node, Value};
use crate::rules::raw::{self, Document};
use crate::rules::target::Targets;

/// Keys whose values are secrets.
const SECRET_KEYS: [&str; 4] = ["token", "password", "secrets", "passwords"];
/// How alike a tag and an emoji's short code must be to look like a typing error.
const LIKE_AN_EMOJI: f64 = 0.93;
/// A topic of ntfy.sh is its own password: shorter ones can be guessed.
const LONG_ENOUGH: usize = 16;

/// Secrets that are written into a rules file. Looked for before `{env: …}` and `{file: …}` are resolved, and
/// hidden from every message from here on.
pub(super) fn plain_secrets(node: &Node, warnings: &mut Vec<Problem>) -> Vec<String> {
    let mut found = Vec::new();
    find_plain(node, warnings, &mut found);
    found
}

fn find_plain(node: &Node, warnings: &mut Vec<Problem>, found: &mut Vec<String>) {
    match &node.value {
        Value::List(items) => items.iter().for_each(|item| find_plain(item, warnings, found)),
        Value::Map(entries) => {
            for (key, value) in entries {
                if SECRET_KEYS.contains(&key.name.as_str()) {
                    warn_of_plain(value, warnings, found);
                }
                // Credentials in a URL are a mistake, reported elsewhere; they must not be shown there.
                if let Some((user, _)) = value.scalar_text().as_deref().and_then(|text| text.rsplit_once('@'))
                {
                    found.extend(user.split_once("//").map(|(_, user)| user.to_owned()));
                }
                find_plain(value, warnings, found);
            }
        }
        _ => {}
    }
}

fn warn_of_plain(value: &Node, warnings: &mut Vec<Problem>, found: &mut Vec<String>) {
    let items = match &value.value {
        Value::List(items) => items.as_slice(),
        _ => std::slice::from_ref(value),
    };
    for (item, text) in items.iter().filter_map(|item| Some((item, item.scalar_text()?))) {
        if !text.is_empty() {
            found.push(text);
        }
        warnings.push(
            Problem::warning(&item.place, "a secret in plain text")
                .help("use {env: NAME} or {file: /run/secrets/…}, so that the rules can live in git"),
        );
    }
}

/// Everything else.
pub(super) fn lint(
    documents: &[Document],
    compiled: &[(&Key, Compiled)],
    used_tables: &BTreeSet<String>,
    targets: &Targets,
) -> Vec<Problem> {
    let mut warnings = Vec::new();
    for (key, _) in documents.iter().flat_map(|document| &document.tables.0) {
        if !used_tables.contains(&key.name) {
            let message = format!("table {:?} is never used", key.name);
            warnings
                .push(Problem::warning(&key.place, message).help("remove it, or use {{table 'name' key}}"));
        }
    }
    for (key, raw) in documents.iter().flat_map(|document| &document.sources.0) {
        let source = &raw.value;
        if let Some((_, compiled)) = compiled.iter().find(|(other, _)| *other == key)
            && compiled.source.verifier.is_none()
            && compiled.waits_for.is_empty()
        {
            let message = format!("source {:?} believes everybody", key.name);
            warnings.push(Problem::warning(&key.place, message).help("add `verify:` to it"));
        }
        let published = source.rules.iter().flat_map(|rule| &rule.value.publish).chain(&source.defaults);
        published.for_each(|publish| lint_publish(publish, targets, &mut warnings));
    }
    warnings
}

fn lint_publish(publish: &At<raw::Publish>, targets: &Targets, warnings: &mut Vec<Problem>) {
    let publish = &publish.value;
    for tag in publish.tags.iter().flatten() {
        lint_tag(tag, warnings);
    }
    let server = publish.server.as_ref().map_or(super::server::DEFAULT, |server| server.value.as_str());
    let public = targets.get(server).is_some_and(|target| target.url.ends_with("//ntfy.sh/"));
    if let Some(topic) = publish.topic.as_ref().filter(|topic| public && guessable(&topic.value)) {
        let message = format!("topic {:?} can be guessed, and anyone can read it on ntfy.sh", topic.value);
        warnings.push(
            Problem::warning(&topic.place, message).help("use a long random topic, or a server of your own"),
        );
    }
}

fn guessable(topic: &str) -> bool {
    !topic.contains("{{") && (topic.len() < LONG_ENOUGH || !topic.contains(|c: char| c.is_ascii_digit()))
}

fn lint_tag(tag: &At<String>, warnings: &mut Vec<Problem>) {
    let text = tag.value.as_str();
    if text.contains("{{") || emojis::get_by_shortcode(text).is_some() {
        return;
    }
    let codes = emojis::iter().flat_map(emojis::Emoji::shortcodes);
    if let Some(code) = nearest(text, codes).filter(|code| strsim::jaro_winkler(text, code) > LIKE_AN_EMOJI) {
        let message = format!("tag {text:?} is no emoji");
        warnings.push(Problem::warning(&tag.place, message).help(format!("did you mean {code:?}?")));
    }
}
