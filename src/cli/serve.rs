//! `hookbell serve`: everything wired together, from start to stop.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::ServerHandle;
use actix_web::rt::task::JoinHandle;
use anyhow::{Context, Result};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Instant, timeout_at};

use super::{card, check, reach};
use crate::clock::Clock;
use crate::delivery::{self, Board, Delivery, Observer, Patience};
use crate::footprint;
use crate::logging;
use crate::metrics::Metrics;
use crate::ntfy::system_roots;
use crate::operator::Lookout;
use crate::outbox::{self, Outbox, StoreThread};
use crate::reload::{Reload, Reloader, Snapshot, load, log_sources_off};
use crate::rules::external::{Environment, ProcessEnvironment};
use crate::rules::live::Live;
use crate::server::{Admin, Gateway, bind_admin, bind_webhooks};
use crate::settings::Settings;

/// SIGXFSZ on Linux (but MIPS) and macOS.
const FILE_TOO_LARGE: i32 = 25;

pub(super) fn run(settings: &Settings) -> Result<ExitCode> {
    logging::init(settings.log_format.into());
    let compiled_from = Snapshot::of(&settings.rules);
    let live = match load(&settings.rules, &ProcessEnvironment, settings.require_tests) {
        Ok(set) => Arc::new(Live::new(set)),
        Err(problems) => {
            eprint!("{}", check::report(&problems));
            return Ok(ExitCode::FAILURE);
        }
    };
    actix_web::rt::System::new().block_on(async {
        let loaded = Loaded { live, compiled_from, environment: Arc::new(ProcessEnvironment) };
        let mut signals = Signals::listen().context("cannot listen for signals")?;
        let gateway = Running::start(settings, loaded, None)?;
        gateway.until_told_to_stop(&mut signals).await;
        gateway.stop().await;
        Ok(ExitCode::SUCCESS)
    })
}

/// The signals that mean something. They are listened for before anything is live: until then SIGHUP kills, and the
/// kernel keeps SIGTERM from a PID 1 without a handler of its own.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    fn listen() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }
}

/// The rules to start with, and what later ones are compiled from.
pub(super) struct Loaded {
    pub(super) live: Arc<Live>,
    /// The folder before they were compiled: what changes until it is watched is a change too.
    pub(super) compiled_from: Snapshot,
    pub(super) environment: Arc<dyn Environment + Send + Sync>,
}

/// A running gateway.
pub(super) struct Running {
    webhooks: ServerHandle,
    admin: ServerHandle,
    /// Where webhooks are taken.
    pub(super) address: std::net::SocketAddr,
    reload: Reload,
    delivery: Delivery,
    lookout: JoinHandle<()>,
    footprint: JoinHandle<()>,
    outbox: Outbox,
    store: StoreThread,
    grace: Duration,
}

impl Running {
    /// Everything that can fail is done before anything is live.
    pub(super) fn start(settings: &Settings, loaded: Loaded, observer: Option<Observer>) -> Result<Self> {
        let Loaded { live, compiled_from, environment } = loaded;
        let metrics = Arc::new(Metrics::new());
        metrics.start_time.set(outbox::unix_ms() as f64 / 1000.0);
        // With a handler, a limit on file sizes is an error of the store, which is answered, instead of our end.
        let _handled_from_here_on =
            signal(SignalKind::from_raw(FILE_TOO_LARGE)).context("cannot listen for signals")?;
        let keep_size = u64::try_from(settings.keep_size).unwrap_or(u64::MAX);
        let options = outbox::Options {
            keep: settings.keep,
            keep_size,
            set_aside: settings.set_store_aside,
            ..outbox::Options::default()
        };
        let (outbox, store) = Outbox::open(&settings.data, &options)?;
        // More descriptors than the soft limit gives; the connections are bounded by what it then is.
        let files = rlimit::increase_nofile_limit(u64::MAX).unwrap_or(1024);
        let gateway = Arc::new(Gateway {
            live: live.clone(),
            outbox: outbox.clone(),
            metrics: metrics.clone(),
            limits: settings.limits(files),
            proxies: settings.trusted_proxy.clone(),
        });
        let (webhooks, addresses) = bind_webhooks(gateway.clone(), &settings.listen, settings.workers())
            .with_context(|| format!("cannot listen for webhooks on {}", list(&settings.listen)))?;
        let reloader = Reloader {
            folder: settings.rules.clone(),
            compiled_from,
            require_tests: settings.require_tests,
            environment,
            live: live.clone(),
            metrics: metrics.clone(),
        };
        let reload = reloader.start(settings.watch.into()).with_context(|| {
            format!(
                "cannot watch the rules folder {:?}; try --watch poll",
                settings.rules.display().to_string()
            )
        })?;
        let board = Arc::new(Board::default());
        let operators =
            Admin { gateway, reload: reload.clone(), board: board.clone(), data: settings.data.clone() };
        let (admin, admin_addresses) = bind_admin(operators, settings.admin)
            .with_context(|| format!("cannot listen for operators on {}", settings.admin))?;
        reach::announce(&settings.data, &admin_addresses);
        let options = delivery_options(observer, board.clone());
        let delivery = Delivery::start(outbox.clone(), live.targets(), metrics, options);
        let watch =
            Lookout { live: live.clone(), outbox: outbox.clone(), board, data: settings.data.clone() };
        let lookout = watch.start();
        announce(&live, &addresses, &admin_addresses);
        let (webhooks_handle, admin_handle) = (webhooks.handle(), admin.handle());
        actix_web::rt::spawn(webhooks);
        actix_web::rt::spawn(admin);
        Ok(Self {
            webhooks: webhooks_handle,
            admin: admin_handle,
            address: addresses.first().copied().context("no address to listen on")?,
            reload,
            delivery,
            lookout,
            footprint: footprint::keep_small(),
            outbox,
            store,
            grace: settings.grace,
        })
    }

    /// Serves until SIGTERM or SIGINT; SIGHUP reloads.
    async fn until_told_to_stop(&self, signals: &mut Signals) {
        loop {
            tokio::select! {
                _ = signals.terminate.recv() => break,
                _ = signals.interrupt.recv() => break,
                _ = signals.hangup.recv() => {
                    let reload = self.reload.clone();
                    actix_web::rt::spawn(async move { reload.now().await });
                }
            }
        }
        tracing::info!("stopping: no new webhooks, finishing what is in flight");
    }

    /// Stops taking webhooks, finishes requests, then deliveries, both within one grace; the rest stays in the store.
    pub(super) async fn stop(self) {
        let end = Instant::now() + self.grace;
        self.lookout.abort();
        self.footprint.abort();
        let _ = timeout_at(end, self.webhooks.stop(true)).await;
        self.delivery.stop(end.saturating_duration_since(Instant::now())).await;
        self.admin.stop(false).await;
        let waiting = self.outbox.depth().await.map_or(0, |depth| depth.waiting);
        drop(self.outbox);
        self.store.close().await;
        tracing::info!(waiting, "stopped");
    }
}

fn delivery_options(observer: Option<Observer>, board: Arc<Board>) -> delivery::Options {
    delivery::Options {
        patience: Patience::default(),
        clock: Clock::system(),
        roots: system_roots(),
        terminal: Arc::new(|payload| {
            let notification = serde_json::from_str(payload).unwrap_or_default();
            anstream::println!("{}", card::draw(&notification));
        }),
        observer,
        board,
    }
}

fn announce(live: &Live, webhooks: &[std::net::SocketAddr], admin: &[std::net::SocketAddr]) {
    let set = live.current();
    log_sources_off(&set);
    for warning in set.warnings() {
        let place = warning.place.as_ref().map(ToString::to_string).unwrap_or_default();
        tracing::warn!(place, "{}: {}", warning.message, warning.help.as_deref().unwrap_or_default());
    }
    if set.targets().is_empty() {
        tracing::warn!("no ntfy server: notifications are printed here; set NTFY_URL to send them");
    }
    tracing::info!(
        webhooks = list(webhooks),
        admin = list(admin),
        sources = set.sources().len(),
        rules = set.rule_count(),
        "hookbell {} is ready",
        env!("CARGO_PKG_VERSION")
    );
}

fn list(addresses: &[std::net::SocketAddr]) -> String {
    addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
