//! A raw TCP server for tests, which does to a connection what no HTTP server would.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::rc::Rc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::rules::target::Target;

/// What the server does with a request.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    /// Answers with these bytes and keeps the connection.
    Answer(String),
    /// Answers with these bytes and closes without having said so.
    AnswerThenClose(String),
    /// Closes unanswered.
    Close,
    /// Never answers.
    Hang,
}

/// What the server saw so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen {
    pub(crate) accepted: usize,
    pub(crate) open: usize,
    pub(crate) most_open: usize,
    pub(crate) closed_by_us: usize,
    /// Whole requests, head and body.
    pub(crate) requests: Vec<String>,
}

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    /// Never hold a borrow of it across an await: the server, on the same thread, would block on it.
    pub(crate) seen: watch::Receiver<Seen>,
}

impl Server {
    /// Serves on the current `LocalSet`. `script` gets the number of the connection and that of the
    /// request, both from 0, over all connections.
    pub(crate) async fn start(script: impl Fn(usize, usize) -> Act + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, seen) = watch::channel(Seen::default());
        let (script, sender) = (Rc::new(script), Rc::new(sender));
        actix_rt::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let connection = sender.borrow().accepted;
                sender.send_modify(|seen| {
                    seen.accepted += 1;
                    seen.open += 1;
                    seen.most_open = seen.most_open.max(seen.open);
                });
                actix_rt::spawn(serve(stream, connection, Rc::clone(&script), Rc::clone(&sender)));
            }
        });
        Self { address, seen }
    }

    /// Resolves once `condition` holds.
    pub(crate) async fn until(&mut self, condition: impl FnMut(&Seen) -> bool) {
        self.seen.wait_for(condition).await.unwrap();
    }

    pub(crate) fn target(&self) -> Target {
        Target {
            connections: NonZeroUsize::new(4).unwrap(),
            timeout: Duration::from_secs(20),
            ..Target::new("main", format!("http://{}/", self.address))
        }
    }
}

/// An HTTP/1.1 answer with a JSON or HTML body.
pub(crate) fn answer(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n{body}", body.len())
}

async fn serve(
    mut stream: TcpStream,
    connection: usize,
    script: Rc<impl Fn(usize, usize) -> Act>,
    seen: Rc<watch::Sender<Seen>>,
) {
    while let Some(request) = read_request(&mut stream).await {
        let number = seen.borrow().requests.len();
        seen.send_modify(|seen| seen.requests.push(request));
        match script(connection, number) {
            Act::Answer(bytes) => stream.write_all(bytes.as_bytes()).await.unwrap(),
            Act::AnswerThenClose(bytes) => {
                stream.write_all(bytes.as_bytes()).await.unwrap();
                break;
            }
            Act::Close => break,
            Act::Hang => std::future::pending().await,
        }
    }
    drop(stream);
    seen.send_modify(|seen| {
        seen.open -= 1;
        seen.closed_by_us += 1;
    });
}

async fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        if let Some(head) = bytes.windows(4).position(|end| end == b"\r\n\r\n") {
            let text = String::from_utf8_lossy(&bytes[..head]).to_lowercase();
            let (_, length) = text.split_once("content-length: ")?;
            let length: usize = length.split("\r\n").next()?.parse().ok()?;
            if bytes.len() >= head + 4 + length {
                return String::from_utf8(bytes).ok();
            }
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}
