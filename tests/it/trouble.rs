//! Servers that are down or refuse: who takes over, and who is told.

use std::time::Duration;

use fake_ntfy::{Behaviour, FakeNtfy, Options};
use serde_json::{Value, json};

use crate::support::Gateway;
use crate::support::command::hookbell;
use crate::support::samples::root;
use crate::support::wait::until;

const PATIENCE: Duration = Duration::from_secs(15);
const SOURCE: &str = "\
sources:
  n: { path: /n, rules: [{ name: all, publish: { server: main, topic: numbers, message: \"{{body.n}}\" } }] }
";

fn two_servers(main: &FakeNtfy, other: &FakeNtfy, options: &str) -> String {
    let (main, other) = (main.url(), other.url());
    format!("servers:\n  main: {{ url: \"{main}\", {options} }}\n  other: {{ url: \"{other}\" }}\n{SOURCE}")
}

fn unauthorized() -> Behaviour {
    Behaviour { require_authorization: Some("Bearer tk_right".to_owned()), ..Behaviour::default() }
}

/// Waits for an operator notification with this title.
fn told(ops: &FakeNtfy, title: &str) -> Value {
    until(&format!("the operator to be told {title:?}"), || {
        ops.messages().into_iter().find(|message| message["topic"] == "ops" && message["title"] == title)
    })
}

#[test]
fn a_fallback_takes_over_after_its_time_and_hands_nothing_back() {
    let (main, other) = (FakeNtfy::start(Options::default()), FakeNtfy::start(Options::default()));
    main.stop();
    let rules = two_servers(&main, &other, "fallback: other, fallback_after: 1s");
    let plan = Gateway::with_rules(&rules);
    let gateway = plan.start();
    for n in 0..5 {
        assert_eq!(gateway.post("/n", &[], json!({ "n": n }).to_string()).status, 200);
    }
    let arrived = other.wait_for_messages(5, PATIENCE);
    let order: Vec<_> = arrived.iter().map(|message| message["message"].as_str().expect("text")).collect();
    assert_eq!(order, ["0", "1", "2", "3", "4"]);
    let data = plan.data_folder().display().to_string();
    let list = hookbell(root(), &["outbox", "list", "--all", "--json", "--data", &data], &[]).stdout;
    let list: Value = serde_json::from_str(&list).expect("JSON");
    assert_eq!(
        (&list["notifications"][0]["server"], &list["notifications"][0]["first_server"]),
        (&json!("other"), &json!("main"))
    );
    gateway.wait_for_log("notifications go to the fallback");
}

#[test]
fn what_expires_is_a_dead_letter_that_can_still_be_sent() {
    let (main, other) = (FakeNtfy::start(Options::default()), FakeNtfy::start(Options::default()));
    let port = main.port();
    main.stop();
    let plan = Gateway::with_rules(&two_servers(&main, &other, "expire: 1s"));
    let gateway = plan.start();
    assert_eq!(gateway.post("/n", &[], "{\"n\":1}").status, 200);
    until("a dead letter", || (gateway.metric("hookbell_dead_letters") == Some(1.0)).then_some(()));
    let back = FakeNtfy::start(Options { port: Some(port), ..Options::default() });
    let data = plan.data_folder().display().to_string();
    assert_eq!(hookbell(root(), &["outbox", "retry", "--dead", "--data", &data], &[]).code, Some(0));
    assert_eq!(back.wait_for_messages(1, PATIENCE)[0]["message"], "1");
}

#[test]
fn the_operator_is_told_once_of_a_server_that_refuses_and_once_when_it_takes_notifications_again() {
    let (main, ops) = (FakeNtfy::start(Options::default()), FakeNtfy::start(Options::default()));
    main.set(unauthorized());
    let rules = format!("operator: {{ server: other, topic: ops }}\n{}", two_servers(&main, &ops, ""));
    let gateway = Gateway::with_rules(&rules).start();
    for n in 0..20 {
        assert_eq!(gateway.post("/n", &[], json!({ "n": n }).to_string()).status, 200);
    }
    let news = told(&ops, "Hookbell: server main takes nothing");
    assert_eq!((&news["priority"], &news["sequence_id"]), (&json!(4), &json!("hookbell-server-main")));
    let message = news["message"].as_str().expect("a message");
    assert!(message.starts_with("Server \"main\" refuses us: 40101 unauthorized"), "{message}");
    let ready = gateway.admin("GET", "/readyz").json();
    assert_eq!(
        (&ready["servers"]["main"]["state"], &ready["servers"]["other"]["state"]),
        (&json!("refused"), &json!("open"))
    );
    assert_eq!(main.stats().requests, 1, "no hammering");
    // The token is corrected: everything arrives, in order, without waiting for the next attempt's time.
    let corrected = rules.replace("main: { url", "main: { token: tk_right, url");
    std::fs::write(gateway.rules_folder().join("rules.yaml"), corrected).expect("to write");
    let arrived = main.wait_for_messages(20, PATIENCE);
    let order: Vec<_> = arrived.iter().map(|message| message["message"].clone()).collect();
    assert_eq!(order, (0..20).map(|n| json!(n.to_string())).collect::<Vec<_>>());
    let over = told(&ops, "Hookbell: server main takes notifications again");
    assert_eq!((&over["priority"], &over["sequence_id"]), (&json!(2), &json!("hookbell-server-main")));
    assert_eq!(ops.messages().len(), 2);
}

#[test]
fn the_operator_is_told_of_stale_rules_dead_letters_and_a_disk_nearly_full() {
    let (main, ops) = (FakeNtfy::start(Options::default()), FakeNtfy::start(Options::default()));
    main.set(Behaviour { status: Some((400, 40009)), ..Behaviour::default() });
    let rules = format!("operator: {{ server: other, topic: ops }}\n{}", two_servers(&main, &ops, ""));
    let small = crate::support::disk::small("4m");
    let mut plan = Gateway::with_rules(&rules);
    if let Some(disk) = &small {
        plan = plan.data(disk.path());
    }
    let gateway = plan.start();
    let file = gateway.rules_folder().join("rules.yaml");
    std::fs::write(&file, rules.replace("topic: numbers", "topic: numbers, titel: x")).expect("to write");
    let stale = told(&ops, "Hookbell: the rules are stale")["message"].to_string();
    assert!(stale.contains("hold 1 mistake, older ones") && stale.contains("titel"), "{stale}");
    std::fs::write(&file, &rules).expect("to write");
    told(&ops, "Hookbell: the rules are up to date again");
    assert_eq!(gateway.post("/n", &[], "{\"n\":1}").status, 200);
    let dead = told(&ops, "Hookbell: 1 new dead letter")["message"].to_string();
    assert!(dead.contains("hookbell outbox retry --dead"), "{dead}");
    let Some(disk) = small else { return eprintln!("skipped: this user cannot mount a small file system") };
    let filler = disk.path().join("filler");
    std::fs::write(&filler, vec![0; disk.free() - 300_000]).expect("to fill the disk");
    told(&ops, "Hookbell: the disk is nearly full");
    std::fs::remove_file(&filler).expect("to make room");
    told(&ops, "Hookbell: the disk has room again");
}

#[test]
fn a_pace_of_the_rules_is_kept() {
    let (main, other) = (FakeNtfy::start(Options::default()), FakeNtfy::start(Options::default()));
    let rules = two_servers(&main, &other, "pace: { burst: 3, per: 300ms }");
    let gateway = Gateway::with_rules(&rules).start();
    let start = std::time::Instant::now();
    for n in 0..8 {
        assert_eq!(gateway.post("/n", &[], json!({ "n": n }).to_string()).status, 200);
    }
    main.wait_for_messages(8, PATIENCE);
    assert!(start.elapsed() >= Duration::from_millis(5 * 300), "{:?}", start.elapsed());
}
