//! Heads that never end, are too long or ambiguous, and connections used in uncommon ways.

use std::net::Shutdown;

use crate::support::Gateway;
use crate::support::gateway::Plan;
use crate::support::raw::{Connection, post};

const PATH: &str = "/hooks/quiet";

/// A gateway that takes anything and keeps nothing.
fn quiet() -> Plan {
    Gateway::with_rules("sources: { quiet: { path: /hooks/quiet, rules: [{ name: quiet, drop: true }] } }\n")
}

#[test]
fn silent_connections_end_with_the_time_for_a_head() {
    let gateway = quiet().flag("--head-timeout", "1s").start();
    let silent = || Connection::open(gateway.webhooks).expect("a connection");
    let mut connections: Vec<_> = (0..100).map(|_| silent()).collect();
    assert!(connections.iter_mut().all(Connection::closes));
}

#[test]
fn a_second_head_that_is_half_sent_ends_too() {
    let gateway = quiet().flag("--head-timeout", "1s").flag("--keep-alive", "2s").start();
    let mut connection = Connection::open(gateway.webhooks).expect("a connection");
    assert_eq!(connection.post(PATH, "{}").expect("an answer").status, 200);
    connection.send("POST /hooks/quiet HTTP/1.1\r\nHost: t\r\nX-Half: ").expect("half a head");
    assert!(connection.closes());
}

#[test]
fn a_head_that_is_too_long_is_refused() {
    let gateway = quiet().start();
    let mut connection = Connection::open(gateway.webhooks).expect("a connection");
    let head = format!("POST {PATH} HTTP/1.1\r\nHost: t\r\nX-Long: {}\r\n\r\n", "x".repeat(256 * 1024));
    // The gateway may stop reading before all is sent.
    let _ = connection.send(head);
    if let Ok(answer) = connection.answer() {
        assert!([400, 413, 431].contains(&answer.status), "{answer:?}");
    }
    assert!(connection.closes());
    assert_eq!(gateway.post(PATH, &[], "{}").status, 200);
}

#[test]
fn a_request_with_two_lengths_is_refused_and_nothing_after_it_is_read() {
    let gateway = quiet().start();
    let smuggled = post(PATH, "{}");
    for lengths in [
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 5",
        "Content-Length: 5\r\nContent-Length: 6",
        "Transfer-Encoding: chunked, identity",
        "Content-Length: +5",
    ] {
        let mut connection = Connection::open(gateway.webhooks).expect("a connection");
        let request = format!("POST {PATH} HTTP/1.1\r\nHost: t\r\n{lengths}\r\n\r\n0\r\n\r\n{smuggled}");
        connection.send(request).expect("to send");
        let answer = connection.answer().expect("an answer");
        assert_eq!(answer.status, 400, "{lengths}: {answer:?}");
        assert!(connection.closes());
    }
    let taken = r#"hookbell_webhooks_total{source="quiet",outcome="Dropped"}"#;
    assert_eq!(gateway.metric(taken).unwrap_or(0.0), 0.0, "nothing was smuggled in");
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let gateway = quiet().start();
    let mut connection = Connection::open(gateway.webhooks).expect("a connection");
    let requests: String = (0..40).map(|n| post(if n % 2 == 0 { PATH } else { "/nowhere" }, "{}")).collect();
    connection.send(requests).expect("to send");
    for number in 0..40 {
        let status = connection.answer().expect("an answer").status;
        assert_eq!(status, if number % 2 == 0 { 200 } else { 404 });
    }
}

#[test]
fn a_sender_that_closes_its_half_still_gets_its_answer() {
    let gateway = quiet().start();
    for _ in 0..20 {
        let mut connection = Connection::open(gateway.webhooks).expect("a connection");
        connection.send(post(PATH, "{}")).expect("to send");
        connection.stream().shutdown(Shutdown::Write).expect("to close one half");
        assert_eq!(connection.answer().expect("an answer").status, 200);
        assert!(connection.closes());
    }
}
