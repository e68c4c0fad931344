//! Stopping: nothing in flight is dropped, nothing accepted is lost.

use std::io::Write;
use std::time::{Duration, Instant};

use fake_ntfy::{Behaviour, FakeNtfy, Options};

use crate::support::Gateway;
use crate::support::load::{self, NUMBERS};
use crate::support::raw::Connection;
use crate::support::wait::until;
use crate::support::wire;

#[test]
fn a_request_in_flight_gets_its_answer_and_the_exit_code_is_zero() {
    for signal in ["TERM", "INT"] {
        let ntfy = FakeNtfy::start(Options::default());
        let gateway = Gateway::with_rules(NUMBERS).ntfy(&ntfy).start();
        let mut sender = wire::connect(gateway.webhooks);
        sender.write_all(b"POST /n HTTP/1.1\r\nHost: x\r\nContent-Length: 7\r\n\r\n{\"n\"").expect("to send");
        until("the request to be known", || {
            (gateway.metric("hookbell_connections").is_some_and(|open| open >= 1.0)).then_some(())
        });
        gateway.signal(signal);
        gateway.wait_for_log("stopping");
        sender.write_all(b":7}").expect("to send the rest");
        let answer = wire::rest(&mut sender);
        assert_eq!(wire::status(&answer), Some(200), "{answer}");
        assert!(gateway.wait().success(), "{signal}");
        ntfy.wait_for_messages(1, Duration::from_secs(5));
    }
}

#[test]
fn deliveries_in_flight_finish_and_the_rest_is_delivered_by_the_next_start() {
    let ntfy = FakeNtfy::start(Options::default());
    ntfy.set(Behaviour { latency: Duration::from_millis(100), ..Behaviour::default() });
    let plan = Gateway::with_rules(NUMBERS).ntfy(&ntfy);
    let gateway = plan.start();
    let load = load::send(gateway.webhooks, 4, 200);
    gateway.signal("TERM");
    assert!(gateway.wait().success());
    let settled = load::arrived(&ntfy).len();
    assert!(settled < load.accepted.len(), "nothing was left to deliver");
    ntfy.set(Behaviour::default());
    let _next = plan.start();
    load::wait_for(&ntfy, &load.accepted);
    // What was in flight at the stop was settled, so nothing comes twice.
    let arrived = load::arrived(&ntfy);
    assert_eq!(arrived.len(), load.accepted.len(), "a notification came twice");
}

#[test]
fn a_stop_waits_for_a_hanging_ntfy_no_longer_than_the_grace() {
    let ntfy = FakeNtfy::start(Options::default());
    ntfy.set(Behaviour { hang: true, ..Behaviour::default() });
    let plan = Gateway::with_rules(NUMBERS).ntfy(&ntfy).flag("--grace", "1s");
    let gateway = plan.start();
    let load = load::send(gateway.webhooks, 2, 5);
    until("attempts", || (ntfy.stats().in_flight > 0).then_some(()));
    let start = Instant::now();
    gateway.signal("TERM");
    assert!(gateway.wait().success());
    assert!(start.elapsed() < Duration::from_secs(6), "took {:?}", start.elapsed());
    ntfy.set(Behaviour::default());
    let _next = plan.start();
    load::wait_for(&ntfy, &load.accepted);
}

#[test]
fn pid_1_stops_on_sigterm_too() {
    let wrapper = ["unshare", "--pid", "--fork", "--kill-child"];
    let possible = std::process::Command::new(wrapper[0]).args(&wrapper[1..]).arg("true").status();
    if !possible.is_ok_and(|status| status.success()) {
        eprintln!("skipped: this user cannot make a pid namespace");
        return;
    }
    let gateway = Gateway::with_rules(NUMBERS).through(&wrapper).start();
    // `unshare` is the parent of pid 1.
    let children =
        std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", gateway.pid())).expect("children");
    let child = children.trim();
    let status = std::fs::read_to_string(format!("/proc/{child}/status")).expect("a status");
    let inner = status.lines().find_map(|line| line.strip_prefix("NSpid:")).expect("pids").trim();
    assert!(inner.ends_with("\t1"), "not pid 1: {inner}");
    let killed = std::process::Command::new("kill").args(["-TERM", child]).status();
    assert!(killed.is_ok_and(|status| status.success()));
    gateway.wait_for_log("stopped");
    assert!(gateway.wait().success());
}

#[test]
fn a_hanging_sender_and_a_hanging_ntfy_together_hold_up_a_stop_for_one_grace() {
    let ntfy = FakeNtfy::start(Options::default());
    ntfy.set(Behaviour { hang: true, ..Behaviour::default() });
    let gateway = Gateway::with_rules(NUMBERS).ntfy(&ntfy).flag("--grace", "2s").start();
    load::send(gateway.webhooks, 1, 1);
    until("an attempt", || (ntfy.stats().in_flight > 0).then_some(()));
    let mut idle = Connection::open(gateway.webhooks).expect("a connection");
    assert_eq!(idle.post("/nowhere", "{}").expect("an answer").status, 404);
    let mut slow = Connection::open(gateway.webhooks).expect("a connection");
    slow.begin("/n", 7).expect("a head");
    let start = Instant::now();
    gateway.signal("TERM");
    assert!(idle.closes(), "an idle connection does not hold up the stop");
    assert!(gateway.wait().success());
    let took = start.elapsed();
    assert!(took < Duration::from_millis(3500), "{took:?}");
}
