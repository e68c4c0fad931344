//! What is no proper HTTP, or only just.

use std::fmt::Write as _;
use std::io::{Read, Write};

use super::unharmed;
use crate::support::gateway::{SECRET, sign_github};
use crate::support::wire::{connect, exchange, rest, status};
use crate::support::{Gateway, Scene};

fn head(path: &str, headers: &[(&str, &str)]) -> String {
    let mut head = format!("POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n");
    for (name, value) in headers {
        let _ = write!(head, "{name}: {value}\r\n");
    }
    head + "\r\n"
}

#[test]
fn garbage_is_answered_with_400_and_the_connection_closed() {
    let scene = Scene::shipped();
    let long = "a".repeat(200_000);
    let cases = [
        ("no http", "hello\r\n\r\n".to_owned()),
        ("tls", "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}\u{1}\u{fc}\u{3}\u{3}\r\n\r\n".to_owned()),
        ("http/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned()),
        ("bad length", head("/hooks/github", &[("Content-Length", "many")])),
        ("negative length", head("/hooks/github", &[("Content-Length", "-1")])),
        ("two lengths", head("/hooks/github", &[("Content-Length", "1"), ("Content-Length", "2")])),
        ("unknown transfer", head("/hooks/github", &[("Transfer-Encoding", "gzip")])),
        ("bad header name", head("/hooks/github", &[("Bad Header", "1")])),
        ("header with nul", head("/hooks/github", &[("X-A", "a\u{0}b")])),
        ("one huge header", head("/hooks/github", &[("X-A", &long)])),
        ("huge path", head(&format!("/{long}"), &[])),
    ];
    for (what, bytes) in cases {
        let answer = exchange(scene.gateway.webhooks, bytes.as_bytes());
        // Closing on someone who still writes may lose the answer: then only the end is seen.
        let code = status(&answer);
        assert!(code.is_none_or(|code| (400..500).contains(&code)), "{what}: {answer}");
    }
    let many: Vec<(String, String)> = (0..2000).map(|n| (format!("X-{n}"), "v".to_owned())).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    let code = status(&exchange(scene.gateway.webhooks, head("/hooks/github", &many).as_bytes()));
    assert!(code.is_none_or(|code| (400..500).contains(&code)), "{code:?}");
    unharmed(&scene);
}

#[test]
fn a_body_in_chunks_is_taken_up_to_the_limit() {
    let scene = Scene::start(Gateway::shipped().flag("--max-body", "1KiB"));
    let chunked = |body: &str, signature: &str| {
        let headers = [
            ("Transfer-Encoding", "chunked"),
            ("X-GitHub-Event", "ping"),
            ("X-Hub-Signature-256", signature),
        ];
        let mut request = head("/hooks/github", &headers);
        for piece in body.as_bytes().chunks(100) {
            let _ = write!(request, "{:x}\r\n{}\r\n", piece.len(), str::from_utf8(piece).expect("ascii"));
        }
        exchange(scene.gateway.webhooks, format!("{request}0\r\n\r\n").as_bytes())
    };
    let small = format!("{}{}", r#"{"zen":"x"}"#, " ".repeat(900));
    let told = chunked(&small, &sign_github(SECRET, small.as_bytes()));
    assert_eq!(status(&told), Some(200), "{told}");
    scene.ntfy.wait_for_messages(1, crate::support::wait::PATIENCE);
    let large = format!("{}{}", r#"{"zen":"x"}"#, " ".repeat(2000));
    let refused = chunked(&large, &sign_github(SECRET, large.as_bytes()));
    assert_eq!(status(&refused), Some(413), "{refused}");
    assert!(refused.ends_with(r#"{"error":"body too large: the limit is 1024 bytes"}"#), "{refused}");
    assert_eq!(scene.ntfy.messages().len(), 1);
}

#[test]
fn a_body_that_ends_too_early_is_not_taken() {
    let scene = Scene::shipped();
    let mut stream = connect(scene.gateway.webhooks);
    let request = head("/hooks/github", &[("Content-Length", "100"), ("X-GitHub-Event", "ping")]);
    stream.write_all(format!("{request}{{\"zen\"").as_bytes()).expect("to write");
    stream.shutdown(std::net::Shutdown::Write).expect("to close");
    let answer = rest(&mut stream);
    assert!(status(&answer).is_none_or(|code| (400..500).contains(&code)), "{answer}");
    let broken = head("/hooks/github", &[("Transfer-Encoding", "chunked")]) + "zz\r\nhello\r\n";
    let answer = exchange(scene.gateway.webhooks, broken.as_bytes());
    assert_eq!(status(&answer), Some(400), "{answer}");
    unharmed(&scene);
}

#[test]
fn a_body_announced_as_too_large_is_refused_before_it_comes() {
    let scene = Scene::shipped();
    let request = head("/hooks/github", &[("Content-Length", "99999999999")]);
    let answer = exchange(scene.gateway.webhooks, request.as_bytes());
    assert_eq!(status(&answer), Some(413), "{answer}");
    unharmed(&scene);
}

#[test]
fn a_sender_that_asks_first_is_told_to_go_on() {
    let scene = Scene::shipped();
    let body = br#"{"zen":"x"}"#;
    let signature = sign_github(SECRET, body);
    let length = body.len().to_string();
    let headers = [
        ("Content-Length", length.as_str()),
        ("X-GitHub-Event", "ping"),
        ("X-Hub-Signature-256", &signature),
        ("Expect", "100-continue"),
    ];
    let mut stream = connect(scene.gateway.webhooks);
    stream.write_all(head("/hooks/github", &headers).as_bytes()).expect("to write");
    let mut go_on = [0; 25];
    stream.read_exact(&mut go_on).expect("an interim answer");
    assert_eq!(String::from_utf8_lossy(&go_on), "HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(body).expect("to write");
    let answer = rest(&mut stream);
    assert_eq!(status(&answer), Some(200), "{answer}");
    let told = scene.ntfy.wait_for_messages(1, crate::support::wait::PATIENCE);
    assert_eq!(told[0]["message"], "Webhook connected\nx");
}

#[test]
fn one_connection_takes_many_webhooks_and_survives_a_refusal() {
    let scene = Scene::shipped();
    let mut stream = connect(scene.gateway.webhooks);
    let refused = "POST /hooks/github HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}";
    stream.write_all(refused.repeat(3).as_bytes()).expect("to write");
    stream.write_all(head("/nowhere", &[("Content-Length", "2")]).as_bytes()).expect("to write");
    stream.write_all(b"{}").expect("to write");
    let answer = rest(&mut stream);
    let codes: Vec<_> = answer.split("HTTP/1.1 ").skip(1).map(|part| part[..3].to_owned()).collect();
    assert_eq!(codes, ["401", "401", "401", "404"], "{answer}");
    unharmed(&scene);
}

#[test]
fn more_connections_than_descriptors_stop_nothing_for_long() {
    let scene = Scene::start(Gateway::shipped().through(&["prlimit", "--nofile=100:100"]));
    let held: Vec<_> = (0..120).map(|_| connect(scene.gateway.webhooks)).collect();
    drop(held);
    unharmed(&scene);
}
