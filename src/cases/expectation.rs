//! What a case expects, compiled.

use serde_json::Value as Json;

use super::raw;
use crate::notification::Priority;
use crate::problem::{Place, Problem, Problems, suggestion};
use crate::rules::compile::compile_matcher;
use crate::rules::decode::{At, mismatch};
use crate::rules::matcher::Matcher;
use crate::rules::node::{Node, Value};

/// The fields a notification can have; `server` is ours.
pub(super) const FIELDS: &[&str] = &[
    "server",
    "topic",
    "title",
    "message",
    "priority",
    "tags",
    "click",
    "icon",
    "attach",
    "filename",
    "actions",
    "markdown",
    "email",
    "call",
    "delay",
    "cache",
    "firebase",
    "sequence_id",
];

/// What must come of a webhook.
#[derive(Debug)]
pub(super) enum Expectation {
    /// To be recorded, at the place of the word.
    Record(Place),
    /// To be compared.
    Outcome(Expected),
}

/// What is compared; what is `None` is not.
#[derive(Debug)]
pub(super) struct Expected {
    pub(super) status: u16,
    pub(super) rules: Option<Vec<String>>,
    pub(super) notifications: Option<Vec<Vec<(String, Wanted)>>>,
    pub(super) whole: bool,
}

/// What a field must be.
#[derive(Debug)]
pub(super) enum Wanted {
    /// Exactly this.
    Exactly(Json),
    /// Something that satisfies this.
    Something(Matcher),
}

pub(super) fn compile_expectation(raw: &At<raw::Expect>, problems: &mut Problems) -> Option<Expectation> {
    let outcome = match &raw.value {
        raw::Expect::Record => return Some(Expectation::Record(raw.place.clone())),
        raw::Expect::Nothing => {
            let expected =
                Expected { status: 200, rules: None, notifications: Some(Vec::new()), whole: false };
            return Some(Expectation::Outcome(expected));
        }
        raw::Expect::Outcome(outcome) => outcome,
    };
    let status = outcome.status.as_ref().map_or(Some(200), |status| {
        let valid = u16::try_from(status.value).ok().filter(|status| (100..600).contains(status));
        if valid.is_none() {
            let message = format!("{} is no http status", status.value);
            problems
                .push(Problem::at(&status.place, message).help("use 200, 400, 401, 404, 405, 413 or 415"));
        }
        valid
    });
    let notifications = outcome
        .notifications
        .as_ref()
        .map(|list| list.iter().filter_map(|fields| compile_fields(&fields.0, problems)).collect());
    Some(Expectation::Outcome(Expected {
        status: status?,
        rules: outcome.rules.as_ref().map(|rules| rules.iter().map(|rule| rule.value.clone()).collect()),
        notifications,
        whole: outcome.whole.as_ref().is_some_and(|flag| flag.value),
    }))
}

fn compile_fields(node: &Node, problems: &mut Problems) -> Option<Vec<(String, Wanted)>> {
    let Value::Map(entries) = &node.value else { return mismatch(node, "a mapping of fields", problems) };
    let mut fields = Vec::new();
    for (key, value) in entries {
        if !FIELDS.contains(&key.name.as_str()) {
            let help = suggestion(&key.name, FIELDS.iter().copied());
            problems.push(Problem::at(&key.place, format!("unknown field {:?}", key.name)).help(help));
            continue;
        }
        fields.push((key.name.clone(), compile_wanted(&key.name, value, problems)?));
    }
    Some(fields)
}

fn compile_wanted(field: &str, node: &Node, problems: &mut Problems) -> Option<Wanted> {
    if let Value::Map(_) = node.value {
        return compile_matcher(node, problems).map(Wanted::Something);
    }
    Some(Wanted::Exactly(match node.to_json(problems)? {
        Json::String(text) if field == "priority" => match Priority::parse(&text) {
            Ok(priority) => Json::from(priority as u8),
            Err(error) => {
                problems.push(Problem::at(&node.place, error.to_string()));
                return None;
            }
        },
        // A block scalar ends in a line break, a notification never does.
        Json::String(text) => Json::String(text.trim().to_owned()),
        other => other,
    }))
}
