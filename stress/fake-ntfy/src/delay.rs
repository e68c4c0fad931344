//! Scheduled delivery: a unix time, a duration such as `30m` or `2 days`, or `tomorrow`.

use crate::answer::{Refusal, refusal};

const DAY: u64 = 24 * 3600;
const LEAST: u64 = 10;
const MOST: u64 = 3 * DAY;

/// The unix time at which a message is due.
pub(crate) fn due(wish: &str, now: u64) -> Result<u64, Refusal> {
    let due = parse(&wish.to_lowercase(), now)
        .ok_or_else(|| refusal(40004, "invalid request: unable to parse delay parameter"))?;
    if due < now + LEAST {
        return Err(refusal(40005, "invalid request: delay parameter is too small"));
    }
    if due > now + MOST {
        return Err(refusal(40006, "invalid request: delay parameter is too large"));
    }
    Ok(due)
}

fn parse(wish: &str, now: u64) -> Option<u64> {
    if let Ok(unix) = wish.parse() {
        return Some(unix);
    }
    // The English times ntfy also takes need a library; one of them is enough for a stand-in.
    if wish == "tomorrow" || wish.starts_with("tomorrow,") {
        return Some(now + DAY);
    }
    duration(wish).map(|seconds| now.saturating_add(seconds))
}

/// Numbers each followed by a unit: `1h30m`, `2 days`.
fn duration(text: &str) -> Option<u64> {
    let mut rest = text.trim();
    let mut total = 0_u64;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let (number, after) = rest.split_at(digits);
        let after = after.trim_start();
        let (unit, after) =
            after.split_at(after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len()));
        total = total.checked_add(number.parse::<u64>().ok()?.checked_mul(seconds_in(unit)?)?)?;
        rest = after;
    }
    (!text.is_empty()).then_some(total)
}

fn seconds_in(unit: &str) -> Option<u64> {
    Some(match unit {
        "s" | "sec" | "secs" | "second" | "seconds" => 1,
        "m" | "min" | "mins" | "minute" | "minutes" => 60,
        "h" | "hour" | "hours" => 3600,
        "d" | "day" | "days" => DAY,
        _ => return None,
    })
}
