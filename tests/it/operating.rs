//! `hookbell outbox` and `replay`, beside a running gateway and without one.

use std::time::Duration;

use fake_ntfy::{Behaviour, FakeNtfy, Options};
use serde_json::{Value, json};

use crate::support::Gateway;
use crate::support::command::{Ran, hookbell};
use crate::support::gateway::Plan;
use crate::support::load::NUMBERS;
use crate::support::samples::root;
use crate::support::wait::until;

const PATIENCE: Duration = Duration::from_secs(15);

/// A refusal for good.
fn refusing() -> Behaviour {
    Behaviour { status: Some((400, 40009)), ..Behaviour::default() }
}

fn run(plan: &Plan, words: &[&str]) -> Ran {
    let (rules, data) = (plan.rules_folder(), plan.data_folder());
    let folders =
        [("HOOKBELL_RULES", rules.display().to_string()), ("HOOKBELL_DATA", data.display().to_string())];
    hookbell(root(), words, &folders.each_ref().map(|(name, value)| (*name, value.as_str())))
}

fn json_of(plan: &Plan, words: &[&str]) -> Value {
    let ran = run(plan, words);
    serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("no JSON ({e}): {ran:?}"))
}

fn list(plan: &Plan, words: &[&str]) -> Vec<Value> {
    let told = json_of(plan, &[&["outbox", "list", "--json"], words].concat());
    told["notifications"].as_array().expect("a list").clone()
}

/// Posts so many webhooks that ntfy refuses for good, and waits until they are dead.
fn bury(plan: &Plan, ntfy: &FakeNtfy, gateway: &Gateway, count: usize) -> Vec<Value> {
    ntfy.set(refusing());
    for n in 0..count {
        assert_eq!(gateway.post("/n", &[], json!({ "n": n }).to_string()).status, 200);
    }
    let dead =
        until("dead letters", || Some(list(plan, &["--state", "dead"])).filter(|dead| dead.len() == count));
    ntfy.set(Behaviour::default());
    dead
}

fn id(entry: &Value) -> &str {
    entry["id"].as_str().expect("an id")
}

fn messages(ntfy: &FakeNtfy, count: usize) -> Vec<String> {
    let mut all: Vec<String> = ntfy
        .wait_for_messages(count, PATIENCE)
        .iter()
        .map(|message| message["message"].as_str().expect("a message").to_owned())
        .collect();
    all.sort();
    all
}

#[test]
fn dead_letters_are_listed_shown_and_sent_again_beside_the_running_gateway() {
    let ntfy = FakeNtfy::start(Options::default());
    let plan = Gateway::with_rules(NUMBERS).ntfy(&ntfy);
    let gateway = plan.start();
    let dead = bury(&plan, &ntfy, &gateway, 3);
    assert_eq!((dead[0]["text"].clone(), dead[2]["text"].clone()), (json!("2"), json!("0")), "newest first");
    let text = run(&plan, &["outbox", "list"]).stdout;
    assert_eq!(text.lines().count(), 3, "{text}");
    assert!(
        text.contains("dead       n → default/numbers  \"2\"  after 1 attempt: 40009 fault on request"),
        "{text}"
    );
    let shown = json_of(&plan, &["outbox", "show", "--json", id(&dead[0])]);
    assert_eq!(shown["webhook"]["body"], "{\"n\":2}");
    assert_eq!(shown["webhook"]["verdict"], json!({ "outcome": "published", "rules": ["all"] }));
    assert_eq!(shown["notifications"][0]["failures"][0]["reason"], "40009 fault on request");
    assert_eq!(
        shown,
        json_of(&plan, &["outbox", "show", "--json", dead[0]["webhook"].as_str().expect("an id")])
    );
    let one = json_of(&plan, &["outbox", "retry", "--json", id(&dead[1])]);
    assert_eq!(one, json!({ "results": [{ "id": dead[1]["id"], "result": "done" }] }));
    assert_eq!(messages(&ntfy, 1), ["1"]);
    let rest = run(&plan, &["outbox", "retry", "--dead", "--source", "n", "--since", "1h"]);
    assert_eq!(
        (rest.code, &*rest.stdout),
        (Some(0), "2 dead notifications to be sent once more\n"),
        "{rest:?}"
    );
    assert_eq!(messages(&ntfy, 3), ["0", "1", "2"]);
    until("an empty outbox", || list(&plan, &[]).is_empty().then_some(()));
    assert_eq!(list(&plan, &["--all"]).len(), 3);
}

#[test]
fn without_a_gateway_a_retry_takes_effect_at_the_next_start() {
    let ntfy = FakeNtfy::start(Options::default());
    let plan = Gateway::with_rules(NUMBERS).ntfy(&ntfy);
    let gateway = plan.start();
    let dead = bury(&plan, &ntfy, &gateway, 2);
    gateway.signal("TERM");
    assert!(gateway.wait().success());
    let told = run(&plan, &["outbox", "retry", id(&dead[0])]).stdout;
    assert_eq!(
        told,
        format!("{}  waits to be sent; no gateway runs, it happens after the next start\n", id(&dead[0]))
    );
    let dropped = json_of(&plan, &["outbox", "drop", "--json", id(&dead[1])]);
    assert_eq!(dropped["results"][0]["result"], "done");
    let stats = json_of(&plan, &["outbox", "stats", "--json"]);
    let counts = ["waiting", "dead", "dropped", "delivered", "webhooks"].map(|name| stats[name].as_u64());
    assert_eq!(counts, [Some(1), Some(0), Some(1), Some(0), Some(2)], "{stats}");
    let _again = plan.start();
    assert_eq!(messages(&ntfy, 1), ["1"]);
}

#[test]
fn what_cannot_be_retried_or_dropped_says_why_and_fails() {
    let ntfy = FakeNtfy::start(Options::default());
    let plan = Gateway::with_rules(NUMBERS).ntfy(&ntfy);
    let gateway = plan.start();
    assert_eq!(gateway.post("/n", &[], "{\"n\":1}").status, 200);
    ntfy.wait_for_messages(1, PATIENCE);
    let delivered = until("the delivery to be known", || list(&plan, &["--state", "delivered"]).pop());
    let told = run(&plan, &["outbox", "retry", id(&delivered)]);
    assert!(
        told.stdout.ends_with("was delivered already; `hookbell replay` sends its webhook anew\n"),
        "{told:?}"
    );
    let unknown = "0194f5d2-c6d8-7f0f-8f0e-4a2e6b1d9c3a";
    let told = run(&plan, &["outbox", "drop", unknown]);
    assert_eq!(
        (told.code, told.stdout),
        (
            Some(1),
            format!(
                "{unknown}  is no notification of this store; `hookbell outbox show` tells those of a webhook\n"
            )
        )
    );
    assert_eq!(run(&plan, &["outbox", "show", unknown]).code, Some(1));
    assert_eq!(run(&plan, &["replay", unknown]).code, Some(1));
    let nowhere = hookbell(root(), &["outbox", "retry", unknown, "--data", "/nowhere"], &[]);
    assert_eq!(nowhere.stderr, "error: no store in `/nowhere`; name its folder with --data\n");
}

#[test]
fn a_storm_s_dead_letters_are_revived_in_pieces_with_progress() {
    let ntfy = FakeNtfy::start(Options::default());
    ntfy.set(refusing());
    let plan = Gateway::with_rules(NUMBERS).ntfy(&ntfy);
    let gateway = plan.start();
    crate::support::load::send(gateway.webhooks, 4, 1100);
    let dead = until("dead letters", || {
        let stats = json_of(&plan, &["outbox", "stats", "--json"]);
        (stats["waiting"] == 0 && stats["dead"].as_u64() >= Some(1100))
            .then(|| stats["dead"].as_u64().unwrap_or(0))
    });
    ntfy.set(Behaviour::default());
    let told = run(&plan, &["outbox", "retry", "--dead"]);
    assert_eq!(told.stdout, format!("{dead} dead notifications to be sent once more\n"));
    assert!(told.stderr.starts_with("1000 so far\n"), "{}", told.stderr);
    ntfy.wait_for_messages(usize::try_from(dead).expect("few"), PATIENCE);
}

#[test]
fn a_replay_runs_a_recorded_webhook_through_the_rules_of_today() {
    let ntfy = FakeNtfy::start(Options::default());
    let plan = Gateway::with_rules(NUMBERS).ntfy(&ntfy);
    let gateway = plan.start();
    let first = gateway.post("/n", &[], "{\"n\":7}").json();
    let webhook = first["id"].as_str().expect("an id").to_owned();
    ntfy.wait_for_messages(1, PATIENCE);
    let same = run(&plan, &["replay", "--dry-run", &webhook]).stdout;
    assert_eq!(same, format!("webhook {webhook}\n  no difference\n"));
    let better = NUMBERS.replace("name: all", "name: better").replace("message:", "title: N, message:");
    std::fs::write(plan.rules_folder().join("rules.yaml"), better).expect("to write");
    let differs = run(&plan, &["replay", "--dry-run", &webhook]).stdout;
    let expected = "  rules\n  - all\n  + better\n  notification 1\n  + title: \"N\"\n";
    assert_eq!(differs, format!("webhook {webhook}\n{expected}"));
    assert_eq!(ntfy.messages().len(), 1, "a dry run sends nothing");
    assert_eq!(gateway.admin("POST", "/-/reload").status, 200);
    let told = json_of(&plan, &["replay", "--json", &webhook]);
    assert_eq!(
        (&told["results"][0]["webhook"], &told["results"][0]["notifications"]),
        (&json!(webhook), &json!(1))
    );
    let arrived = ntfy.wait_for_messages(2, PATIENCE);
    assert_eq!((&arrived[1]["title"], &arrived[1]["message"]), (&json!("N"), &json!("7")));
    assert_eq!(arrived[0]["sequence_id"], arrived[1]["sequence_id"], "it replaces the first on the phone");
    gateway.signal("TERM");
    assert!(gateway.wait().success());
    assert_eq!(run(&plan, &["replay", &webhook]).code, Some(0));
    let _again = plan.start();
    assert_eq!(ntfy.wait_for_messages(3, PATIENCE)[2]["title"], "N");
}

#[test]
fn the_outbox_s_doors_take_json_only_and_not_too_much_of_it() {
    let gateway = Gateway::with_rules(NUMBERS).start();
    let post = |path: &str, kind: &str, body: &str| {
        gateway.admin_post(path, &[("content-type", kind)], body.as_bytes())
    };
    let ids = json!({ "ids": vec!["0194f5d2-c6d8-7f0f-8f0e-4a2e6b1d9c3a"; 501] }).to_string();
    for path in ["/api/outbox/retry", "/api/outbox/drop", "/api/replay"] {
        assert_eq!(post(path, "text/plain", "{\"ids\":[]}").status, 415, "{path}");
        assert_eq!(post(path, "application/json", "{\"ids\":[\"x\"]}").status, 400, "{path}");
        assert_eq!(post(path, "application/json", "{\"id\":[]}").status, 400, "{path}");
        assert_eq!(post(path, "application/json", &ids).status, 400, "{path}");
        let empty = post(path, "application/json", "{\"ids\":[]}");
        assert_eq!((empty.status, empty.json()), (200, json!({ "results": [] })), "{path}");
    }
    assert_eq!(post("/api/outbox/retry-dead", "application/json", "{\"before\":\"x\"}").status, 400);
}
