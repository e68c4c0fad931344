//! What becomes of a notification and of its server, for each answer that ntfy or a proxy in front of it can give.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration;

use fake_ntfy::{Behaviour, Fault};
use hookbell::clock::unix_ms;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::support::Scene;
use crate::support::command::hookbell;
use crate::support::scene::lasting;
use crate::support::wait::{PATIENCE, until};
use Fault::{Close, CloseAfterReading, Page, Redirect, RetryAfter, Status};

/// One source whose notifications are what its webhooks say.
const RULES: &str = r#"
sources:
  s:
    path: /s
    defaults: { topic: numbers }
    rules:
      - name: all
        publish:
          topic: "{{body.topic}}"
          title: "{{body.title}}"
          message: "{{body.message}}"
          tags: ["{{body.tags}}"]
          email: "{{body.email}}"
          call: "{{body.call}}"
"#;
const EARLY_RESET: &str = "servers: { default: { url: { env: NTFY_URL }, quota_reset: '05:30' } }";
/// Takes the message, between two faults of a script.
const TAKE: Fault = Fault::Latency(Duration::ZERO);
const DAY_MS: i64 = 24 * 60 * 60 * 1000;
/// The first wait for a person: half of it is chance.
const FOR_A_PERSON: RangeInclusive<i64> = 60_000..=120_000;

/// A gateway on `RULES` and more, whose ntfy meets its first requests with these faults.
fn scene(more: &str, script: impl IntoIterator<Item = Fault>) -> Scene {
    let scene = Scene::with_rules(&format!("{more}\n{RULES}"));
    scene.ntfy.set(Behaviour { script: script.into_iter().collect(), ..Behaviour::default() });
    scene
}

/// Checks every case at the same time: most of each is waiting.
fn each<T: Send>(cases: impl IntoIterator<Item = T>, check: impl Fn(T) + Sync) {
    let check = &check;
    std::thread::scope(|scope| cases.into_iter().for_each(|case| drop(scope.spawn(move || check(case)))));
}

fn post(scene: &Scene, body: &Value) {
    let answer = scene.gateway.post("/s", &[("Content-Type", "application/json")], body.to_string());
    assert_eq!(answer.status, 200, "{}", answer.text);
}

/// What `outbox list` shows, the oldest first.
fn listed(scene: &Scene) -> Vec<Value> {
    let data = scene.gateway.data_folder();
    let ran = hookbell(&data, &["outbox", "list", "--json", "--all", "--data", "."], &[]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let page: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    page["notifications"].as_array().expect("a list").iter().rev().cloned().collect()
}

/// Waits until every notification was attempted and is in `state`; returns the attempts and the reason of each.
fn all_are(scene: &Scene, state: &str) -> Vec<(u64, String)> {
    let all = until(state, || {
        let all = listed(scene);
        all.iter().all(|entry| entry["state"] == state && entry["attempts"] != 0).then_some(all)
    });
    let reason = |entry: &Value| entry["reason"].as_str().unwrap_or_default().to_owned();
    all.iter().map(|entry| (entry["attempts"].as_u64().expect("a number"), reason(entry))).collect()
}

/// Waits until the server is in `state` and returns what operators see of it.
fn server(scene: &Scene, state: &str) -> Value {
    until(state, || {
        let ready = scene.gateway.admin("GET", "/readyz").json();
        Some(ready["servers"]["default"].clone()).filter(|server| server["state"] == state)
    })
}

/// Meets one webhook with a fault that closes its server after one request. Returns the next attempt's time and how
/// many milliseconds after the fault that is.
fn closed(more: &str, fault: Fault, state: &str, reason: &str) -> (String, i64) {
    let before = unix_ms();
    let scene = scene(more, [fault]);
    post(&scene, &json!({ "message": "1" }));
    let told = server(&scene, state);
    assert_eq!((&told["reason"], &told["refused_topics"]), (&json!(reason), &json!([])));
    assert_eq!(all_are(&scene, "waiting"), [(1, reason.to_owned())]);
    assert_eq!(scene.ntfy.stats().requests, 1, "{reason}");
    let time = |name: &str| told[name].as_str().and_then(|time| time.parse::<Timestamp>().ok()).expect(name);
    let since = time("since").as_millisecond();
    assert!((before..=unix_ms()).contains(&since), "{told}");
    (told["next_attempt"].to_string(), time("next_attempt").as_millisecond() - since)
}

#[test]
fn what_passes_by_itself_is_tried_again_and_delivered() {
    let cut_off = "the connection was closed before an answer";
    let cases = [
        (vec![Status(500, 50001)], "50001 fault on request"),
        (vec![Page(500)], "500 Internal Server Error, not in ntfy's words"),
        (vec![Page(502)], "502 Bad Gateway, not in ntfy's words"),
        (vec![Page(503)], "503 Service Unavailable, not in ntfy's words"),
        (vec![Page(504)], "504 Gateway Timeout, not in ntfy's words"),
        (vec![Page(408)], "408 Request Timeout, not in ntfy's words"),
        (vec![Page(425)], "425, not in ntfy's words"),
        // A request that is closed unanswered is sent again at once, twice.
        (vec![Close; 3], cut_off),
        (vec![CloseAfterReading; 3], cut_off),
    ];
    each(cases, |(script, reason)| {
        let requests = script.len() as u64 + 1;
        let scene = scene("", script);
        post(&scene, &json!({ "message": "1" }));
        scene.ntfy.wait_for_messages(1, PATIENCE);
        let told = all_are(&scene, "delivered");
        assert!(matches!(&told[..], [(2, told)] if told == reason), "{reason}: {told:?}");
        assert_eq!(server(&scene, "open"), json!({ "state": "open", "refused_topics": [] }), "{reason}");
        assert_eq!(scene.ntfy.stats().requests, requests, "{reason}");
    });
}

#[test]
fn the_server_rests_as_long_as_it_asks_or_as_its_limit_needs() {
    let cases = [
        (Status(429, 42901), "limited", "42901 fault on request", 5_000),
        (Page(429), "limited", "429 Too Many Requests, not in ntfy's words", 10_000),
        (RetryAfter(429, 30), "limited", "429 Too Many Requests, not in ntfy's words", 30_000),
        (RetryAfter(503, 30), "down", "503 Service Unavailable, not in ntfy's words", 30_000),
    ];
    each(cases, |(fault, state, reason, wait)| {
        assert_eq!(closed("", fault, state, reason).1, wait, "{reason}");
    });
}

#[test]
fn a_used_up_quota_is_waited_for_until_five_seconds_after_its_reset() {
    each([("", "T00:00:05Z\""), (EARLY_RESET, "T05:30:05Z\"")], |(more, time)| {
        let (next, wait) = closed(more, Status(429, 42908), "quota", "42908 fault on request");
        assert!(next.ends_with(time) && (5_001..=DAY_MS + 5_000).contains(&wait), "{next}, {wait} ms ahead");
    });
}

#[test]
fn what_only_a_person_can_mend_stops_the_server() {
    let cases = [
        (Status(401, 40101), "40101 fault on request"),
        (Status(429, 42909), "42909 fault on request"),
        (Status(500, 50003), "50003 fault on request"),
        (Status(507, 50701), "50701 fault on request"),
        (Page(200), "200 OK, not in ntfy's words"),
        (Page(403), "403 Forbidden, not in ntfy's words"),
        (Page(404), "404 Not Found, not in ntfy's words"),
        (Page(405), "405 Method Not Allowed, not in ntfy's words"),
    ];
    each(cases, |(fault, reason)| {
        let (_, wait) = closed("", fault, "refused", reason);
        assert!(FOR_A_PERSON.contains(&wait), "{reason}: {wait}");
    });
}

#[test]
fn a_redirect_is_told_and_not_followed() {
    let reason = "302 Found, to `https://elsewhere.invalid/`; use that as the server's url";
    let (_, wait) = closed("", Redirect, "refused", reason);
    assert!(FOR_A_PERSON.contains(&wait), "{wait}");
}

#[test]
fn a_topic_that_is_refused_or_limited_waits_and_others_go_on() {
    let cases = [
        (Status(403, 40301), "40301 fault on request", FOR_A_PERSON, json!(["numbers"])),
        (Status(429, 42911), "42911 fault on request", 60_000..=60_000, json!([])),
        (Status(429, 42904), "42904 fault on request", 600_000..=600_000, json!([])),
    ];
    each(cases, |(fault, reason, wait, refused)| {
        let scene = scene("", [fault]);
        let before = unix_ms();
        post(&scene, &json!({ "message": "1" }));
        assert_eq!(all_are(&scene, "waiting"), [(1, reason.to_owned())]);
        let due_at = listed(&scene)[0]["due_at"].as_i64().expect("a time");
        assert!((before + wait.start()..=unix_ms() + wait.end()).contains(&due_at), "{reason}: {due_at}");
        post(&scene, &json!({ "message": "2" }));
        post(&scene, &json!({ "topic": "others", "message": "3" }));
        scene.ntfy.wait_for_messages(1, PATIENCE);
        assert_eq!(server(&scene, "open"), json!({ "state": "open", "refused_topics": refused }));
        let states: Vec<Value> = until("a delivery", || {
            let all: Vec<Value> = listed(&scene).iter().map(|entry| entry["state"].clone()).collect();
            (all[2] == "delivered").then_some(all)
        });
        assert_eq!(states, ["waiting", "waiting", "delivered"], "{reason}");
        assert_eq!(scene.ntfy.stats().requests, 2, "{reason}");
    });
}

/// Refusals of a part of a message, with what is sent and what arrives in its place.
fn too_large() -> Vec<(Fault, &'static str, Value, Value)> {
    let proxy = "413 Payload Too Large, not in ntfy's words";
    let tags: Vec<String> = (10..60).map(|n| format!("tag-{n}")).collect();
    let tags_cut = json!(tags[..14]);
    let (text, text_cut) = ("m".repeat(3000), "m".repeat(997) + "…");
    let (title, title_cut) = ("t".repeat(900), "t".repeat(117) + "…");
    let message = |text: &str| json!({ "topic": "numbers", "message": text });
    let titled = |title: &str| json!({ "topic": "numbers", "message": "m", "title": title });
    let tagged = |tags: Value| json!({ "topic": "numbers", "message": "m", "tags": tags });
    let mailed =
        json!({ "topic": "numbers", "message": "m", "email": "ops@example.com", "call": "+4930123" });
    vec![
        (Status(400, 40014), "40014 fault on request", message(&text), message(&text_cut)),
        (Status(413, 41303), "41303 fault on request", message(&text), message(&text_cut)),
        (Page(413), proxy, message(&text), message(&text_cut)),
        (Status(400, 40057), "40057 fault on request", titled(&title), titled(&title_cut)),
        (Status(400, 40058), "40058 fault on request", tagged(json!(tags.join(","))), tagged(tags_cut)),
        (Status(429, 42902), "42902 fault on request", mailed.clone(), message("m")),
        (Status(429, 42910), "42910 fault on request", mailed, message("m")),
    ]
}

#[test]
fn what_is_too_large_is_sent_once_more_without_the_excess() {
    // All of one topic, so that they are sent one after the other.
    let cases = too_large();
    let scene = scene("", cases.iter().flat_map(|(fault, ..)| [fault.clone(), TAKE]));
    cases.iter().for_each(|(_, _, sent, _)| post(&scene, sent));
    let arrived: Vec<Value> =
        scene.ntfy.wait_for_messages(cases.len(), PATIENCE).into_iter().map(lasting).collect();
    let expected = cases.iter().map(|(.., arriving)| {
        let mut message = arriving.clone();
        message["event"] = "message".into();
        message
    });
    assert_eq!(arrived, expected.collect::<Vec<_>>());
    let reasons: Vec<_> = cases.iter().map(|(_, reason, ..)| (2, (*reason).to_owned())).collect();
    assert_eq!(all_are(&scene, "delivered"), reasons);
    assert_eq!(server(&scene, "open"), json!({ "state": "open", "refused_topics": [] }));
    assert_eq!(scene.ntfy.stats().requests, 2 * cases.len() as u64);
}

#[test]
fn what_is_too_large_once_more_is_dead() {
    let cases = too_large();
    let scene = scene("", cases.iter().flat_map(|(fault, ..)| [fault.clone(), fault.clone()]));
    cases.iter().for_each(|(_, _, sent, _)| post(&scene, sent));
    let reasons: Vec<_> = cases.iter().map(|(_, reason, ..)| (2, (*reason).to_owned())).collect();
    assert_eq!(all_are(&scene, "dead"), reasons);
    assert_eq!(server(&scene, "open"), json!({ "state": "open", "refused_topics": [] }));
    let stats = scene.ntfy.stats();
    assert_eq!((stats.requests, stats.accepted), (2 * cases.len() as u64, 0));
}

#[test]
fn what_is_wrong_with_a_message_stays_so_and_it_is_dead_at_once() {
    let codes = [
        40001, 40002, 40003, 40004, 40005, 40006, 40007, 40009, 40010, 40011, 40013, 40018, 40021, 40024,
        40032, 40033, 40034, 40035, 40037, 40049, 40050, 40052, 40053, 40401, 41302,
    ];
    let status = |code: u32| u16::try_from(code / 100).expect("a status");
    let scene = scene("", codes.map(|code| Status(status(code), code)));
    codes.iter().for_each(|code| post(&scene, &json!({ "message": code })));
    let reasons = codes.map(|code| (1, format!("{code} fault on request")));
    assert_eq!(all_are(&scene, "dead"), reasons);
    assert_eq!(server(&scene, "open"), json!({ "state": "open", "refused_topics": [] }));
    assert_eq!(scene.ntfy.stats().by_code, BTreeMap::from(codes.map(|code| (code, 1))));
}
