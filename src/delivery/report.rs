//! What an attempt's end is told to: the metrics, the log and the observer.

use std::rc::Rc;
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;

use super::upkeep::Upkeep;
use super::{DeliveryEvent, Outcome, Shared, Trouble, Why};
use crate::metrics::{ByServer, Metrics, Settled, State};

/// Tells of one server's attempts.
pub(super) struct Report {
    server: String,
    shared: Rc<Shared>,
    delivered: Counter,
    retried: Counter,
    dead: Counter,
    seconds: Histogram,
    in_flight: Gauge,
    closed: Gauge,
    /// Why the server was last said to take nothing.
    told: Option<Why>,
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
            server: server.to_owned(),
            delivered: counter(State::Delivered),
            retried: counter(State::Retried),
            dead: counter(State::Dead),
            seconds: metrics.delivery_seconds.get_or_create(&label).clone(),
            in_flight: metrics.deliveries_in_flight.get_or_create(&label).clone(),
            closed: metrics.server_closed.get_or_create(&label).clone(),
            told: None,
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

    /// Tells of a server that takes nothing, and when it does again. Not of each 429: that is its usual way.
    pub(super) fn condition(&mut self, trouble: Option<&Trouble>) {
        self.closed.set(i64::from(trouble.is_some()));
        let why = trouble.map(|trouble| trouble.why).filter(|why| *why != Why::Limited);
        if self.told == why {
            return;
        }
        self.told = why;
        let server = &self.server;
        match trouble {
            Some(Trouble { why: Why::Down, reason, .. }) => {
                tracing::warn!(server, reason, "ntfy server is down, its notifications wait");
            }
            Some(Trouble { why: Why::Refused, reason, .. }) => tracing::error!(
                server,
                reason,
                "ntfy server refuses us, its notifications wait: correct its url or credentials"
            ),
            Some(Trouble { why: Why::Quota, reason, .. }) => {
                tracing::warn!(
                    server,
                    reason,
                    "ntfy server's daily quota is used up, its notifications wait"
                );
            }
            _ => tracing::info!(server, "ntfy server takes notifications again"),
        }
    }

    /// Tells what became of notifications that waited too long.
    pub(super) fn upkeep(&self, done: &Upkeep) {
        let server = &self.server;
        let Upkeep { diverted: (diverted, to), expired } = done;
        if *diverted > 0 {
            tracing::warn!(server, to, notifications = diverted, "notifications go to the fallback");
        }
        if *expired > 0 {
            self.dead.inc_by(*expired as u64);
            tracing::error!(
                server,
                notifications = expired,
                "notifications waited too long, they are dead letters"
            );
        }
    }

    fn delivered(&self, event: &DeliveryEvent<'_>, receipt: Option<&str>) {
        self.delivered.inc();
        let DeliveryEvent { id, server, source, rule, topic, attempts, took, .. } = event;
        tracing::debug!(%id, server, source, rule, topic, attempts, ?took, receipt, "notification delivered");
    }

    fn retried(&self, event: &DeliveryEvent<'_>, wait: Duration, reason: &str) {
        self.retried.inc();
        let DeliveryEvent { id, server, source, rule, topic, attempts, .. } = event;
        tracing::debug!(%id, server, source, rule, topic, attempts, reason, ?wait, "notification will be retried");
    }

    fn dead(&self, event: &DeliveryEvent<'_>, reason: &str) {
        self.dead.inc();
        let DeliveryEvent { id, server, source, rule, topic, attempts, .. } = event;
        tracing::warn!(%id, server, source, rule, topic, attempts, reason, "notification refused for good");
    }
}

/// One attempt under way.
pub(super) struct InFlight(Gauge);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.dec();
    }
}
