//! Connections to ntfy: bounded whatever fails, and reused without losing anything.

use std::time::Duration;

use fake_ntfy::{Behaviour, FakeNtfy, Options};

use crate::support::load::{self, NUMBERS};
use crate::support::wait::until;
use crate::support::{Gateway, sockets};

const BOUND: u64 = 5;

fn rules(ntfy: &FakeNtfy) -> String {
    // Without order, one topic takes all connections.
    let url = ntfy.url();
    format!(
        "servers:\n  default: {{ url: \"{url}\", connections: {BOUND}, timeout: 500ms, ordered: false }}\n{NUMBERS}"
    )
}

/// Lets a storm meet a misbehaving ntfy, looks at the connections, then mends ntfy and sees everything arrive.
fn storm(misbehaviour: Behaviour) {
    let ntfy = FakeNtfy::start(Options::default());
    ntfy.set(misbehaviour.clone());
    let watch = sockets::Watch::on(ntfy.port());
    let gateway = Gateway::with_rules(&rules(&ntfy)).start();
    let load = load::send(gateway.webhooks, 8, 200);
    assert_eq!((load.refused.len(), load.unanswered), (0, 0));
    until("attempts", || (ntfy.stats().requests > BOUND).then_some(()));
    ntfy.set(Behaviour::default());
    load::wait_for(&ntfy, &load.accepted);
    // The test itself opens none: every connection is the gateway's. Both counts can only be too high: ntfy learns late
    // of an end, and the table of sockets is not read at one instant. The lower is nearer to the truth.
    let (most, stats) = (watch.most(), ntfy.stats());
    // A table read too seldom has seen nothing of connections that are closed at once: then ntfy's count is all there is.
    let most = if most == 0 { stats.connections_peak } else { most.min(stats.connections_peak) };
    assert!((1..=BOUND).contains(&most), "{most} connections; {misbehaviour:?}: {stats:?}");
    if !misbehaviour.close && !misbehaviour.hang {
        // An answer, whatever it says, ends no connection.
        assert!(stats.connections_total <= BOUND, "{misbehaviour:?}: {stats:?}");
    }
}

#[test]
fn half_of_the_answers_being_errors_opens_no_connection_beyond_the_bound() {
    storm(Behaviour { failure_rate: 0.5, failure_status: 500, failure_code: 50001, ..Behaviour::default() });
}

#[test]
fn rate_limiting_opens_no_connection_beyond_the_bound() {
    let limited = Behaviour { failure_rate: 0.5, failure_status: 429, html: true, ..Behaviour::default() };
    storm(Behaviour { retry_after: Some(1), ..limited });
}

#[test]
fn hanging_opens_no_connection_beyond_the_bound() {
    storm(Behaviour { hang: true, ..Behaviour::default() });
}

#[test]
fn closing_without_an_answer_opens_no_connection_beyond_the_bound() {
    storm(Behaviour { close: true, ..Behaviour::default() });
}

#[test]
fn connections_are_reused() {
    let ntfy = FakeNtfy::start(Options::default());
    let gateway = Gateway::with_rules(&rules(&ntfy)).start();
    let load = load::send(gateway.webhooks, 8, 300);
    load::wait_for(&ntfy, &load.accepted);
    let stats = ntfy.stats();
    assert!(stats.connections_total <= BOUND + 1, "{stats:?}");
}

#[test]
fn a_connection_that_ntfy_closed_while_idle_loses_nothing_and_delays_nothing() {
    let ntfy = FakeNtfy::start(Options::default());
    ntfy.set(Behaviour { keep_alive: Some(Duration::from_secs(1)), ..Behaviour::default() });
    let gateway = Gateway::with_rules(&rules(&ntfy)).start();
    for round in 0..3u64 {
        let answer = gateway.post("/n", &[], format!("{{\"n\":{round}}}"));
        assert_eq!(answer.status, 200);
        let start = std::time::Instant::now();
        ntfy.wait_for_messages(usize::try_from(round).expect("few") + 1, Duration::from_secs(10));
        assert!(start.elapsed() < Duration::from_millis(900), "round {round} came only by a later attempt");
        until("the idle connection to be closed", || (ntfy.stats().connections_now == 0).then_some(()));
    }
}

#[test]
fn a_restart_of_ntfy_on_its_port_loses_nothing() {
    let ntfy = FakeNtfy::start(Options::default());
    let gateway = Gateway::with_rules(&rules(&ntfy)).start();
    let before = load::send(gateway.webhooks, 4, 20);
    load::wait_for(&ntfy, &before.accepted);
    ntfy.stop();
    let back = FakeNtfy::start(Options { port: Some(ntfy.port()), ..Options::default() });
    let after = load::send(gateway.webhooks, 4, 20);
    load::wait_for(&back, &after.accepted);
}
