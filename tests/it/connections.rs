//! Connections to ntfy: bounded whatever fails, kept while all is well, replaced at once when they break.

use std::time::{Duration, Instant};

use fake_ntfy::{Behaviour, FakeNtfy, Options, Stats};

use crate::support::Gateway;
use crate::support::load::{Load, PATH, arrived, rules};
use crate::support::process;
use crate::support::wait::{PATIENCE, until};

const BOUND: u64 = 4;

/// Sends webhooks while ntfy misbehaves for a while, lets it recover, and sees everything arrive. Returns what the
/// fake counted during the misbehaviour, and the most connections that the gateway held at one time.
fn while_failing(behaviour: Behaviour) -> (Stats, usize) {
    let ntfy = FakeNtfy::start(Options { behaviour, ..Options::default() });
    let rules = rules("t", &format!("connections: {BOUND}, timeout: 500ms"));
    let gateway = Gateway::with_rules(&rules).ntfy(&ntfy).start();
    let load = Load::start(gateway.webhooks, "failing", 2, Duration::from_millis(5));
    let (start, mut most) = (Instant::now(), 0);
    while start.elapsed() < Duration::from_secs(2) || ntfy.stats().requests < 20 {
        assert!(start.elapsed() < PATIENCE, "ntfy is hardly tried: {:?}", ntfy.stats());
        most = most.max(process::connections_to(ntfy.port()));
    }
    let outcome = load.stop();
    let stats = ntfy.stats();
    ntfy.set(Behaviour::default());
    until("all notifications", || outcome.accepted.is_subset(&arrived(&ntfy)).then_some(()));
    assert_eq!(outcome.failures, [""; 0]);
    assert!(ntfy.stats().in_flight_peak <= BOUND, "{:?}", ntfy.stats());
    eprintln!("{} webhooks; {stats:?}; most connections held: {most}", outcome.accepted.len());
    (stats, most)
}

#[test]
fn half_of_the_answers_being_500_keeps_connections_and_their_bound() {
    let (stats, _) = while_failing(Behaviour { failure_rate: 0.5, ..Behaviour::default() });
    assert!(stats.by_status[&500] > 20);
    assert!(stats.connections_peak <= BOUND && stats.connections_total <= BOUND, "{stats:?}");
}

#[test]
fn rate_limits_keep_connections_and_their_bound() {
    let (stats, _) = while_failing(Behaviour { status: Some((429, 42901)), ..Behaviour::default() });
    assert!(stats.connections_peak <= BOUND && stats.connections_total <= BOUND, "{stats:?}");
}

#[test]
fn hangs_keep_the_bound() {
    let (_, most) = while_failing(Behaviour { hang: true, ..Behaviour::default() });
    assert!(most as u64 <= BOUND, "{most} connections");
}

#[test]
fn closed_connections_keep_the_bound() {
    let (_, most) = while_failing(Behaviour { close: true, ..Behaviour::default() });
    assert!(most as u64 <= BOUND, "{most} connections");
}

#[test]
fn slow_answers_keep_the_bound() {
    let (stats, most) =
        while_failing(Behaviour { latency: Duration::from_millis(50), ..Behaviour::default() });
    assert!(stats.connections_peak <= BOUND && most as u64 <= BOUND, "{stats:?}");
}

/// Posts some webhooks at once and says how long the last notification took.
fn burst(gateway: &Gateway, ntfy: &FakeNtfy, round: usize) -> Duration {
    let start = Instant::now();
    for number in 0..4 {
        let answer = gateway.post(PATH, &[], format!(r#"{{"id":"{round}/{number}"}}"#));
        assert_eq!(answer.status, 200);
    }
    let all = || (0..4).all(|number| arrived(ntfy).contains(&format!("{round}/{number}")));
    until("the burst", || all().then_some(()));
    start.elapsed()
}

#[test]
fn a_connection_that_ntfy_closed_while_idle_is_replaced_at_once() {
    let behaviour = Behaviour { keep_alive: Some(Duration::from_millis(700)), ..Behaviour::default() };
    let ntfy = FakeNtfy::start(Options { behaviour, ..Options::default() });
    let gateway = Gateway::with_rules(&rules("t", "connections: 4")).ntfy(&ntfy).start();
    for round in 0..3 {
        burst(&gateway, &ntfy, round);
        until("ntfy to close", || (ntfy.stats().connections_now == 0).then_some(()));
    }
    let retried = r#"hookbell_notifications_total{server="default",state="Retried"}"#;
    assert_eq!(gateway.metric(retried).unwrap_or(0.0), 0.0, "no backoff: sent again at once");
    assert_eq!(ntfy.messages().len(), 12);
}

#[test]
fn kept_connections_survive_a_restart_of_ntfy_on_its_port() {
    let ntfy = FakeNtfy::start(Options::default());
    let gateway = Gateway::with_rules(&rules("t", "connections: 4")).ntfy(&ntfy).start();
    burst(&gateway, &ntfy, 0);
    let port = ntfy.port();
    for round in 1..3 {
        ntfy.stop();
        let ntfy = FakeNtfy::start(Options { port: Some(port), ..Options::default() });
        let took = burst(&gateway, &ntfy, round);
        assert_eq!(ntfy.messages().len(), 4, "none twice");
        eprintln!("the first burst after a restart took {took:?}");
        ntfy.stop();
    }
    let retried = r#"hookbell_notifications_total{server="default",state="Retried"}"#;
    assert_eq!(gateway.metric(retried).unwrap_or(0.0), 0.0, "no backoff: sent again at once");
}
