//! Holding what came of a case against what it expects.

use serde_json::Value as Json;

use super::expectation::{Expected, Wanted};
use crate::pipeline::{Decision, Planned, Refusal};

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// What differs, such as `notification 1, title`.
    pub what: String,
    /// What the case expects.
    pub expected: String,
    /// What came.
    pub actual: String,
}

/// What came of a case.
pub(super) type Actual = Result<Decision, Refusal>;

pub(super) fn differences(expected: &Expected, actual: &Actual) -> Vec<Difference> {
    let mut found = Vec::new();
    let status = actual.as_ref().map_or_else(Refusal::status, |_| 200);
    compare(&mut found, "status", &expected.status.to_string(), &status.to_string());
    let nothing = Decision::default();
    let decision = actual.as_ref().unwrap_or(&nothing);
    if let Some(rules) = &expected.rules {
        compare(&mut found, "rules", &rules.join(", "), &decision.matched.join(", "));
    }
    if let Some(notifications) = &expected.notifications {
        compare_notifications(&mut found, notifications, expected.whole, &decision.notifications);
    }
    found
}

fn compare(found: &mut Vec<Difference>, what: &str, expected: &str, actual: &str) {
    if expected != actual {
        found.push(Difference {
            what: what.to_owned(),
            expected: expected.to_owned(),
            actual: actual.to_owned(),
        });
    }
}

fn compare_notifications(
    found: &mut Vec<Difference>,
    expected: &[Vec<(String, Wanted)>],
    whole: bool,
    actual: &[Planned],
) {
    if expected.len() != actual.len() {
        let list = |planned: &Planned| fields_of(planned).to_string();
        found.push(Difference {
            what: "number of notifications".to_owned(),
            expected: expected.len().to_string(),
            actual: [actual.len().to_string()]
                .into_iter()
                .chain(actual.iter().map(list))
                .collect::<Vec<_>>()
                .join("\n"),
        });
        return;
    }
    for (index, (fields, planned)) in expected.iter().zip(actual).enumerate() {
        compare_fields(found, &format!("notification {}", index + 1), fields, whole, planned);
    }
}

fn compare_fields(
    found: &mut Vec<Difference>,
    which: &str,
    expected: &[(String, Wanted)],
    whole: bool,
    actual: &Planned,
) {
    let fields = fields_of(actual);
    for (name, wanted) in expected {
        let value = fields.get(name);
        let holds = match wanted {
            Wanted::Exactly(Json::Null) => value.is_none(),
            Wanted::Exactly(wanted) => value.is_some_and(|value| crate::rules::matcher::equal(value, wanted)),
            Wanted::Something(matcher) => matcher.holds(&value.into_iter().collect::<Vec<_>>()),
        };
        if !holds {
            let expected = match wanted {
                Wanted::Exactly(value) => text(Some(value)),
                Wanted::Something(matcher) => matcher.to_string(),
            };
            found.push(Difference { what: format!("{which}, {name}"), expected, actual: text(value) });
        }
    }
    let named = |name: &String| name == "server" || expected.iter().any(|(known, _)| known == name);
    for (name, value) in fields.as_object().into_iter().flatten().filter(|(name, _)| whole && !named(name)) {
        found.push(Difference {
            what: format!("{which}, {name}"),
            expected: text(None),
            actual: text(Some(value)),
        });
    }
}

/// The notification's fields with the server's name.
fn fields_of(planned: &Planned) -> Json {
    let mut fields = serde_json::to_value(&planned.notification).unwrap_or_default();
    if let Some(fields) = fields.as_object_mut() {
        fields.insert("server".to_owned(), planned.server.as_ref().into());
    }
    fields
}

fn text(value: Option<&Json>) -> String {
    match value {
        None | Some(Json::Null) => "(absent)".to_owned(),
        Some(Json::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}
