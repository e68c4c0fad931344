//! What `$` is, whatever a body came as: through the door, as one message that shows all of it.

use serde_json::{Value, json};

use crate::support::Scene;

const RULES: &str = "
sources:
  echo:
    path: /echo
    methods: [GET, POST]
    rules: [{ name: all, publish: { topic: echo, message: '{{json body}}' } }]
";

#[test]
fn every_form_of_body_is_seen_by_the_rules_alike() {
    let scene = Scene::with_rules(RULES);
    let multipart = "--b\r\nContent-Disposition: form-data; name=\"data\"\r\n\r\n{\"n\":1}\r\n\
        --b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a.png\"\r\nContent-Type: image/png\r\n\r\nxyz\r\n--b--\r\n";
    let file = json!({ "n": 1 });
    let cases: &[(&str, &str, &str, &str, Value)] = &[
        (
            "GET",
            "?a.b=1&c[d]=x%20y&e=%7B%22n%22%3A1%7D",
            "",
            "",
            json!({ "a": { "b": "1" }, "c": { "d": "x y" }, "e": { "n": 1 } }),
        ),
        ("POST", "?a=2", "", "", json!({ "a": "2" })),
        ("POST", "?a=2", "application/json", "{\"b\":3}", json!({ "b": 3 })),
        ("POST", "", "text/plain", "{\"b\":4}", json!({ "b": 4 })),
        ("POST", "", "text/plain", "just so", json!("just so")),
        (
            "POST",
            "",
            "application/x-www-form-urlencoded",
            "a.b=5&c[d]=z&e=%5B1%5D",
            json!({ "a": { "b": "5" }, "c": { "d": "z" }, "e": [1] }),
        ),
        ("POST", "", "multipart/form-data; boundary=b", multipart, file),
        ("POST", "", "text/xml", "<a b=\"6\"><c>d</c></a>", json!({ "a": { "@b": "6", "c": "d" } })),
        ("POST", "", "application/x-ndjson", "{\"n\":7}\n{\"n\":8}\n", json!([{ "n": 7 }, { "n": 8 }])),
    ];
    for (count, (method, query, content_type, body, expected)) in cases.iter().enumerate() {
        let headers = [("content-type", *content_type)];
        let headers = if content_type.is_empty() { &headers[..0] } else { &headers[..] };
        let answer = scene.gateway.request(method, &format!("/echo{query}"), headers, body.as_bytes());
        assert_eq!(answer.status, 200, "{method} {query} {content_type}: {}", answer.text);
        let messages = scene.ntfy.wait_for_messages(count + 1, crate::support::wait::PATIENCE);
        let shown = messages[count]["message"].as_str().expect("a message");
        let seen: Value = serde_json::from_str(shown).expect("json");
        assert_eq!(seen, *expected, "{method} {query} {content_type}");
    }
}
