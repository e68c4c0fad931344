//! Faults on request, and what is counted.

use std::collections::VecDeque;
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use fake_ntfy::{Behaviour, FakeNtfy, Fault, Options, Stats};

use crate::client::{connect, post, send};

const MESSAGE: &str = r#"{"topic":"t","message":"m"}"#;

fn start(behaviour: Behaviour) -> FakeNtfy {
    FakeNtfy::start(Options { behaviour, ..Options::default() })
}

/// Waits for what another thread must notice first, such as a connection that was closed.
fn eventually(server: &FakeNtfy, holds: impl Fn(&Stats) -> bool) {
    let start = Instant::now();
    while !holds(&server.stats()) {
        assert!(start.elapsed() < Duration::from_secs(5), "{:#?}", server.stats());
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_script_is_played_once() {
    let script = VecDeque::from([
        Fault::Status(429, 42901),
        Fault::Close,
        Fault::CloseAfterReading,
        Fault::CloseAfterAccepting,
        Fault::Redirect,
    ]);
    let server = start(Behaviour { script, retry_after: Some(7), ..Behaviour::default() });
    let answer = post(&server, "/", MESSAGE).unwrap();
    assert_eq!((answer.status, answer.json()["code"].as_u64()), (429, Some(42901)));
    assert!(answer.head.contains("retry-after: 7"), "{}", answer.head);
    assert!(post(&server, "/", MESSAGE).is_none());
    assert!(post(&server, "/", MESSAGE).is_none());
    assert!(server.messages().is_empty());
    assert!(post(&server, "/", MESSAGE).is_none());
    assert_eq!(server.messages().len(), 1);
    assert_eq!(post(&server, "/", MESSAGE).unwrap().status, 302);
    assert_eq!(post(&server, "/", MESSAGE).unwrap().status, 200);
    let stats = server.stats();
    assert_eq!((stats.requests, stats.accepted, stats.refused), (6, 2, 2));
    assert_eq!(stats.by_status, [(200, 1), (302, 1), (429, 1)].into());
}

#[test]
fn failures_can_be_random_or_certain_and_come_as_html() {
    let server = start(Behaviour { failure_rate: 1.0, ..Behaviour::default() });
    assert_eq!(post(&server, "/", MESSAGE).unwrap().json()["code"], 50001);
    server.set(Behaviour { status: Some((502, 50201)), html: true, ..Behaviour::default() });
    let answer = post(&server, "/", MESSAGE).unwrap();
    assert!(answer.head.contains("content-type: text/html") && answer.body.starts_with("<html>"));
    assert_eq!(answer.status, 502);
}

#[test]
fn authorization_is_compared_whole() {
    let server =
        start(Behaviour { require_authorization: Some("Bearer tk_1".into()), ..Behaviour::default() });
    assert_eq!(post(&server, "/", MESSAGE).unwrap().json()["code"], 40101);
    let status = |headers| send(&mut connect(&server), "POST", "/", headers, MESSAGE).unwrap().status;
    assert_eq!(status("Authorization: Bearer tk_2\r\n"), 401);
    assert_eq!(status("Authorization: Bearer tk_1\r\n"), 200);
}

#[test]
fn latency_delays_the_answer_but_not_the_message() {
    let server = start(Behaviour { latency: Duration::from_millis(300), ..Behaviour::default() });
    let (handle, begin) = (server.clone(), Instant::now());
    let waiting = std::thread::spawn(move || post(&handle, "/", MESSAGE).unwrap().status);
    server.wait_for_messages(1, Duration::from_secs(5));
    assert!(begin.elapsed() < Duration::from_millis(300));
    assert_eq!(server.stats().in_flight, 1);
    assert_eq!(waiting.join().unwrap(), 200);
    assert!(begin.elapsed() >= Duration::from_millis(300));
}

#[test]
fn a_hung_request_ends_when_its_client_leaves() {
    let server = start(Behaviour { hang: true, ..Behaviour::default() });
    let mut stream = connect(&server);
    stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let hung = catch_unwind(AssertUnwindSafe(|| send(&mut stream, "POST", "/", "", MESSAGE)));
    assert!(hung.is_err(), "a hung server answered");
    eventually(&server, |stats| stats.in_flight == 1 && stats.connections_now == 1);
    drop(stream);
    eventually(&server, |stats| stats.in_flight == 0 && stats.connections_now == 0);
    assert!(server.messages().is_empty());
}

#[test]
fn connections_are_counted_while_they_live() {
    let server = start(Behaviour::default());
    let mut streams: Vec<_> = (0..5).map(|_| connect(&server)).collect();
    for stream in &mut streams {
        assert_eq!(send(stream, "POST", "/", "", MESSAGE).unwrap().status, 200);
        assert_eq!(send(stream, "POST", "/", "", MESSAGE).unwrap().status, 200);
    }
    streams.truncate(2);
    eventually(&server, |stats| stats.connections_now == 2);
    let stats = server.stats();
    assert_eq!((stats.connections_peak, stats.connections_total, stats.requests), (5, 5, 10));
}

#[test]
fn an_idle_connection_is_closed_after_keep_alive() {
    let server = start(Behaviour { keep_alive: Some(Duration::from_millis(50)), ..Behaviour::default() });
    let mut stream = connect(&server);
    assert_eq!(send(&mut stream, "POST", "/", "", MESSAGE).unwrap().status, 200);
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    eventually(&server, |stats| stats.connections_now == 0);
}

#[test]
fn stop_closes_everything_and_the_port_can_be_taken_again() {
    let server = start(Behaviour {
        script: [Fault::Latency(Duration::ZERO), Fault::Hang].into(),
        ..Behaviour::default()
    });
    let mut idle = connect(&server);
    assert_eq!(send(&mut idle, "POST", "/", "", MESSAGE).unwrap().status, 200);
    let hung = server.clone();
    let hung = std::thread::spawn(move || post(&hung, "/", MESSAGE).is_none());
    eventually(&server, |stats| stats.in_flight == 1);
    let begin = Instant::now();
    server.stop();
    server.stop();
    assert!(begin.elapsed() < Duration::from_secs(1), "{:?}", begin.elapsed());
    assert_eq!(idle.read(&mut [0]).unwrap(), 0);
    assert!(hung.join().unwrap());
    assert_eq!((server.messages().len(), server.stats().connections_now), (1, 0));
    let again = FakeNtfy::start(Options { port: Some(server.port()), ..Options::default() });
    assert_eq!(again.url(), server.url());
    assert_eq!(post(&again, "/", MESSAGE).unwrap().status, 200);
}

#[test]
fn waiting_in_vain_says_what_did_arrive() {
    let server = start(Behaviour::default());
    post(&server, "/", MESSAGE).unwrap();
    let wait = || server.wait_for_messages(2, Duration::from_millis(20));
    let panic = catch_unwind(AssertUnwindSafe(wait)).unwrap_err();
    let text = panic.downcast_ref::<String>().unwrap();
    assert!(text.contains("for 2 messages, got 1") && text.contains(r#""message":"m""#), "{text}");
}

#[test]
fn only_the_newest_messages_are_kept_when_there_are_too_many() {
    let server = FakeNtfy::start(Options { keep: 2, ..Options::default() });
    for n in 0..4 {
        post(&server, "/", &format!("{{\"topic\":\"t\",\"message\":\"{n}\"}}")).unwrap();
    }
    let texts: Vec<_> = server.messages().iter().map(|m| m["message"].as_str().unwrap().to_owned()).collect();
    assert_eq!((texts, server.stats().accepted), (vec!["2".to_owned(), "3".to_owned()], 4));
    server.clear();
    assert_eq!((server.messages().len(), server.stats().requests), (0, 0));
}
