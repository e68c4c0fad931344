//! Answers of proxies and captive portals, and topics that are refused.

use std::time::{Duration, Instant};

use fake_ntfy::{Behaviour, FakeNtfy, Fault, Limits, Options};
use serde_json::json;

use crate::client::{Answer, post};

const MESSAGE: &str = r#"{"topic":"t","message":"m"}"#;

fn start(behaviour: Behaviour) -> FakeNtfy {
    FakeNtfy::start(Options { behaviour, ..Options::default() })
}

/// The status, the headers that a sender looks at, and the body.
fn seen(answer: &Answer) -> (u16, Option<&str>, Option<&str>, &str) {
    let header = |name: &str| answer.head.lines().find_map(|line| line.strip_prefix(name));
    (answer.status, header("content-type: "), header("retry-after: "), &answer.body)
}

fn page(status: &str) -> String {
    format!("<html><head><title>{status}</title></head><body><h1>{status}</h1></body></html>\n")
}

#[test]
fn pages_and_texts_are_answered_in_place_of_ntfy_and_nothing_is_kept() {
    let script = [
        Fault::Page(200),
        Fault::Page(511),
        Fault::Text(502, "upstream gone".into()),
        Fault::Text(200, String::new()),
        Fault::RetryAfter(503, 120),
    ];
    let server = start(Behaviour { script: script.into(), ..Behaviour::default() });
    let answers = [(); 5].map(|()| post(&server, "/", MESSAGE).expect("an answer"));
    let (html, text) = (Some("text/html"), Some("text/plain; charset=utf-8"));
    let expected = [
        (200, html, None, page("200 OK")),
        (511, html, None, page("511 Network Authentication Required")),
        (502, text, None, "upstream gone".into()),
        (200, text, None, String::new()),
        (503, html, Some("120"), page("503 Service Unavailable")),
    ];
    for (answer, (status, kind, wait, body)) in answers.iter().zip(&expected) {
        assert_eq!(seen(answer), (*status, *kind, *wait, body.as_str()));
    }
    let stats = server.stats();
    assert_eq!((stats.requests, stats.accepted, server.messages()), (5, 0, vec![]));
    assert_eq!(stats.by_status, [(200, 2), (502, 1), (503, 1), (511, 1)].into());
    assert_eq!(stats.by_code, [].into());
}

#[test]
fn faults_of_others_have_a_form_in_json() {
    let script = vec![Fault::Page(200), Fault::Text(502, "t".into()), Fault::RetryAfter(503, 7)];
    let form = json!([{ "page": 200 }, { "text": [502, "t"] }, { "retry_after": [503, 7] }]);
    assert_eq!(serde_json::to_value(&script).unwrap(), form);
    assert_eq!(serde_json::from_value::<Vec<Fault>>(form).unwrap(), script);
}

#[test]
fn a_refused_topic_is_answered_with_its_status_and_code_in_both_forms() {
    let refuse = vec![("closed".into(), 403, 40301), ("gone".into(), 507, 50701)];
    let server = start(Behaviour { refuse, ..Behaviour::default() });
    let cases = [
        ("/", json!({ "topic": "closed" }).to_string(), 403, json!(40301)),
        ("/", json!({ "topic": "closed", "priority": 9 }).to_string(), 403, json!(40301)),
        ("/", json!({ "topic": "gone" }).to_string(), 507, json!(50701)),
        ("/closed", "m".into(), 403, json!(40301)),
        ("/closed2", "m".into(), 200, json!(null)),
        ("/", json!({ "topic": "open" }).to_string(), 200, json!(null)),
        ("/", "{".into(), 400, json!(40024)),
    ];
    for (path, body, status, code) in cases {
        let answer = post(&server, path, &body).expect("an answer");
        assert_eq!((answer.status, &answer.json()["code"]), (status, &code), "{path} {body}");
    }
    let stats = server.stats();
    assert_eq!((stats.accepted, stats.by_code), (2, [(40024, 1), (40301, 3), (50701, 1)].into()));
}

#[test]
fn a_topic_is_refused_only_after_the_token_and_the_authorization() {
    let refuse = vec![("t".into(), 403, 40301)];
    let limits = Some(Limits { requests: 1, speed: 0, ..Limits::default() });
    let server = start(Behaviour { refuse: refuse.clone(), limits, ..Behaviour::default() });
    let code = || post(&server, "/", MESSAGE).expect("an answer").json()["code"].clone();
    assert_eq!([code(), code()], [json!(40301), json!(42901)]);
    server.set(Behaviour { refuse, require_authorization: Some("x".into()), ..Behaviour::default() });
    assert_eq!(code(), json!(40101));
}

#[test]
fn the_sink_takes_any_body_after_the_latency_and_keeps_nothing() {
    let latency = Duration::from_millis(40);
    let server = start(Behaviour { latency, close: true, ..Behaviour::default() });
    let since = Instant::now();
    for body in [String::new(), "{".into(), "x".repeat(2 * 1024 * 1024)] {
        let answer = post(&server, "/sink", &body).expect("an answer");
        assert_eq!((answer.status, &answer.json()["event"]), (200, &json!("message")));
    }
    assert!(since.elapsed() >= 3 * latency);
    let stats = server.stats();
    assert_eq!((stats.requests, stats.accepted, server.messages()), (0, 0, vec![]));
}
