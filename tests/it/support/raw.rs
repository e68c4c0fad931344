//! HTTP by hand over one connection: for heads cut in half, slow bodies and connections that are kept.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

use super::Answer;
use super::wait::PATIENCE;

/// One connection to a listener.
pub struct Connection(BufReader<TcpStream>);

impl Connection {
    pub fn open(to: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&to, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(Self(BufReader::new(stream)))
    }

    /// Sends bytes as they are.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.0.get_mut().write_all(bytes.as_ref())
    }

    /// Reads one answer.
    pub fn answer(&mut self) -> io::Result<Answer> {
        let broken = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
        let first = self.line()?;
        let status = first.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.ok_or_else(|| broken(&first))?;
        let mut answer = Answer { status, headers: Vec::new(), text: String::new() };
        loop {
            let line = self.line()?;
            let Some((name, value)) = line.split_once(':') else { break };
            answer.headers.push((name.to_owned(), value.trim().to_owned()));
        }
        let length = answer.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        self.0.read_exact(&mut body)?;
        answer.text = String::from_utf8(body).map_err(|_| broken("no utf-8"))?;
        Ok(answer)
    }

    /// Posts a body and reads the answer; the connection stays open.
    pub fn post(&mut self, path: &str, body: &str) -> io::Result<Answer> {
        self.send(post(path, body))?;
        self.answer()
    }

    /// Sends a head and waits until the gateway asks for the body: from then on the request is in flight.
    pub fn begin(&mut self, path: &str, length: usize) -> io::Result<()> {
        self.send(format!("POST {path} HTTP/1.1\r\nHost: t\r\nContent-Length: {length}\r\n"))?;
        self.send("Expect: 100-continue\r\n\r\n")?;
        let answer = self.answer()?;
        assert_eq!(answer.status, 100, "the gateway asks for the body");
        Ok(())
    }

    /// Whether the other side closes, with or without an answer before, within the patience of a test.
    pub fn closes(&mut self) -> bool {
        let closed = |kind| !matches!(kind, io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut);
        self.0.read_to_end(&mut Vec::new()).map_or_else(|e| closed(e.kind()), |_| true)
    }

    /// The socket, to shut one half of it.
    pub fn stream(&self) -> &TcpStream {
        self.0.get_ref()
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.0.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end().to_owned())
    }
}

/// A whole request.
pub fn post(path: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}
