//! Stopping: what is in flight finishes, the rest waits for the next start.

use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use fake_ntfy::{Behaviour, FakeNtfy, Options};

use crate::support::gateway::Plan;
use crate::support::load::{PATH, arrived, rules};
use crate::support::raw::Connection;
use crate::support::wait::until;
use crate::support::{Gateway, process};

const SLOW: &str = r#"{"id":"slow"}"#;

fn plan(ntfy: &FakeNtfy) -> Plan {
    Gateway::with_rules(&rules("t", "connections: 2")).ntfy(ntfy)
}

fn latency(latency: Duration) -> Options {
    Options { behaviour: Behaviour { latency, ..Behaviour::default() }, ..Options::default() }
}

/// Stops a gateway with a request in flight and says how it went.
fn stop_in_flight(signal: &str) {
    let ntfy = FakeNtfy::start(Options::default());
    let gateway = plan(&ntfy).start();
    let mut idle = Connection::open(gateway.webhooks).expect("a connection");
    assert_eq!(idle.post(PATH, r#"{"id":"first"}"#).expect("an answer").status, 200);
    let mut slow = Connection::open(gateway.webhooks).expect("a connection");
    slow.begin(PATH, SLOW.len()).expect("a head");
    gateway.signal(signal);
    gateway.wait_for_log("stopping");
    let refused = || TcpStream::connect(gateway.webhooks).is_err();
    until("new connections to be refused", || refused().then_some(()));
    assert!(idle.closes(), "an idle connection does not hold up the stop");
    slow.send(SLOW).expect("the body");
    assert_eq!(slow.answer().expect("an answer").status, 200);
    assert!(gateway.wait().success());
    assert_eq!(arrived(&ntfy), ["first", "slow"].map(str::to_owned).into(), "deliveries finish too");
}

#[test]
fn a_request_in_flight_at_sigterm_is_answered_and_delivered() {
    stop_in_flight("TERM");
}

#[test]
fn a_request_in_flight_at_sigint_is_answered_and_delivered() {
    stop_in_flight("INT");
}

#[test]
fn deliveries_in_flight_finish_and_the_rest_waits_for_the_next_start() {
    let ntfy = FakeNtfy::start(latency(Duration::from_millis(700)));
    let plan = plan(&ntfy);
    let gateway = plan.start();
    let sent: std::collections::BTreeSet<String> = (0..12).map(|number| number.to_string()).collect();
    for number in &sent {
        assert_eq!(gateway.post(PATH, &[], format!(r#"{{"id":"{number}"}}"#)).status, 200);
    }
    until("deliveries in flight", || (ntfy.stats().in_flight == 2).then_some(()));
    gateway.signal("TERM");
    assert!(gateway.wait().success());
    let before = arrived(&ntfy).len();
    assert_eq!(ntfy.stats().by_status.get(&200), Some(&(before as u64)), "each got its answer");
    assert!(before < sent.len(), "the rest waits");
    ntfy.set(Behaviour::default());
    let _gateway = plan.start();
    until("the rest", || (arrived(&ntfy) == sent).then_some(()));
    assert_eq!(ntfy.messages().len(), sent.len(), "none twice");
}

#[test]
fn a_hanging_ntfy_and_a_hanging_sender_together_hold_up_a_stop_for_one_grace() {
    let ntfy = FakeNtfy::start(Options::default());
    ntfy.set(Behaviour { hang: true, ..Behaviour::default() });
    let plan = plan(&ntfy).flag("--grace", "2s");
    let gateway = plan.start();
    assert_eq!(gateway.post(PATH, &[], r#"{"id":"hung"}"#).status, 200);
    until("a delivery in flight", || (ntfy.stats().in_flight == 1).then_some(()));
    let mut slow = Connection::open(gateway.webhooks).expect("a connection");
    slow.begin(PATH, SLOW.len()).expect("a head");
    let start = Instant::now();
    gateway.signal("TERM");
    assert!(gateway.wait().success());
    let took = start.elapsed();
    eprintln!("a stop with a grace of 2 s took {took:?}");
    assert!(took < Duration::from_millis(3500), "{took:?}");
    ntfy.set(Behaviour::default());
    let _gateway = plan.start();
    until("what hung", || arrived(&ntfy).contains("hung").then_some(()));
}

#[test]
fn sigterm_stops_the_first_process_of_a_container() {
    let unshare = ["unshare", "--pid", "--fork", "--kill-child"];
    let works = Command::new(unshare[0]).args(&unshare[1..]).arg("true").output();
    if !works.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: no right to make a PID namespace");
        return;
    }
    let ntfy = FakeNtfy::start(Options::default());
    let gateway = plan(&ntfy).through(&unshare).start();
    assert_eq!(gateway.post(PATH, &[], r#"{"id":"one"}"#).status, 200);
    let inner = process::child(gateway.pid()).expect("the gateway below unshare");
    let status = Command::new("kill").args(["-TERM", &inner.to_string()]).status();
    assert!(status.is_ok_and(|status| status.success()));
    assert!(gateway.wait().success());
    assert!(arrived(&ntfy).contains("one"));
}
