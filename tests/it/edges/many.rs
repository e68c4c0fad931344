//! Many connections, and more than there are file descriptors for.

use std::time::{Duration, Instant};

use super::quiet;
use crate::support::Gateway;
use crate::support::load::PATH;
use crate::support::process::{cpu_time, rss_kib};
use crate::support::raw::Connection;
use crate::support::wait::until;

#[test]
fn a_thousand_idle_connections_cost_little_and_end_by_themselves() {
    let gateway = quiet().flag("--keep-alive", "3s").start();
    let before = rss_kib(gateway.pid());
    let kept = |_| {
        let mut connection = Connection::open(gateway.webhooks).expect("a connection");
        assert_eq!(connection.post(PATH, "{}").expect("an answer").status, 200);
        connection
    };
    let mut connections: Vec<_> = (0..1000).map(kept).collect();
    let during = rss_kib(gateway.pid());
    assert_eq!(gateway.post(PATH, &[], "{}").status, 200);
    eprintln!("RSS {before} KiB at rest, {during} KiB with a thousand connections that were used");
    assert!(during < 40 * 1024, "{during} KiB");
    assert!(connections.iter_mut().all(Connection::closes), "the keep-alive time ends them");
    until("no connections", || (gateway.metric("hookbell_connections")? <= 1.0).then_some(()));
}

#[test]
fn a_kept_connection_takes_one_request_after_the_other() {
    let gateway = quiet().start();
    let mut connection = Connection::open(gateway.webhooks).expect("a connection");
    for _ in 0..100 {
        assert_eq!(connection.post(PATH, "{}").expect("an answer").status, 200);
    }
    assert_eq!(gateway.metric("hookbell_connections"), Some(1.0));
}

/// Holds connections that the gateway has no descriptors for and measures what that costs it.
fn exhaust(gateway: &mut Gateway, hold: impl Fn(&Gateway) -> Vec<Connection>) {
    let (log, cpu, start) = (gateway.log().len(), cpu_time(gateway.pid()), Instant::now());
    let mut connections = Vec::new();
    while start.elapsed() < Duration::from_secs(3) {
        // Those that were closed for being silent are replaced, so that the shortage lasts.
        connections = hold(gateway);
        std::thread::sleep(Duration::from_secs(1));
    }
    let (spent, lines) = (cpu_time(gateway.pid()) - cpu, gateway.log().len() - log);
    drop(connections);
    eprintln!("three seconds without file descriptors: {spent:?} of processor time, {lines} log lines");
    assert!(spent < Duration::from_millis(500), "{spent:?}");
    assert!(lines < 20, "{lines} lines: {:#?}", gateway.log());
    assert!(gateway.is_running());
    until("service to return", || (gateway.post(PATH, &[], "{}").status == 200).then_some(()));
    assert_eq!(gateway.admin("GET", "/readyz").status, 200);
}

fn open(to: std::net::SocketAddr, number: usize) -> Vec<Connection> {
    (0..number).filter_map(|_| Connection::open(to).ok()).collect()
}

#[test]
fn more_webhook_connections_than_descriptors_neither_spin_nor_flood() {
    let mut gateway = quiet().through(&["prlimit", "--nofile=96:96"]).flag("--head-timeout", "2s").start();
    exhaust(&mut gateway, |gateway| open(gateway.webhooks, 200));
}

#[test]
fn running_out_of_descriptors_altogether_neither_spins_nor_floods() {
    let mut gateway = quiet().through(&["prlimit", "--nofile=66:66"]).flag("--workers", "2").start();
    exhaust(&mut gateway, |gateway| {
        [open(gateway.admin, 100), open(gateway.webhooks, 100)].into_iter().flatten().collect()
    });
}
