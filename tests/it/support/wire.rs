//! HTTP as bytes, for what no client would send.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};

use super::wait::PATIENCE;

/// Opens a connection whose reads fail the test rather than hang.
pub fn connect(to: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(to).expect("to connect");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream.set_write_timeout(Some(PATIENCE)).expect("a timeout");
    stream
}

/// Sends bytes and returns everything until the gateway closes. It may close before it has read all.
pub fn exchange(to: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = connect(to);
    let _ = stream.write_all(bytes);
    rest(&mut stream)
}

/// What a connection still brings until it is closed.
pub fn rest(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        match stream.read(&mut chunk) {
            Ok(0) => break,
            Ok(read) => answer.extend_from_slice(&chunk[..read]),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => break,
            Err(error) => panic!("no end of the answer ({error}): {}", String::from_utf8_lossy(&answer)),
        }
    }
    String::from_utf8_lossy(&answer).into_owned()
}

/// The status of an answer as bytes.
pub fn status(answer: &str) -> Option<u16> {
    answer.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()
}
