//! One connection that is kept alive and opened again when the other side has closed it.

use std::io::{Error, ErrorKind, Result};
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::answer;

pub(crate) struct Connection {
    target: SocketAddr,
    stream: Option<TcpStream>,
    received: Vec<u8>,
    /// How often it was opened.
    pub(crate) opened: u64,
}

impl Connection {
    pub(crate) fn to(target: SocketAddr) -> Connection {
        Connection { target, stream: None, received: Vec::with_capacity(1024), opened: 0 }
    }

    /// Sends a request and gives the status of its answer. A connection that was closed while it idled is opened again.
    pub(crate) async fn exchange(&mut self, request: &[u8]) -> Result<u16> {
        if let Some(stream) = self.stream.take() {
            match self.exchange_on(stream, request).await {
                Err(e) if self.received.is_empty() && gone(&e) => {}
                outcome => return outcome,
            }
        }
        let stream = TcpStream::connect(self.target).await?;
        stream.set_nodelay(true)?;
        self.opened += 1;
        self.exchange_on(stream, request).await
    }

    async fn exchange_on(&mut self, mut stream: TcpStream, request: &[u8]) -> Result<u16> {
        self.received.clear();
        // Who refuses a large request may answer and close before all of it is written.
        let written = stream.write_all(request).await;
        loop {
            if let Some(answer) = answer::parse(&self.received)? {
                if answer.keep_alive && written.is_ok() && answer.length == self.received.len() {
                    self.stream = Some(stream);
                }
                return Ok(answer.status);
            }
            if stream.read_buf(&mut self.received).await? == 0 {
                written?;
                return Err(Error::new(ErrorKind::UnexpectedEof, "closed without an answer"));
            }
        }
    }
}

fn gone(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::UnexpectedEof)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;

    const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";

    /// A server whose connections each give so many answers and are then closed.
    fn server(answers: Vec<usize>) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for answers in answers {
                let mut stream = listener.accept().unwrap().0;
                for _ in 0..answers {
                    assert_ne!(stream.read(&mut [0; 1024]).unwrap(), 0);
                    stream.write_all(OK).unwrap();
                }
            }
        });
        address
    }

    async fn statuses(connection: &mut Connection, times: usize) -> Vec<Option<u16>> {
        let mut all = Vec::new();
        for _ in 0..times {
            all.push(connection.exchange(b"POST / HTTP/1.1\r\n\r\n").await.ok());
        }
        all
    }

    #[tokio::test]
    async fn a_connection_is_kept_and_opened_again_when_it_was_closed() {
        let mut connection = Connection::to(server(vec![2, 1]));
        assert_eq!(statuses(&mut connection, 3).await, [Some(200); 3]);
        assert_eq!(connection.opened, 2);
    }

    #[tokio::test]
    async fn a_new_connection_without_an_answer_is_an_error() {
        let mut connection = Connection::to(server(vec![0, 1]));
        assert_eq!(statuses(&mut connection, 2).await, [None, Some(200)]);
    }
}
