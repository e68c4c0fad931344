//! ntfy's limits on a visitor. A clock of speed 0 stands still, so that nothing is refilled.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use fake_ntfy::{Behaviour, FakeNtfy, Fault, Limits, Options};
use serde_json::{Value, json};

use crate::client::{Answer, connect, post, send};

const OK: (u16, Option<u64>) = (200, None);
const NO_TOKEN: (u16, Option<u64>) = (429, Some(42901));

fn behaviour(limits: Limits) -> Behaviour {
    Behaviour { limits: Some(limits), ..Behaviour::default() }
}

fn start(limits: Limits) -> FakeNtfy {
    FakeNtfy::start(Options { behaviour: behaviour(limits), ..Options::default() })
}

/// Limits that never refill and hold nobody back but where a test says so.
fn frozen() -> Limits {
    Limits { speed: 0, now_unix: Some(1_000), ..Limits::default() }
}

/// The status and ntfy's code, if there is one.
fn outcome(answer: &Answer) -> (u16, Option<u64>) {
    (answer.status, answer.json()["code"].as_u64())
}

fn publish(server: &FakeNtfy, topic: &str) -> (u16, Option<u64>) {
    outcome(&post(server, "/", &json!({ "topic": topic, "message": "m" }).to_string()).expect("an answer"))
}

fn publish_with(server: &FakeNtfy, authorization: &str) -> (u16, Option<u64>) {
    let headers = format!("Authorization: {authorization}\r\n");
    outcome(&send(&mut connect(server), "POST", "/t", &headers, "m").expect("an answer"))
}

#[test]
fn a_burst_of_61_requests_is_sixty_answers_200_and_one_42901() {
    let server = start(frozen());
    let mut answers: Vec<_> = (0..61).map(|_| post(&server, "/t", "m").expect("an answer")).collect();
    let last = answers.pop().unwrap();
    assert_eq!(answers.iter().map(outcome).collect::<Vec<_>>(), [OK; 60]);
    let refusal = json!({
        "code": 42901, "http": 429, "error": "limit reached: too many requests", "link": "https://ntfy.sh/docs/publish/",
    });
    assert_eq!((last.status, last.json()), (429, refusal));
    let stats = server.stats();
    assert_eq!((stats.requests, stats.accepted, stats.refused), (61, 60, 1));
    assert_eq!((stats.by_status, stats.by_code), ([(200, 60), (429, 1)].into(), [(42901, 1)].into()));
}

#[test]
fn a_token_comes_back_after_its_interval_of_virtual_time() {
    let per = Duration::from_secs(300);
    let server = start(Limits { requests: 1, per, speed: 1_000, ..Limits::default() });
    let (begin, began_unix_ms) = (Instant::now(), server.virtual_now_unix_ms());
    assert_eq!(publish(&server, "t"), OK);
    let mut answer = publish(&server, "t");
    while answer != OK {
        assert_eq!(answer, NO_TOKEN);
        assert!(begin.elapsed() < Duration::from_secs(10), "no token after {:?}", begin.elapsed());
        answer = publish(&server, "t");
    }
    let passed_ms = server.virtual_now_unix_ms() - began_unix_ms;
    assert!(passed_ms >= 300_000, "a token too early, after {passed_ms} virtual ms");
}

#[test]
fn the_daily_messages_are_refused_with_42908_until_virtual_midnight() {
    let midnight = 20_000 * 24 * 3600;
    let limits = Limits { requests: u64::MAX, messages: Some(2), speed: 1_000, ..Limits::default() };
    let server = start(Limits { now_unix: Some(midnight - 600), ..limits });
    let (begin, mut today) = (Instant::now(), Vec::new());
    loop {
        let answer = publish(&server, "t");
        // An answer that midnight overtook may belong to either day.
        if server.virtual_now_unix_ms() >= midnight as i64 * 1000 {
            break;
        }
        assert!(begin.elapsed() < Duration::from_secs(10), "no midnight after {:?}", begin.elapsed());
        today.push(answer);
    }
    let mut expected = vec![(429, Some(42908)); today.len()];
    expected.iter_mut().take(2).for_each(|answer| *answer = OK);
    assert_eq!(today, expected);
    assert_eq!(publish(&server, "t"), OK);
}

#[test]
fn only_new_topics_are_refused_with_42911_when_there_are_too_many() {
    let server = start(Limits { topics: 2, ..frozen() });
    let answers = ["a", "b", "c", "a", "b", "c"].map(|topic| publish(&server, topic));
    let refused = (429, Some(42911));
    assert_eq!(answers, [OK, OK, refused, OK, OK, refused]);
    assert_eq!(outcome(&post(&server, "/d", "m").unwrap()), refused);
}

#[test]
fn failed_authorizations_are_refused_with_42909_when_there_are_too_many() {
    let required = Some("Bearer tk_1".to_owned());
    let limits = Limits { auth_failures: 2, ..frozen() };
    let behaviour = Behaviour { require_authorization: required, ..behaviour(limits) };
    let server = FakeNtfy::start(Options { behaviour, ..Options::default() });
    let answers = ["Bearer x", "Bearer tk_1", "Bearer x", "Bearer x", "Bearer tk_1"]
        .map(|authorization| publish_with(&server, authorization));
    assert_eq!(answers, [(401, Some(40101)), OK, (401, Some(40101)), (429, Some(42909)), OK]);
    assert_eq!(server.stats().by_code, [(40101, 2), (42909, 1)].into());
}

#[test]
fn failing_requests_take_a_token_and_scripted_faults_take_none() {
    let script = [Fault::Status(500, 50001), Fault::Text(500, "{}".into())].into();
    let limits = Limits { requests: 2, ..frozen() };
    let behaviour = Behaviour { script, ..behaviour(limits) };
    let server = FakeNtfy::start(Options { behaviour, ..Options::default() });
    let answers = ["t", "t", "a b", "t", "t"].map(|topic| publish(&server, topic));
    assert_eq!(answers, [(500, Some(50001)), (500, None), (400, Some(40009)), OK, NO_TOKEN]);
    assert_eq!(server.stats().requests, 5);
}

#[test]
fn limits_are_checked_in_the_order_of_ntfy() {
    let no_requests = Limits { requests: 0, topics: 0, messages: Some(0), auth_failures: 0, ..frozen() };
    let no_topics = Limits { requests: 1, ..no_requests.clone() };
    let no_messages = Limits { topics: 1, ..no_topics.clone() };
    let answer = |authorization: Option<&str>, limits: &Limits, topic| {
        let server = start(limits.clone());
        let require_authorization = authorization.map(str::to_owned);
        server.set(Behaviour { require_authorization, ..behaviour(limits.clone()) });
        publish(&server, topic)
    };
    assert_eq!(answer(Some("x"), &no_requests, "a b"), NO_TOKEN);
    assert_eq!(answer(Some("x"), &no_topics, "a b"), (429, Some(42909)));
    assert_eq!(answer(None, &no_topics, "a b"), (400, Some(40009)));
    assert_eq!(answer(None, &no_topics, "t"), (429, Some(42911)));
    assert_eq!(answer(None, &no_messages, "t"), (429, Some(42908)));
}

#[test]
fn clearing_fills_every_bucket() {
    let server = start(Limits { requests: 2, topics: 1, messages: Some(1), ..frozen() });
    let spend = || ["a", "b", "c"].map(|topic| publish(&server, topic));
    let spent = [OK, (429, Some(42911)), NO_TOKEN];
    assert_eq!(spend(), spent);
    assert_eq!(publish(&server, "a"), NO_TOKEN);
    server.clear();
    assert_eq!(spend(), spent);
}

#[test]
fn clearing_lets_the_clock_run_on() {
    let server = start(Limits { speed: 1_000, ..frozen() });
    let begin = Instant::now();
    while server.virtual_now_unix_ms() < 1_060_000 {
        assert!(begin.elapsed() < Duration::from_secs(10), "the clock stands still");
        std::thread::yield_now();
    }
    server.clear();
    // A clock begun anew would be a real 60 ms behind.
    assert!(server.virtual_now_unix_ms() >= 1_060_000);
}

#[test]
fn setting_the_same_limits_keeps_the_bucket_and_setting_others_fills_it() {
    let limits = Limits { requests: 1, ..frozen() };
    let server = start(limits.clone());
    assert_eq!([publish(&server, "t"), publish(&server, "t")], [OK, NO_TOKEN]);
    server.set(Behaviour { latency: Duration::from_millis(1), ..behaviour(limits.clone()) });
    assert_eq!(publish(&server, "t"), NO_TOKEN);
    server.set(behaviour(Limits { topics: 99, ..limits }));
    assert_eq!([publish(&server, "t"), publish(&server, "t")], [OK, NO_TOKEN]);
    server.set(Behaviour::default());
    assert_eq!([publish(&server, "t"), publish(&server, "t")], [OK, OK]);
}

#[test]
fn without_limits_the_virtual_time_is_the_real_one() {
    let real_ms = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as i64;
    let server = FakeNtfy::start(Options::default());
    let before = real_ms();
    let shown = server.virtual_now_unix_ms();
    assert!((before..=real_ms()).contains(&shown), "{shown}");
}

#[test]
fn limits_can_be_set_and_read_over_http_in_milliseconds() {
    let server = FakeNtfy::start(Options::default());
    let mut stream = connect(&server);
    let json_type = "Content-Type: application/json\r\n";
    let mut set = |change: Value| {
        send(&mut stream, "POST", "/behaviour", json_type, &change.to_string()).expect("an answer").status
    };
    assert_eq!(set(json!({ "limits": { "per_ms": 7, "speed": 0 }, "refuse": [["x", 403, 40301]] })), 204);
    assert_eq!(set(json!({ "limits": { "per": 7 } })), 400);
    let shown = send(&mut connect(&server), "GET", "/behaviour", "", "").unwrap().json();
    let limits = json!({
        "requests": 60, "per_ms": 7, "messages": 17280, "topics": 100, "topics_per_ms": 60000,
        "auth_failures": 30, "auth_failures_per_ms": 60000, "speed": 0, "now_unix": null,
    });
    assert_eq!((&shown["limits"], &shown["refuse"]), (&limits, &json!([["x", 403, 40301]])));
}
