//! TCP connections: counted while they live, and closed at will.

use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

/// Every connection open now, and how many there have been.
#[derive(Clone, Default)]
pub(crate) struct Connections(Arc<Mutex<Open>>);

#[derive(Default)]
struct Open {
    next: u64,
    streams: std::collections::HashMap<u64, Weak<Connection>>,
    peak: u64,
    total: u64,
}

/// One connection. It lives in the server's connection data, so it is dropped when the connection is.
pub(crate) struct Connection {
    id: u64,
    /// A second descriptor of the same socket: shutting it down closes the connection under the server's feet.
    stream: Option<TcpStream>,
    requests: AtomicU64,
    all: Connections,
}

impl Connections {
    fn open(&self) -> std::sync::MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Begins to count a connection.
    pub(crate) fn add(&self, socket: &impl AsFd) -> Arc<Connection> {
        let stream = socket.as_fd().try_clone_to_owned().ok().map(TcpStream::from);
        let mut open = self.open();
        open.next += 1;
        open.total += 1;
        let connection = Connection { id: open.next, stream, requests: AtomicU64::new(0), all: self.clone() };
        let connection = Arc::new(connection);
        open.streams.insert(connection.id, Arc::downgrade(&connection));
        open.peak = open.peak.max(open.streams.len() as u64);
        connection
    }

    /// Open now, most at once, ever.
    pub(crate) fn counts(&self) -> [u64; 3] {
        let open = self.open();
        [open.streams.len() as u64, open.peak, open.total]
    }

    /// Forgets the past; connections open now stay counted.
    pub(crate) fn reset(&self) {
        let mut open = self.open();
        open.peak = open.streams.len() as u64;
        open.total = open.peak;
    }

    /// Closes every connection.
    pub(crate) fn close_all(&self) {
        // Collected first: a connection dropped here locks the same table.
        let connections: Vec<_> = self.open().streams.values().filter_map(Weak::upgrade).collect();
        connections.iter().for_each(|connection| connection.close());
    }

    /// Closes every connection and waits until none is left, but not longer than `most`.
    pub(crate) fn close_all_and_wait(&self, most: Duration) {
        let start = Instant::now();
        while self.counts()[0] > 0 && start.elapsed() < most {
            self.close_all();
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Connection {
    /// Closes the connection; the other side sees an end without an answer.
    pub(crate) fn close(&self) {
        if let Some(stream) = &self.stream {
            // Already closed by the other side: nothing is left to do.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    pub(crate) fn begin_request(&self) {
        self.requests.fetch_add(1, Relaxed);
    }

    /// Closes the connection unless another request begins within `idle`.
    pub(crate) fn close_when_idle(self: &Arc<Self>, idle: Duration) {
        let (connection, seen) = (Arc::downgrade(self), self.requests.load(Relaxed));
        actix_web::rt::spawn(async move {
            actix_web::rt::time::sleep(idle).await;
            if let Some(connection) = connection.upgrade().filter(|c| c.requests.load(Relaxed) == seen) {
                connection.close();
            }
        });
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.all.open().streams.remove(&self.id);
    }
}
