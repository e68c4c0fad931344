//! A client that hides nothing: one request, and what came back up to the end of the answer.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use fake_ntfy::FakeNtfy;
use serde_json::Value;

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("not JSON: {e}: {}", self.body))
    }
}

pub(crate) fn connect(server: &FakeNtfy) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    stream
}

pub(crate) fn post(server: &FakeNtfy, path: &str, body: &str) -> Option<Answer> {
    send(&mut connect(server), "POST", path, "", body)
}

/// The answer, or none when the connection ended first.
pub(crate) fn send(
    stream: &mut TcpStream,
    method: &str,
    path: &str,
    headers: &str,
    body: &str,
) -> Option<Answer> {
    let length = body.len();
    let head = format!("{method} {path} HTTP/1.1\r\nHost: ntfy\r\nContent-Length: {length}\r\n{headers}\r\n");
    stream.write_all(format!("{head}{body}").as_bytes()).ok()?;
    let mut received = Vec::new();
    while !complete(&received) {
        let mut part = [0; 4096];
        match stream.read(&mut part) {
            Ok(0) => return None,
            Ok(n) => received.extend_from_slice(&part[..n]),
            Err(e) if e.kind() == std::io::ErrorKind::ConnectionReset => return None,
            Err(e) => panic!("no answer: {e}"),
        }
    }
    let text = String::from_utf8(received).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Some(Answer { status, head: head.to_lowercase(), body: body.into() })
}

fn complete(received: &[u8]) -> bool {
    let text = String::from_utf8_lossy(received).to_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    body.len() >= length.map_or(0, |length| length.parse().unwrap())
}
