//! CloudEvents over HTTP (v1.0): what a sender puts into headers is brought together with the body, so that rules see
//! the same event whichever way it came. A batch is a list of events.

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

/// A decoded body as an event, when the headers (names in lower case) make one of it. An event in the body itself gets
/// its `data_base64` decoded.
pub fn wrap(headers: &[(String, String)], body: Value) -> Value {
    match body {
        Value::Object(event) if is_event(&event) => with_data(event),
        Value::Array(events) if is_batch(&events) => {
            events.into_iter().map(|event| wrap(&[], event)).collect()
        }
        body if is_binary(headers) => binary(headers, body),
        body => body,
    }
}

/// Whether the headers (names in lower case) make the body the data of an event.
pub fn is_binary(headers: &[(String, String)]) -> bool {
    headers.iter().any(|(name, _)| name == "ce-specversion")
}

/// What tells an event in the body, and what its data is made of: rules see `data`, wherever it was.
pub const MEMBERS: [&str; 2] = ["specversion", "data_base64"];

fn is_event(object: &Map<String, Value>) -> bool {
    object.get("specversion").is_some_and(Value::is_string)
}

fn is_batch(list: &[Value]) -> bool {
    !list.is_empty() && list.iter().all(|item| item.as_object().is_some_and(is_event))
}

fn binary(headers: &[(String, String)], data: Value) -> Value {
    let mut event = Map::new();
    for (name, value) in headers {
        if let Some(attribute) = name.strip_prefix("ce-") {
            let value = percent_decode_str(value).decode_utf8_lossy().into_owned();
            event.insert(attribute.to_owned(), value.into());
        }
    }
    if !data.is_null() {
        event.insert("data".to_owned(), data);
    }
    Value::Object(event)
}

fn with_data(mut event: Map<String, Value>) -> Value {
    let decoded = event.get("data_base64").and_then(Value::as_str).and_then(|text| {
        let bytes = data_encoding::BASE64.decode(text.as_bytes()).ok()?;
        let text = String::from_utf8(bytes).ok()?;
        Some(serde_json::from_str(&text).unwrap_or(Value::String(text)))
    });
    if let Some(data) = decoded.filter(|_| !event.contains_key("data")) {
        event.insert("data".to_owned(), data);
    }
    Value::Object(event)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::wrap;

    fn headers(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn an_event_in_the_headers_looks_like_one_in_the_body() {
        let given = headers(&[
            ("ce-specversion", "1.0"),
            ("ce-type", "x"),
            ("ce-subject", "Euro%20%E2%82%AC"),
            ("host", "h"),
        ]);
        let expected = json!({ "specversion": "1.0", "type": "x", "subject": "Euro €", "data": { "n": 1 } });
        assert_eq!(wrap(&given, json!({ "n": 1 })), expected);
        assert_eq!(wrap(&[], expected.clone()), expected);
        assert_eq!(wrap(&given, expected.clone()), expected, "both");
    }

    #[test]
    fn base64_data_is_decoded_and_batches_are_lists() {
        let event = json!({ "specversion": "1.0", "data_base64": "eyJuIjoxfQ==" });
        let read = json!({ "specversion": "1.0", "data_base64": "eyJuIjoxfQ==", "data": { "n": 1 } });
        assert_eq!(wrap(&[], event.clone()), read);
        assert_eq!(wrap(&[], json!([event, event])), json!([read, read]));
        let binary = json!({ "specversion": "1.0", "data_base64": "/w==" });
        assert_eq!(wrap(&[], binary.clone()), binary);
    }

    #[test]
    fn anything_else_stays_as_it_is() {
        for body in [json!(null), json!([]), json!([1]), json!({ "specversion": 1 }), json!("text")] {
            assert_eq!(wrap(&headers(&[("content-type", "x")]), body.clone()), body);
        }
    }
}
