//! What ntfy takes and what it refuses.

use fake_ntfy::{FakeNtfy, Options};
use serde_json::{Value, json};

use crate::client::{connect, post, send};

fn refused(server: &FakeNtfy, body: &str) -> (u16, u64) {
    let answer = post(server, "/", body).expect("an answer");
    (answer.status, answer.json()["code"].as_u64().unwrap_or_default())
}

fn accepted(server: &FakeNtfy, body: Value) -> Value {
    let answer = post(server, "/", &body.to_string()).expect("an answer");
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.json()
}

#[test]
fn a_whole_message_is_stored_as_ntfy_would() {
    let server = FakeNtfy::start(Options::default());
    let stored = accepted(
        &server,
        json!({
            "Topic": "ci", "TITLE": " Żółw ", "message": " done\n", "priority": 5, "tags": ["x", "a,b"], "markdown": true,
            "click": "anything", "icon": "https://e/i.png", "attach": "https://e/f.txt?x=1", "sequence_id": "s-1",
            "cache": "yes", "firebase": "no", "delay": "1h30m", "unknown": 1, "call": null,
            "actions": [{ "action": "view", "label": "Open", "url": "https://e" }, { "action": "copy", "label": "Copy", "value": "v" }],
        }),
    );
    for (name, value) in [
        ("event", json!("message")),
        ("topic", json!("ci")),
        ("title", json!("Żółw")),
        ("message", json!("done")),
        ("priority", json!(5)),
        ("tags", json!(["x", "a", "b"])),
        ("content_type", json!("text/markdown")),
        ("attachment", json!({ "name": "f.txt", "url": "https://e/f.txt?x=1" })),
        ("sequence_id", json!("s-1")),
    ] {
        assert_eq!(stored[name], value, "{name}");
    }
    assert_eq!(stored["actions"][0]["clear"], json!(false));
    assert_eq!(server.messages(), [stored]);
}

#[test]
fn an_empty_message_becomes_triggered_and_defaults_are_left_out() {
    let server = FakeNtfy::start(Options::default());
    let stored = accepted(&server, json!({ "topic": "t", "title": "only", "priority": 0 }));
    assert_eq!(stored["message"], "triggered");
    assert!(
        stored.get("priority").is_none()
            && stored.get("tags").is_none()
            && stored.get("sequence_id").is_none()
    );
}

#[test]
fn fields_out_of_the_contract_are_refused_with_their_code() {
    let server = FakeNtfy::start(Options::default());
    let four_actions = vec![json!({ "action": "view", "label": "l", "url": "u" }); 4];
    let cases = [
        (40024, json!([])),
        (40024, json!({ "topic": 1 })),
        (40024, json!({ "topic": "t", "priority": "4" })),
        (40024, json!({ "topic": "t", "priority": 4.0 })),
        (40024, json!({ "topic": "t", "tags": "x" })),
        (40024, json!({ "topic": "t", "tags": [1] })),
        (40024, json!({ "topic": "t", "markdown": "yes" })),
        (40024, json!({ "topic": "t", "cache": false })),
        (40024, json!({ "topic": "t", "firebase": true })),
        (40024, json!({ "topic": "t", "actions": {} })),
        (
            40024,
            json!({ "topic": "t", "actions": [{ "action": "view", "label": "l", "url": "u", "clear": "yes" }] }),
        ),
        (40009, json!({})),
        (40009, Value::Null),
        (40009, json!({ "topic": "a b" })),
        (40009, json!({ "topic": "ż" })),
        (40009, json!({ "topic": "t".repeat(65) })),
        (40010, json!({ "topic": "docs" })),
        (40007, json!({ "topic": "t", "priority": 6 })),
        (40007, json!({ "topic": "t", "priority": -1 })),
        (40057, json!({ "topic": "t", "title": "t".repeat(1025) })),
        (40058, json!({ "topic": "t", "tags": ["t".repeat(256), "t".repeat(256)] })),
        (40014, json!({ "topic": "t", "message": "m".repeat(4096) })),
        (40014, json!({ "topic": "t", "filename": "f" })),
        (40011, json!({ "topic": "t", "attach": "http://e/f", "message": format!("{}ż", "m".repeat(4095)) })),
        (40021, json!({ "topic": "t", "icon": "ftp://e" })),
        (40013, json!({ "topic": "t", "attach": "e/f" })),
        (40049, json!({ "topic": "t", "sequence_id": "a/b" })),
        (40018, json!({ "topic": "t", "actions": four_actions })),
        (40018, json!({ "topic": "t", "actions": [{ "action": "open", "label": "l", "url": "u" }] })),
        (40018, json!({ "topic": "t", "actions": [{ "action": "view", "url": "u" }] })),
        (40018, json!({ "topic": "t", "actions": [{ "action": "http", "label": "l", "url": "" }] })),
        (40018, json!({ "topic": "t", "actions": [{ "action": "copy", "label": "l" }] })),
        (
            40018,
            json!({ "topic": "t", "actions": [{ "action": "http", "label": "l", "url": "u", "method": "get", "body": "b" }] }),
        ),
        (40004, json!({ "topic": "t", "delay": "soon" })),
        (40004, json!({ "topic": "t", "delay": "5 fortnights" })),
        (40005, json!({ "topic": "t", "delay": "9s" })),
        (40005, json!({ "topic": "t", "delay": "1" })),
        (40006, json!({ "topic": "t", "delay": "4 days" })),
        (40002, json!({ "topic": "t", "delay": "30m", "cache": "no" })),
        (40003, json!({ "topic": "t", "delay": "30m", "email": "a@b" })),
        (40037, json!({ "topic": "t", "delay": "30m", "call": "yes" })),
    ];
    for (code, body) in cases {
        assert_eq!(refused(&server, &body.to_string()), (400, code), "{body}");
    }
    assert_eq!(refused(&server, "{"), (400, 40024));
    assert!(server.messages().is_empty());
    assert_eq!(server.stats().refused, server.stats().requests);
}

#[test]
fn the_limits_themselves_are_accepted() {
    let server = FakeNtfy::start(Options::default());
    let body = json!({ "topic": "t".repeat(64), "title": "t".repeat(1024), "tags": ["t".repeat(512)], "message": "m".repeat(4095) });
    accepted(&server, body);
}

#[test]
fn a_body_over_the_limit_is_too_large_whatever_it_holds() {
    let server = FakeNtfy::start(Options::default());
    assert_eq!(
        refused(&server, &format!("{{\"topic\":\"t\",\"x\":\"{}\"}}", "x".repeat(8192))),
        (413, 41303)
    );
    assert_eq!(refused(&server, &"x".repeat(300_000)), (413, 41303));
}

#[test]
fn a_topic_path_takes_the_body_as_the_message() {
    let server = FakeNtfy::start(Options::default());
    let stored = post(&server, "/alerts", "{\"topic\":\"other\"}").unwrap().json();
    assert_eq!((&stored["topic"], &stored["message"]), (&json!("alerts"), &json!("{\"topic\":\"other\"}")));
    assert_eq!(post(&server, "/bad.topic", "m").unwrap().json()["code"], 40009);
    assert_eq!(post(&server, "/sub/path", "{}").unwrap().json()["code"], 40401);
    assert_eq!(send(&mut connect(&server), "GET", "/nowhere", "", "").unwrap().status, 404);
}

#[test]
fn it_can_be_watched_and_changed_over_http() {
    let server = FakeNtfy::start(Options::default());
    let mut stream = connect(&server);
    assert_eq!(send(&mut stream, "GET", "/v1/health", "", "").unwrap().json(), json!({ "healthy": true }));
    accepted(&server, json!({ "topic": "t" }));
    assert_eq!(send(&mut stream, "GET", "/messages", "", "").unwrap().json()[0]["topic"], "t");
    assert_eq!(send(&mut stream, "DELETE", "/messages", "", "").unwrap().status, 204);
    assert_eq!(send(&mut stream, "GET", "/stats", "", "").unwrap().json()["accepted"], 0);
    let change =
        json!({ "script": [{ "status": [503, 50301] }, "close", { "latency_ms": 1 }], "latency_ms": 1 });
    let json_type = "Content-Type: application/json\r\n";
    assert_eq!(send(&mut stream, "POST", "/behaviour", json_type, &change.to_string()).unwrap().status, 204);
    assert_eq!(refused(&server, "{}"), (503, 50301));
    let mistyped = send(&mut stream, "POST", "/behaviour", json_type, "{\"latency\":1}").unwrap();
    assert_eq!(mistyped.status, 400);
}
