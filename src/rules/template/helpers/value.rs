//! Helpers on values of any kind.

use serde_json::Value;

use super::{Arguments, Outcome, Pure, text_of};
use crate::rules::matcher::{equal, number};

pub(super) const HELPERS: &[Pure] = &[
    Pure { name: "default", arity: (1, usize::MAX), call: default },
    Pure { name: "json", arity: (1, 1), call: |a| Ok(a.value(0).to_string().into()) },
    Pure { name: "join", arity: (1, 2), call: join },
    Pure { name: "pluralize", arity: (2, 3), call: pluralize },
    Pure { name: "bytes", arity: (1, 1), call: bytes },
    Pure { name: "emoji", arity: (1, 1), call: |a| Ok(emoji(&a.text(0)).into()) },
    Pure { name: "contains", arity: (2, 2), call: contains },
];

/// The first value that is there and is not empty.
fn default(arguments: &Arguments<'_>) -> Outcome {
    let filled = arguments.values.iter().find(|value| !text_of(value).is_empty());
    Ok(filled.map_or(Value::Null, |value| (*value).clone()))
}

fn join(arguments: &Arguments<'_>) -> Outcome {
    let separator = if arguments.values.len() > 1 { arguments.text(1) } else { ", ".to_owned() };
    Ok(match arguments.value(0) {
        Value::Array(items) => items.iter().map(text_of).collect::<Vec<_>>().join(&separator).into(),
        other => text_of(other).into(),
    })
}

/// `{{pluralize 3 'update'}}` is `3 updates`; a third argument is an irregular plural. A list counts its items.
fn pluralize(arguments: &Arguments<'_>) -> Outcome {
    let count = match arguments.value(0) {
        Value::Array(items) => Value::from(items.len()),
        Value::Null => Value::from(0),
        other => other.clone(),
    };
    let Some(amount) = number(&count) else { return Err(format!("expected a number, found {count}")) };
    let word = match (amount == 1.0, arguments.values.len()) {
        (true, _) => arguments.text(1),
        (false, 3) => arguments.text(2),
        (false, _) => format!("{}s", arguments.text(1)),
    };
    Ok(format!("{} {word}", text_of(&count)).into())
}

/// A number of bytes in binary units: `1.5 GiB`.
fn bytes(arguments: &Arguments<'_>) -> Outcome {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    if arguments.value(0).is_null() {
        return Ok(Value::Null);
    }
    let Some(mut amount) = number(arguments.value(0)) else {
        return Err(format!("expected a number of bytes, found {}", arguments.value(0)));
    };
    let mut unit = 0;
    while amount.abs() >= 1024.0 && unit + 1 < UNITS.len() {
        amount /= 1024.0;
        unit += 1;
    }
    let digits = if unit == 0 || amount >= 100.0 { 0 } else { 1 };
    Ok(format!("{amount:.digits$} {}", UNITS[unit]).into())
}

/// The icon of a status word, in the words of CI systems, monitors and forges; `🔔` for any other.
fn emoji(status: &str) -> &'static str {
    match status.to_ascii_lowercase().replace([' ', '-'], "_").as_str() {
        "success" | "succeeded" | "successful" | "ok" | "passed" | "resolved" | "up" | "healthy"
        | "fixed" | "completed" | "true" => "✅",
        "failure" | "failed" | "error" | "errored" | "down" | "firing" | "unhealthy" | "false" => "❌",
        "critical" | "fatal" | "emergency" => "🚨",
        "warning" | "warn" | "degraded" | "high" | "medium" | "low" => "⚠️",
        "cancelled" | "canceled" | "skipped" | "aborted" | "dismissed" => "🚫",
        "timed_out" | "timeout" | "expired" => "⏰",
        "pending" | "queued" | "waiting" | "requested" => "⏳",
        "in_progress" | "running" | "started" | "building" => "🔄",
        "info" | "information" | "neutral" => "ℹ️",
        _ => "🔔",
    }
}

/// Whether a text holds a part, a list an item, or a mapping a key.
fn contains(arguments: &Arguments<'_>) -> Outcome {
    let wanted = arguments.value(1);
    let held = match arguments.value(0) {
        Value::Array(items) => items.iter().any(|item| equal(item, wanted)),
        Value::Object(map) => map.contains_key(&text_of(wanted)),
        other => text_of(other).contains(&text_of(wanted)),
    };
    Ok(held.into())
}
