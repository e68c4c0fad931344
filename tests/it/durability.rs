//! What was answered 200 arrives, whatever happens to the gateway or to ntfy.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use fake_ntfy::{Behaviour, FakeNtfy, Options};

use crate::support::Gateway;
use crate::support::load::{Load, PATH, arrived, rules};
use crate::support::wait::until;

fn id(id: &str) -> String {
    format!(r#"{{"id":"{id}"}}"#)
}

#[test]
fn five_kills_under_load_lose_nothing_that_was_answered() {
    let ntfy = FakeNtfy::start(Options::default());
    let plan = Gateway::with_rules(&rules("t", "connections: 4")).ntfy(&ntfy);
    let mut accepted = BTreeSet::new();
    for round in 0..5 {
        let slow = Behaviour { latency: Duration::from_millis(5 * round), ..Behaviour::default() };
        ntfy.set(slow);
        let gateway = plan.start();
        let load = Load::start(gateway.webhooks, &format!("round {round}"), 6, Duration::ZERO);
        until("some load", || (load.sent() >= 200).then_some(()));
        gateway.kill();
        let outcome = load.stop();
        assert!(outcome.accepted.len() >= 190, "{:?}", outcome.failures);
        accepted.extend(outcome.accepted);
    }
    let _gateway = plan.start();
    until("all notifications", || accepted.is_subset(&arrived(&ntfy)).then_some(()));
    eprintln!("{} answered over five kills, {} published", accepted.len(), ntfy.messages().len());
}

#[test]
fn what_is_left_over_is_delivered_at_the_next_start() {
    let ntfy = FakeNtfy::start(Options::default());
    let (port, url) = (ntfy.port(), ntfy.url());
    ntfy.stop();
    let plan = Gateway::with_rules(&rules("t", "")).env("NTFY_URL", &url);
    let gateway = plan.start();
    for number in 0..20 {
        assert_eq!(gateway.post(PATH, &[], id(&number.to_string())).status, 200);
    }
    gateway.kill();
    let ntfy = FakeNtfy::start(Options { port: Some(port), ..Options::default() });
    let gateway = plan.start();
    until("all notifications", || (arrived(&ntfy).len() == 20).then_some(()));
    until("an empty store", || (gateway.metric("hookbell_queue_depth") == Some(0.0)).then_some(()));
    assert_eq!(ntfy.messages().len(), 20, "none is sent twice");
}

#[test]
fn notifications_wait_while_ntfy_is_down() {
    let ntfy = FakeNtfy::start(Options::default());
    let (port, url) = (ntfy.port(), ntfy.url());
    ntfy.stop();
    let gateway = Gateway::with_rules(&rules("t", "")).env("NTFY_URL", &url).start();
    let sent: BTreeSet<String> = (0..10).map(|number| number.to_string()).collect();
    for number in &sent {
        assert_eq!(gateway.post(PATH, &[], id(number)).status, 200);
    }
    gateway.wait_for_log("ntfy server is failing");
    assert_eq!(gateway.metric("hookbell_queue_depth"), Some(10.0));
    let ntfy = FakeNtfy::start(Options { port: Some(port), ..Options::default() });
    until("all notifications", || (arrived(&ntfy) == sent).then_some(()));
}

#[test]
fn senders_do_not_wait_for_an_ntfy_that_hangs_or_is_down() {
    let ntfy = FakeNtfy::start(Options::default());
    ntfy.set(Behaviour { hang: true, ..Behaviour::default() });
    let gateway = Gateway::with_rules(&rules("t", "connections: 2")).ntfy(&ntfy).start();
    let mut slowest = Duration::ZERO;
    for number in 0..40 {
        if number == 20 {
            ntfy.stop();
        }
        let start = Instant::now();
        assert_eq!(gateway.post(PATH, &[], id(&number.to_string())).status, 200);
        slowest = slowest.max(start.elapsed());
    }
    // The 10 s of ntfy's timeout would show; a busy machine does not.
    assert!(slowest < Duration::from_secs(2), "{slowest:?}");
}
