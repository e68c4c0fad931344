//! Publishing to ntfy: one attempt, and what its answer means.
//!
//! The one HTTP client of the program lives here. It is not `Send`: whoever owns a [`Publisher`]
//! sends everything from its own thread.

mod answer;
mod tls;

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;

use actix_http::error::ParseError;
use actix_web::http::header;
use actix_web::web::{Bytes, BytesMut};
use awc::error::{ConnectError, SendRequestError};
use awc::{Client, ClientResponse, Connector};
use futures_util::Stream;
use rustls::RootCertStore;

use crate::rules::target::Target;
pub use answer::{Answer, Cause, Failure, Part};
pub use tls::system_roots;

/// Times a request is sent again at once after the server closed the connection unanswered.
const STALE_RETRIES: usize = 2;
/// How much of an answer is read. ntfy's are below 10 KiB; a longer one costs its connection.
const ANSWER_LIMIT: usize = 64 * 1024;
/// How long a connection that was given up on still counts.
const LINGER: Duration = Duration::from_millis(200);
/// Longer than any attempt may take: the target's own timeout rules.
const NO_LIMIT: Duration = Duration::from_secs(24 * 60 * 60);

/// The one HTTP client, and its connections to every server.
///
/// A server gets as many connections as there are attempts at a time, and keeps them between
/// attempts. Bounding the attempts is the caller's part: awc's own limit counts all servers
/// together, so one that hangs would take the connections of the others.
pub struct Publisher {
    client: Client,
}

impl Publisher {
    /// A client that trusts `roots` for `https` servers. Without any, only `http` works.
    pub fn new(roots: RootCertStore) -> Self {
        let connector = Connector::new()
            .rustls_0_23(tls::client_config(roots))
            .limit(0)
            // Proxies close idle connections after 3 s (hardened nginx) to 75 s (its default), and
            // Go's server, ntfy's own, after minutes. A connection that the peer closed is noticed
            // when it is taken, or sent on again at once; so this only bounds idle sockets.
            .conn_keep_alive(Duration::from_secs(30))
            // An age limit makes a changed DNS record take effect while traffic goes on.
            .conn_lifetime(Duration::from_secs(300))
            .timeout(NO_LIMIT)
            .handshake_timeout(NO_LIMIT);
        let client = Client::builder()
            .connector(connector)
            .disable_timeout()
            .disable_redirects()
            .add_default_header((header::USER_AGENT, concat!("hookbell/", env!("CARGO_PKG_VERSION"))))
            .finish();
        Self { client }
    }

    /// Makes one attempt to publish `payload`, the JSON that ntfy takes at its root, within the
    /// target's timeout. Every failure is an [`Answer`]; none is an error. A `probe` asks a server
    /// that may be down: then a closed connection is an answer too, and is not tried again at once.
    pub async fn publish(&self, target: &Target, payload: &str, probe: bool) -> Answer {
        let retries = if probe { 0 } else { STALE_RETRIES };
        let attempt = self.attempt(target, Bytes::copy_from_slice(payload.as_bytes()), retries);
        match tokio::time::timeout(target.timeout, attempt).await {
            Ok(answer) => answer,
            Err(_) => {
                // Our end is closed by now. The server needs a moment to notice, and until it has, the connection
                // counts for it: the attempt keeps its place among the connections so long.
                tokio::time::sleep(LINGER).await;
                Answer::failed(Cause::Failing, format!("no complete answer within {:?}", target.timeout))
            }
        }
    }

    async fn attempt(&self, target: &Target, payload: Bytes, retries: usize) -> Answer {
        let mut tries = 0;
        let sent = loop {
            match self.send(target, payload.clone()).await {
                Err(error) if tries < retries && closed_unanswered(&error) => tries += 1,
                sent => break sent,
            }
        };
        match sent {
            Ok(mut response) => {
                let body = read_to_end(&mut response).await;
                answer::interpret(response.status(), response.headers(), &body)
            }
            Err(error @ (SendRequestError::Response(_) | SendRequestError::Send(_)))
                if !closed_unanswered(&error) =>
            {
                Answer::failed(Cause::Failing, explain(&error))
            }
            Err(error) => Answer::failed(Cause::Unreachable, explain(&error)),
        }
    }

    async fn send(&self, target: &Target, payload: Bytes) -> Result<ClientResponse, SendRequestError> {
        let mut request =
            self.client.post(&target.url).insert_header((header::CONTENT_TYPE, "application/json"));
        if let Some(authorization) = &target.authorization {
            request = request.insert_header((header::AUTHORIZATION, authorization.expose()));
        }
        request.send_body(payload).await
    }
}

/// Whether the server closed the connection before any byte of an answer. A kept connection that
/// the server gave up just now looks like this; a new one deserves no backoff. Should the server
/// have published all the same, the sequence id makes the repeat replace the first.
fn closed_unanswered(error: &SendRequestError) -> bool {
    use std::io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected, UnexpectedEof};
    let io = match error {
        SendRequestError::Connect(ConnectError::Disconnected) => return true,
        SendRequestError::Send(io) | SendRequestError::Response(ParseError::Io(io)) => io,
        _ => return false,
    };
    matches!(io.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | NotConnected | UnexpectedEof)
}

/// In a person's words; awc's own for a closed connection speak of an internal error.
fn explain(error: &SendRequestError) -> String {
    match error {
        SendRequestError::Connect(ConnectError::Io(io)) => format!("cannot connect: {io}"),
        SendRequestError::Connect(ConnectError::Resolver(cause)) => {
            format!("cannot resolve the host: {cause}")
        }
        error if closed_unanswered(error) => "the connection was closed before an answer".to_owned(),
        SendRequestError::Connect(error) => format!("cannot connect: {error}"),
        SendRequestError::Send(io) => format!("cannot send: {io}"),
        SendRequestError::Response(error) => format!("not an HTTP answer: {error}"),
        error => error.to_string(),
    }
}

/// The body, whatever the status says: awc puts a connection back only after its last byte, and
/// closes it otherwise. What breaks off or is too long is cut: the status has said enough.
async fn read_to_end(response: &mut ClientResponse) -> Bytes {
    let mut body = BytesMut::new();
    while let Some(Ok(chunk)) = poll_fn(|cx| Pin::new(&mut *response).poll_next(cx)).await {
        body.extend_from_slice(&chunk);
        if body.len() > ANSWER_LIMIT {
            break;
        }
    }
    body.freeze()
}
