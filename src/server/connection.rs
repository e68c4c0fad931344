//! Connections of senders: counted while they live, and closed when they keep their place for nothing.
//!
//! actix-http gives a time limit to the first head of a connection only: half of a second one would hold its place for
//! ever, and enough of them would shut everyone else out.

use std::any::Any;
use std::cell::Cell;
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::rc::{Rc, Weak};
use std::time::Duration;

use actix_web::HttpRequest;
use actix_web::dev::Extensions;
use actix_web::rt::net;
use actix_web::rt::task::JoinHandle;
use prometheus_client::metrics::gauge::Gauge;
use tokio::time::{Instant, sleep_until};

/// File descriptors that a connection takes: its own, and one to close it by.
pub(super) const DESCRIPTORS: u64 = 2;

/// Lives in a connection's extensions and so exactly as long as it.
struct Connection {
    gauge: Gauge,
    socket: Option<TcpStream>,
    /// When its latest request ended; none while one is under way, and before the first.
    idle_since: Cell<Option<Instant>>,
    watch: Cell<Option<JoinHandle<()>>>,
}

/// Counts a new connection and bounds the time from the end of a request to the head of the next.
pub(super) fn opened(socket: &dyn Any, extensions: &mut Extensions, gauge: &Gauge, most_idle: Duration) {
    gauge.inc();
    let socket = socket.downcast_ref::<net::TcpStream>();
    let connection = Rc::new(Connection {
        gauge: gauge.clone(),
        socket: socket.and_then(|socket| socket.as_fd().try_clone_to_owned().ok()).map(TcpStream::from),
        idle_since: Cell::new(None),
        watch: Cell::new(None),
    });
    connection.watch.set(Some(actix_web::rt::spawn(watch(Rc::downgrade(&connection), most_idle))));
    extensions.insert(connection);
}

/// A request under way on its connection, until dropped.
pub(super) struct InFlight(Rc<Connection>);

impl InFlight {
    pub(super) fn on_connection_of(request: &HttpRequest) -> Option<Self> {
        let connection = request.conn_data::<Rc<Connection>>()?.clone();
        connection.idle_since.set(None);
        Some(Self(connection))
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.idle_since.set(Some(Instant::now()));
    }
}

async fn watch(connection: Weak<Connection>, most_idle: Duration) {
    let mut look = Instant::now() + most_idle;
    loop {
        sleep_until(look).await;
        let Some(connection) = connection.upgrade() else { return };
        let now = Instant::now();
        look = connection.idle_since.get().unwrap_or(now) + most_idle;
        if look <= now {
            // Whatever is half sent is not worth an answer. An error says that the sender was faster.
            let _ = connection.socket.as_ref().map(|socket| socket.shutdown(Shutdown::Both));
            return;
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.gauge.dec();
        if let Some(watch) = self.watch.take() {
            watch.abort();
        }
    }
}
