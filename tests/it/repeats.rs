//! Webhooks that come twice: once is enough, and the sender hears of the first.

use std::time::Duration;

use fake_ntfy::{FakeNtfy, Options};
use serde_json::{Value, json};

use crate::support::gateway::{Answer, SECRET, sign_github};
use crate::support::{Gateway, Scene};

const PATIENCE: Duration = Duration::from_secs(15);
const RULES: &str = "\
sources:
  n:
    path: /n
    dedupe: \"{{body.key}}\"
    rules: [{ name: all, when: { $.n: { exists: true } }, publish: { topic: numbers, message: \"{{body.n}}\" } }]
  other: { path: /other, dedupe: \"{{body.key}}\", rules: [{ name: all, publish: { topic: others, message: m } }] }
";

fn duplicate_of(first: &Answer) -> Value {
    json!({ "id": first.json()["id"], "notifications": 0, "duplicate": true })
}

#[test]
fn a_repeat_is_answered_200_with_the_first_one_s_id_and_not_sent_also_after_a_restart() {
    let ntfy = FakeNtfy::start(Options::default());
    let plan = Gateway::with_rules(RULES).ntfy(&ntfy);
    let gateway = plan.start();
    let first = gateway.post("/n", &[], "{\"n\":1,\"key\":\"a\"}");
    let repeat = gateway.post("/n", &[], "{\"n\":2,\"key\":\"a\"}");
    assert_eq!((repeat.status, repeat.json()), (200, duplicate_of(&first)));
    assert_eq!(
        gateway.post("/other", &[], "{\"key\":\"a\"}").json()["notifications"],
        1,
        "a key is its source's own"
    );
    for body in ["{\"n\":3}", "{\"n\":3}", "{\"n\":4,\"key\":\" \"}"] {
        assert_eq!(gateway.post("/n", &[], body).json()["notifications"], 1, "no key, no repeat: {body}");
    }
    assert_eq!(gateway.metric("hookbell_webhooks_total{source=\"n\",outcome=\"Duplicate\"}"), Some(1.0));
    ntfy.wait_for_messages(5, PATIENCE);
    gateway.kill();
    let gateway = plan.start();
    assert_eq!(gateway.post("/n", &[], "{\"n\":2,\"key\":\"a\"}").json(), duplicate_of(&first));
    assert_eq!(gateway.post("/n", &[], "{\"n\":5,\"key\":\"b\"}").json()["notifications"], 1);
    ntfy.wait_for_messages(6, PATIENCE);
    assert_eq!(ntfy.messages().len(), 6);
}

#[test]
fn a_webhook_that_nothing_was_sent_for_is_not_the_first_of_any() {
    let scene = Scene::with_rules(RULES);
    assert_eq!(scene.post("/n", &[], "{\"key\":\"a\"}"), [Value::Null; 0]);
    assert_eq!(scene.post("/n", &[], "{\"n\":1,\"key\":\"a\"}").len(), 1);
}

#[test]
fn a_window_that_is_over_makes_it_new() {
    let rules = RULES.replacen("\"{{body.key}}\"", "{ key: \"{{body.key}}\", window: 1s }", 1);
    let gateway = Gateway::with_rules(&rules).start();
    let post = || gateway.post("/n", &[], "{\"n\":1,\"key\":\"a\"}").json();
    let first = post();
    assert_eq!(post()["duplicate"], true);
    let second = crate::support::wait::until("the window's end", || {
        Some(post()).filter(|answer| answer["notifications"] == 1)
    });
    assert_ne!(first["id"], second["id"]);
}

#[test]
fn github_s_redelivery_is_known_by_its_delivery_id() {
    let scene = Scene::shipped();
    let body =
        br#"{"action":"completed","workflow_run":{"conclusion":"failure"},"repository":{"full_name":"a/b"}}"#;
    let signature = sign_github(SECRET, body);
    let post = |delivery: &str| {
        let headers = [
            ("X-GitHub-Event", "workflow_run"),
            ("X-GitHub-Delivery", delivery),
            ("X-Hub-Signature-256", &signature),
        ];
        scene.gateway.post("/hooks/github", &headers, body)
    };
    let first = post("one");
    assert_eq!(first.json()["notifications"], 1, "{}", first.text);
    assert_eq!(post("one").json(), duplicate_of(&first));
    assert_eq!(post("two").json()["notifications"], 1);
}

#[test]
fn coolify_s_repeats_are_known_by_deployment_or_body_and_tests_always_come() {
    let scene = Scene::shipped();
    let post = |body: Value| {
        let answer = scene.gateway.post(&format!("/hooks/coolify/{SECRET}"), &[], body.to_string()).json();
        answer["notifications"].as_u64().expect("a number")
    };
    let deployment =
        |event: &str, uuid: &str| json!({ "event": event, "deployment_uuid": uuid, "success": true });
    assert_eq!(post(deployment("deployment_success", "a")), 1);
    assert_eq!(post(deployment("deployment_success", "a")), 0);
    assert_eq!(post(deployment("deployment_success", "b")), 1);
    assert_eq!(post(deployment("deployment_failed", "a")), 1, "another event of the same deployment");
    let backup = || json!({ "event": "backup_success", "database_name": "db", "success": true });
    assert_eq!([post(backup()), post(backup())], [1, 0]);
    let test = || json!({ "event": "test", "success": true, "message": "hello" });
    assert_eq!([post(test()), post(test())], [1, 1]);
}
