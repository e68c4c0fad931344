//! Helpers on points in time and on durations.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;

use super::{Arguments, Outcome, Pure, text_of};
use crate::rules::matcher::number;

pub(super) const HELPERS: &[Pure] = &[
    Pure { name: "date", arity: (1, 1), call: date },
    Pure { name: "ago", arity: (1, 1), call: ago },
    Pure { name: "duration", arity: (1, 1), call: duration },
];

/// `{{date body.at zone='Europe/Berlin' format='%d.%m. %H:%M'}}`; without options UTC and `2026-12-01 09:30`.
fn date(arguments: &Arguments<'_>) -> Outcome {
    if text_of(arguments.value(0)).is_empty() {
        return Ok(Value::Null);
    }
    let at = timestamp(arguments.value(0))?;
    let zone = match arguments.named_text("zone") {
        Some(name) => TimeZone::get(&name).map_err(|_| format!("unknown time zone {name:?}"))?,
        None => TimeZone::UTC,
    };
    let format = arguments.named_text("format").unwrap_or_else(|| "%Y-%m-%d %H:%M".to_owned());
    jiff::fmt::strtime::format(&format, &at.to_zoned_datetime(zone))
        .map(Value::String)
        .map_err(|error| format!("invalid format {format:?}: {error}"))
}

/// How long before the webhook came: `5m ago`, `2h 10m ago`, `in 3d 4h`.
fn ago(arguments: &Arguments<'_>) -> Outcome {
    if text_of(arguments.value(0)).is_empty() {
        return Ok(Value::Null);
    }
    let then = timestamp(arguments.value(0))?;
    let now = timestamp(arguments.received_at)?;
    let seconds = now.as_second() - then.as_second();
    let text = in_words(seconds.unsigned_abs());
    Ok(if seconds < 0 { format!("in {text}") } else { format!("{text} ago") }.into())
}

/// A number of seconds in words: `1h 5m`.
fn duration(arguments: &Arguments<'_>) -> Outcome {
    if arguments.value(0).is_null() {
        return Ok(Value::Null);
    }
    match number(arguments.value(0)).filter(|seconds| seconds.is_finite()) {
        Some(seconds) => Ok(in_words(seconds.abs().round() as u64).into()),
        None => Err(format!("expected a number of seconds, found {}", arguments.value(0))),
    }
}

/// RFC 3339, or Unix time: below 1e11 in seconds (until the year 5138), above in milliseconds.
fn timestamp(value: &Value) -> Result<Timestamp, String> {
    let unreadable = || format!("expected a time, found {value}");
    if let Some(number) = number(value) {
        let millis = if number.abs() < 1e11 { number * 1000.0 } else { number };
        return Timestamp::from_millisecond(millis as i64).map_err(|_| unreadable());
    }
    let text = text_of(value);
    // Some senders write `2026-12-01 09:30:00` without a zone: UTC then.
    let zoneless =
        || text.parse::<jiff::civil::DateTime>().and_then(|at| at.to_zoned_datetime(TimeZone::UTC));
    text.parse().or_else(|_| zoneless().map(|at| at.timestamp())).map_err(|_| unreadable())
}

/// The two largest units.
fn in_words(seconds: u64) -> String {
    let mut rest = seconds;
    let mut parts = Vec::new();
    for (size, name) in [(86_400, "d"), (3_600, "h"), (60, "m"), (1, "s")] {
        if rest >= size && parts.len() < 2 {
            parts.push(format!("{}{name}", rest / size));
        }
        rest %= size;
    }
    if parts.is_empty() { "0s".to_owned() } else { parts.join(" ") }
}
