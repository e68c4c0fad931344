//! The listeners: webhooks on one, operators on the other.

mod accept;
mod admin;
pub mod api;
mod body;
mod client;
mod connection;
mod error;
mod handshake;
mod ingest;
mod replay;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::Server;
use actix_web::{App, HttpServer, web};
use ipnet::IpNet;

pub use self::admin::Admin;
pub use self::ingest::NOTIFICATIONS;
pub use self::replay::{Replayed, decide_again, replay};
use crate::metrics::Metrics;
use crate::outbox::Outbox;
use crate::rules::live::Live;

/// Everything a webhook needs on its way.
#[derive(Debug)]
pub struct Gateway {
    /// The rules in force.
    pub live: Arc<Live>,
    /// Where notifications are kept until ntfy has them.
    pub outbox: Outbox,
    /// Counts.
    pub metrics: Arc<Metrics>,
    /// What a sender may ask for.
    pub limits: Limits,
    /// Proxies whose word on the sender's address counts.
    pub proxies: Vec<IpNet>,
}

/// File descriptors that a sender's connection takes.
pub const DESCRIPTORS_BY_CONNECTION: u64 = connection::DESCRIPTORS;

/// What a sender may ask for.
#[derive(Debug, Clone)]
pub struct Limits {
    /// The largest body in bytes, also after unpacking.
    pub body: usize,
    /// Until a request's head is complete.
    pub head_time: Duration,
    /// Until a request's body is complete.
    pub body_time: Duration,
    /// How long a connection may idle between requests.
    pub keep_alive: Duration,
    /// Open connections, over all workers.
    pub connections: usize,
    /// How long a stop waits for requests in flight.
    pub grace: Duration,
}

/// The listener for webhooks, bound but not yet running.
///
/// # Errors
/// When an address is taken or not ours.
pub fn bind_webhooks(
    gateway: Arc<Gateway>,
    listen: &[SocketAddr],
    workers: usize,
) -> io::Result<(Server, Vec<SocketAddr>)> {
    let limits = gateway.limits.clone();
    let gauge = gateway.metrics.connections.clone();
    let most_idle = limits.keep_alive + limits.head_time;
    let data = web::Data::from(gateway);
    let mut server =
        HttpServer::new(move || App::new().app_data(data.clone()).default_service(web::to(ingest::ingest)))
            .workers(workers)
            .client_request_timeout(limits.head_time)
            .client_disconnect_timeout(Duration::from_secs(1))
            .keep_alive(limits.keep_alive)
            // A sender that half-closes after its request gets its answer; one that is gone frees its place at once.
            .h1_allow_half_closed(false)
            .max_connections(limits.connections.div_ceil(workers))
            .shutdown_timeout(limits.grace.as_secs().max(1))
            .on_connect(move |socket, extensions| connection::opened(socket, extensions, &gauge, most_idle))
            .disable_signals();
    for address in listen {
        server = server.bind(address)?;
    }
    let addresses = server.addrs();
    Ok((server.run(), addresses))
}

/// The listener for operators.
///
/// # Errors
/// When the address is taken or not ours.
pub fn bind_admin(admin: Admin, listen: SocketAddr) -> io::Result<(Server, Vec<SocketAddr>)> {
    let data = web::Data::new(admin);
    let server = HttpServer::new(move || {
        App::new().app_data(data.clone()).configure(admin::routes).configure(api::routes)
    })
    .workers(1)
    .max_connections(64)
    .shutdown_timeout(1)
    .disable_signals()
    .bind(listen)?;
    let addresses = server.addrs();
    Ok((server.run(), addresses))
}
