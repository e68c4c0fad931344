//! `application/x-www-form-urlencoded`.

use serde_json::Value;

use super::{Part, Unreadable, looks_like_json, nest, parse_json};

/// The fields as an object; a repeated field becomes a list, and `a.b` and `a[b]` nest. A `payload` field that holds JSON is the body:
/// GitHub, Gitea and Slack post that way.
pub(super) fn decode(text: &str) -> Result<Value, Unreadable> {
    // JSON under this content type is what curl's -d sends unless told otherwise.
    if looks_like_json(text)
        && let Ok(value) = serde_json::from_str(text)
    {
        return Ok(value);
    }
    if let Some(payload) = payload_of(text) {
        return payload;
    }
    let pairs = form_urlencoded::parse(text.trim().as_bytes());
    Ok(nest::fields(pairs.map(|(name, value)| (name.into_owned(), Value::String(value.into_owned())))))
}

/// The JSON in the field `payload`, if there is such a field and it looks like JSON.
pub(super) fn payload_of(text: &str) -> Option<Result<Value, Unreadable>> {
    if !text.contains("payload=") {
        return None;
    }
    let (_, payload) = form_urlencoded::parse(text.trim().as_bytes()).find(|(name, _)| name == "payload")?;
    looks_like_json(&payload).then(|| match serde_json::from_str(&payload) {
        Ok(value) => Ok(value),
        Err(_) => parse_json(&payload, &Part::Whole),
    })
}
