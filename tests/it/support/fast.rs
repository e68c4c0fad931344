//! A gateway within this process, whose clock runs faster than the world's: hours of limits pass in seconds.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use hookbell::clock::Clock;
use hookbell::delivery::{self, Delivery, Patience};
use hookbell::metrics::Metrics;
use hookbell::outbox::{self, Outbox};
use hookbell::rules::compile::compile_text;
use hookbell::rules::external::ProcessEnvironment;
use hookbell::rules::live::Live;
use hookbell::server::{Gateway, Limits, bind_webhooks};
use tempfile::TempDir;
use tokio::sync::oneshot;

/// A running gateway. It stops when dropped.
pub struct FastGateway {
    pub webhooks: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    _data: TempDir,
}

impl FastGateway {
    /// Starts one on these rules.
    pub fn start(rules: &str, clock: Clock) -> Self {
        let data = tempfile::tempdir().expect("a folder");
        let (outbox, store) = Outbox::open(data.path(), &outbox::Options::default()).expect("a store");
        let set = compile_text("rules/rules.yaml", rules, &ProcessEnvironment).expect("rules");
        let (stop, stopped) = oneshot::channel();
        let (tell, told) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            actix_web::rt::System::new().block_on(async move {
                let (live, metrics) = (Arc::new(Live::new(set)), Arc::new(Metrics::new()));
                let targets = live.targets();
                let delivery = Delivery::start(outbox.clone(), targets, metrics.clone(), options(clock));
                let gateway = Gateway { live, outbox, metrics, limits: limits(), proxies: Vec::new() };
                let any = "127.0.0.1:0".parse().expect("an address");
                let (server, addresses) = bind_webhooks(Arc::new(gateway), &[any], 1).expect("a listener");
                let handle = server.handle();
                actix_web::rt::spawn(server);
                tell.send(addresses[0]).expect("a listening test");
                let _ = stopped.await;
                handle.stop(false).await;
                delivery.stop(Duration::ZERO).await;
                store.close().await;
            });
        });
        let webhooks = told.recv().expect("a gateway");
        Self { webhooks, stop: Some(stop), thread: Some(thread), _data: data }
    }
}

impl Drop for FastGateway {
    fn drop(&mut self) {
        drop(self.stop.take());
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn options(clock: Clock) -> delivery::Options {
    delivery::Options {
        patience: Patience::default(),
        clock,
        roots: rustls::RootCertStore::empty(),
        terminal: Arc::new(|_| {}),
        observer: None,
        board: Arc::default(),
    }
}

fn limits() -> Limits {
    Limits {
        body: 1 << 20,
        head_time: Duration::from_secs(5),
        body_time: Duration::from_secs(5),
        keep_alive: Duration::from_secs(5),
        connections: 100,
        grace: Duration::from_secs(1),
    }
}
