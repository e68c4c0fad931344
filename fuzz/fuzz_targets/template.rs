//! Any template is refused at load, or renders, or fails with a reason, within the limits of a notification.
#![no_main]

use hookbell::notification::{JSON_LIMIT, MESSAGE_LIMIT};
use hookbell::pipeline::{Trace, decide};
use hookbell::rules::compile::compile_text;
use hookbell::rules::external::Environment;
use hookbell::rules::request::Request;
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

struct NoVariables;

impl Environment for NoVariables {
    fn variable(&self, _: &str) -> Option<String> {
        None
    }
}

fuzz_target!(|text: &str| {
    let message = Value::from(text);
    let rules = format!(
        "sources: {{ s: {{ path: /s, defaults: {{ topic: t }}, rules: [{{ name: r, publish: {{ title: {message}, message: {message} }} }}] }} }}"
    );
    let Ok(rules) = compile_text("fuzz.yaml", &rules, &NoVariables) else { return };
    let body = json!({
        "name": "Grüße", "n": 3, "list": ["a", 2, null], "object": {"k": "v"}, "null": null, "at": "2026-12-01T09:30:00Z",
        "html": "<p>a &amp; b</p", "items": [{"x": 1}, {"y": 2}],
    });
    let request = Request { method: "POST".to_owned(), body, ..Request::default() };
    let mut trace = Trace::default();
    let traced = decide(&rules, &rules.sources()[0], request.clone(), b"raw", Some(&mut trace));
    let plain = decide(&rules, &rules.sources()[0], request, b"raw", None);
    assert_eq!(traced, plain);
    for planned in plain.notifications {
        assert!(planned.notification.message.len() <= MESSAGE_LIMIT);
        assert!(planned.notification.to_json().len() <= JSON_LIMIT);
    }
});
