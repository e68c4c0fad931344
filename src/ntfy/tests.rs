//! Publishing over real sockets.

use std::cell::Cell;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};

use super::testing::{Act, Server, answer};
use super::{Answer, Cause, Failure, Publisher};
use crate::rules::target::Target;
use crate::secret::Secret;

const STORED: &str = r#"{"id":"abc"}"#;

fn publisher() -> Publisher {
    Publisher::new(RootCertStore::empty())
}

fn stored() -> Act {
    Act::Answer(answer("200 OK", "", STORED))
}

fn delivered() -> Answer {
    Answer::Delivered { receipt: Some("abc".to_owned()) }
}

fn failed(cause: Cause, reason: &str) -> Answer {
    Answer::Failed(Failure { cause, reason: reason.to_owned(), after: None })
}

fn unreachable(reason: &str) -> Answer {
    failed(Cause::Unreachable, reason)
}

fn failing(reason: &str) -> Answer {
    failed(Cause::Failing, reason)
}

#[actix_web::test]
async fn a_publish_posts_the_json_at_the_root_with_the_credentials() {
    let server = Server::start(|_, _| stored()).await;
    let authorization = Some(Secret::new("Bearer tk_1"));
    let target = Target { authorization, ..server.target() };
    assert_eq!(publisher().publish(&target, r#"{"topic":"ci"}"#, false).await, delivered());
    let request = server.seen.borrow().requests[0].clone();
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    let head = head.to_lowercase();
    assert!(head.starts_with("post / http/1.1\r\n"), "{head}");
    assert!(head.contains("\r\nauthorization: bearer tk_1"), "{head}");
    assert!(head.contains("\r\ncontent-type: application/json"), "{head}");
    assert!(head.contains("\r\nuser-agent: hookbell/"), "{head}");
    assert_eq!(body, r#"{"topic":"ci"}"#);
}

#[actix_web::test]
async fn one_connection_serves_answers_of_every_kind() {
    let server = Server::start(|_, request| {
        let body = "x".repeat(40_000);
        Act::Answer(match request {
            0 => answer("500 Internal Server Error", "", r#"{"code":50001,"http":500,"error":"oops"}"#),
            1 => answer("401 Unauthorized", "", r#"{"code":40101,"http":401,"error":"unauthorized"}"#),
            2 => answer("502 Bad Gateway", "", &body),
            3 => answer("429 Too Many Requests", "Retry-After: 3\r\n", ""),
            4 => answer("301 Moved Permanently", "Location: /elsewhere\r\n", ""),
            5 => "HTTP/1.1 204 No Content\r\n\r\n".to_owned(),
            _ => answer("200 OK", "", STORED),
        })
    })
    .await;
    let (publisher, target) = (publisher(), server.target());
    let mut answers = Vec::new();
    for _ in 0..7 {
        answers.push(publisher.publish(&target, "{}", false).await);
    }
    let expected = [
        failing("50001 oops"),
        failed(Cause::Misconfigured { by_ntfy: true }, "40101 unauthorized"),
        unreachable("502 Bad Gateway, not in ntfy's words"),
        Answer::Failed(Failure {
            cause: Cause::Limited { paced: false },
            reason: "429 Too Many Requests, not in ntfy's words".to_owned(),
            after: Some(Duration::from_secs(3)),
        }),
        failed(
            Cause::Misconfigured { by_ntfy: false },
            "301 Moved Permanently, to `/elsewhere`; use that as the server's url",
        ),
        Answer::Delivered { receipt: None },
        delivered(),
    ];
    assert_eq!(answers, expected);
    // Seven requests for seven attempts: the redirect was not followed.
    let seen = server.seen.borrow();
    assert_eq!((seen.accepted, seen.requests.len()), (1, 7));
}

#[actix_web::test]
async fn an_answer_without_an_end_is_given_up() {
    let endless = answer("500 Internal Server Error", "", &"x".repeat(200_000));
    let server = Server::start(move |_, request| match request {
        0 => Act::Answer(endless.clone()),
        _ => stored(),
    })
    .await;
    let publisher = publisher();
    let first = publisher.publish(&server.target(), "{}", false).await;
    assert_eq!(first, failing("500 Internal Server Error, not in ntfy's words"));
    assert_eq!(publisher.publish(&server.target(), "{}", false).await, delivered());
    assert_eq!(server.seen.borrow().accepted, 2);
}

#[actix_web::test]
async fn a_server_that_hangs_costs_the_target_s_timeout() {
    let cut_short = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{".to_owned();
    let server = Server::start(move |_, request| match request {
        0 => Act::Hang,
        _ => Act::Answer(cut_short.clone()),
    })
    .await;
    let target = Target { timeout: Duration::from_millis(100), ..server.target() };
    let publisher = publisher();
    assert_eq!(publisher.publish(&target, "{}", false).await, failing("no complete answer within 100ms"));
    assert_eq!(publisher.publish(&target, "{}", false).await, failing("no complete answer within 100ms"));
}

#[actix_web::test]
async fn a_connection_that_closed_while_idle_is_replaced_at_once() {
    let mut server = Server::start(|_, _| Act::AnswerThenClose(answer("200 OK", "", STORED))).await;
    let (publisher, target) = (publisher(), server.target());
    for n in 1..=5 {
        assert_eq!(publisher.publish(&target, "{}", false).await, delivered());
        server.until(|seen| seen.closed_by_us == n).await;
    }
    assert_eq!(server.seen.borrow().requests.len(), 5);
}

#[actix_web::test]
async fn a_kept_connection_that_closes_under_the_request_is_replaced_at_once() {
    // Every connection serves one request and drops the next one unanswered.
    let served = Cell::new(None);
    let server = Server::start(move |connection, _| {
        if served.replace(Some(connection)) == Some(connection) { Act::Close } else { stored() }
    })
    .await;
    let (publisher, target) = (publisher(), server.target());
    for _ in 0..3 {
        assert_eq!(publisher.publish(&target, "{}", false).await, delivered());
    }
    let seen = server.seen.borrow();
    assert_eq!((seen.accepted, seen.requests.len()), (3, 5));
}

#[actix_web::test]
async fn a_server_that_always_closes_unanswered_is_left_to_the_backoff() {
    let server = Server::start(|_, _| Act::Close).await;
    let answer = publisher().publish(&server.target(), "{}", false).await;
    assert_eq!(answer, unreachable("the connection was closed before an answer"));
    assert_eq!(server.seen.borrow().requests.len(), 3);
    assert_eq!(publisher().publish(&server.target(), "{}", true).await, answer);
    assert_eq!(server.seen.borrow().requests.len(), 4, "a probe is one request");
}

#[actix_web::test]
async fn a_server_that_is_not_there_is_tried_later() {
    let server = Server::start(|_, _| stored()).await;
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let target = Target { url: format!("http://{nobody}/"), ..server.target() };
    match publisher().publish(&target, "{}", false).await {
        Answer::Failed(Failure { cause: Cause::Unreachable, reason, .. }) => {
            assert!(reason.starts_with("cannot connect: "), "{reason}");
        }
        other => panic!("{other:?}"),
    }
}

#[actix_web::test]
async fn something_that_does_not_speak_http_is_tried_later() {
    let server = Server::start(|_, _| Act::Answer("220 mail.example ESMTP\r\n\r\n".to_owned())).await;
    match publisher().publish(&server.target(), "{}", false).await {
        Answer::Failed(Failure { cause: Cause::Failing, reason, .. }) => {
            assert!(reason.starts_with("not an HTTP answer"), "{reason}")
        }
        other => panic!("{other:?}"),
    }
}

#[actix_web::test]
async fn an_https_server_is_reached_through_a_trusted_root_only() {
    let port = serve_tls_once_each(2);
    let any = Server::start(|_, _| stored()).await.target();
    let target = Target { url: format!("https://localhost:{port}/"), ..any };
    let refused = publisher().publish(&target, "{}", false).await;
    assert_eq!(refused, unreachable("cannot connect: invalid peer certificate: UnknownIssuer"));
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(CERTIFICATE)).unwrap();
    assert_eq!(Publisher::new(roots).publish(&target, "{}", false).await, delivered());
}

/// A self-signed certificate of `localhost`, valid for a century.
const CERTIFICATE: &[u8] = include_bytes!("testing/localhost.crt.der");
const KEY: &[u8] = include_bytes!("testing/localhost.key.der");

/// Serves one request on each of `connections` connections, on a thread of its own.
fn serve_tls_once_each(connections: usize) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![CertificateDer::from(CERTIFICATE)], PrivatePkcs8KeyDer::from(KEY).into())
        .unwrap();
    let config = Arc::new(config);
    std::thread::spawn(move || {
        for stream in listener.incoming().take(connections) {
            let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = StreamOwned::new(connection, stream.unwrap());
            // The client that trusts nothing ends the handshake here.
            if stream.read(&mut [0; 4096]).is_ok() {
                stream.write_all(answer("200 OK", "Connection: close\r\n", STORED).as_bytes()).unwrap();
            }
        }
    });
    port
}
