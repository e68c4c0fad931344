//! What an attempt's end is told to: the metrics, the log and the observer.

use std::rc::Rc;
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use tokio::time::Instant;

use super::{DeliveryEvent, Outcome, Shared};
use crate::metrics::{ByServer, Metrics, Settled, State};

/// A server that failed within this time is still called failing. Without it, a server that fails
/// every other attempt would fill the log.
const CALM: Duration = Duration::from_secs(10);

/// Tells of one server's attempts.
pub(super) struct Report {
    shared: Rc<Shared>,
    delivered: Counter,
    retried: Counter,
    dead: Counter,
    seconds: Histogram,
    in_flight: Gauge,
    /// The latest failure, while the server is called failing.
    failed_at: Option<Instant>,
}

impl Report {
    pub(super) fn new(server: &str, shared: &Rc<Shared>) -> Self {
        let metrics: &Metrics = &shared.metrics;
        let label = ByServer { server: server.to_owned() };
        let counter = |state| {
            let labels = Settled { server: server.to_owned(), state };
            metrics.notifications.get_or_create(&labels).clone()
        };
        Self {
            delivered: counter(State::Delivered),
            retried: counter(State::Retried),
            dead: counter(State::Dead),
            seconds: metrics.delivery_seconds.get_or_create(&label).clone(),
            in_flight: metrics.deliveries_in_flight.get_or_create(&label).clone(),
            failed_at: None,
            shared: Rc::clone(shared),
        }
    }

    /// Counts an attempt as in flight until the guard's end.
    pub(super) fn attempt(&self) -> InFlight {
        self.in_flight.inc();
        InFlight(self.in_flight.clone())
    }

    /// Tells everyone of an attempt's end.
    pub(super) fn ended(&mut self, event: &DeliveryEvent<'_>) {
        self.seconds.observe(event.took.as_secs_f64());
        match event.outcome {
            Outcome::Delivered { receipt } => self.delivered(event, receipt),
            Outcome::Retried { wait, reason } => self.retried(event, wait, reason),
            Outcome::Dead { reason } => self.dead(event, reason),
        }
        if let Some(observe) = &self.shared.options.observer {
            observe(event);
        }
    }

    fn delivered(&mut self, event: &DeliveryEvent<'_>, receipt: Option<&str>) {
        self.delivered.inc();
        self.answered(event.server);
        let DeliveryEvent { id, server, source, rule, topic, attempts, took, .. } = event;
        tracing::debug!(%id, server, source, rule, topic, attempts, ?took, receipt, "notification delivered");
    }

    fn retried(&mut self, event: &DeliveryEvent<'_>, wait: Duration, reason: &str) {
        self.retried.inc();
        let DeliveryEvent { id, server, source, rule, topic, attempts, .. } = event;
        if self.failed_at.replace(Instant::now()).is_none() {
            tracing::warn!(server, reason, "ntfy server is failing, its notifications wait and are retried");
        }
        tracing::debug!(%id, server, source, rule, topic, attempts, reason, ?wait, "notification will be retried");
    }

    fn dead(&mut self, event: &DeliveryEvent<'_>, reason: &str) {
        self.dead.inc();
        self.answered(event.server);
        let DeliveryEvent { id, server, source, rule, topic, attempts, .. } = event;
        tracing::warn!(%id, server, source, rule, topic, attempts, reason, "notification refused for good");
    }

    fn answered(&mut self, server: &str) {
        if self.failed_at.is_some_and(|at| at.elapsed() >= CALM) {
            self.failed_at = None;
            tracing::info!(server, "ntfy server answers again");
        }
    }
}

/// One attempt under way.
pub(super) struct InFlight(Gauge);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.dec();
    }
}
