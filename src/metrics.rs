//! What `/metrics` shows. Every family carries the prefix `hookbell_`.

use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

/// The labels of `hookbell_webhooks_total`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct Received {
    /// The source's name, or `none` where no source has the path.
    pub source: String,
    /// What became of the webhook.
    pub outcome: Outcome,
}

/// What became of a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelValue)]
pub enum Outcome {
    /// At least one notification is on disk.
    Accepted,
    /// A rule dropped it, or none matched.
    Dropped,
    /// It repeats an earlier one, as its source's `dedupe` tells.
    Duplicate,
    /// The sender's mistake: 400, 401, 404, 405, 408, 413 or 415.
    Refused,
    /// The store was full or failing: 503.
    Unavailable,
}

/// The labels of `hookbell_notifications_total`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct Settled {
    /// The server's name.
    pub server: String,
    /// How an attempt or its notification ended.
    pub state: State,
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelValue)]
pub enum State {
    /// Stored, waiting for its first attempt.
    Enqueued,
    /// The server took it.
    Delivered,
    /// The attempt failed and another is due.
    Retried,
    /// No attempt can help.
    Dead,
}

/// The labels of the families kept by server.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ByServer {
    /// The server's name.
    pub server: String,
}

/// The labels of `hookbell_reloads_total`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct Reloaded {
    /// Whether the new rules took effect.
    pub result: ReloadResult,
}

/// Whether a reload took effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelValue)]
pub enum ReloadResult {
    /// The new rules serve.
    Ok,
    /// They held a mistake; the old ones go on serving.
    Rejected,
}

/// All families and their registry. One per process, shared by reference.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    /// Webhooks by source and outcome.
    pub webhooks: Family<Received, Counter>,
    /// Notifications by server and state.
    pub notifications: Family<Settled, Counter>,
    /// Seconds from an attempt's start to the end of its answer.
    pub delivery_seconds: Family<ByServer, Histogram>,
    /// Notifications that wait for delivery.
    pub queue_depth: Gauge,
    /// Age in seconds of the oldest waiting notification; 0 when none waits.
    pub queue_oldest_seconds: Gauge,
    /// Rules in force.
    pub rules: Gauge,
    /// 1 while the rules on disk hold a mistake and older ones serve.
    pub rules_stale: Gauge,
    /// Reloads by result.
    pub reloads: Family<Reloaded, Counter>,
    /// Connections that senders hold open.
    pub connections: Gauge,
    /// Attempts under way, which bounds the connections to each server.
    pub deliveries_in_flight: Family<ByServer, Gauge>,
    /// 1 while a server takes nothing: it is down, refuses, has no quota left or asks for a pause.
    pub server_closed: Family<ByServer, Gauge>,
    /// Dead notifications that are kept.
    pub dead_letters: Gauge,
    /// Unix time of the start, in seconds.
    pub start_time: Gauge<f64, AtomicU64>,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// Registers every family.
    pub fn new() -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("hookbell"),
            webhooks: Family::default(),
            notifications: Family::default(),
            delivery_seconds: Family::new_with_constructor(|| {
                Histogram::new(exponential_buckets(0.001, 2.0, 15))
            }),
            queue_depth: Gauge::default(),
            queue_oldest_seconds: Gauge::default(),
            rules: Gauge::default(),
            rules_stale: Gauge::default(),
            reloads: Family::default(),
            connections: Gauge::default(),
            deliveries_in_flight: Family::default(),
            server_closed: Family::default(),
            dead_letters: Gauge::default(),
            start_time: Gauge::default(),
        };
        metrics.register();
        // Counters that are there from the start: the first rise of one that was not is invisible to `rate()`.
        for result in [ReloadResult::Ok, ReloadResult::Rejected] {
            drop(metrics.reloads.get_or_create(&Reloaded { result }));
        }
        metrics
    }

    fn register(&mut self) {
        let r = &mut self.registry;
        r.register("webhooks", "Webhooks by source and outcome", self.webhooks.clone());
        r.register("notifications", "Notifications by server and state", self.notifications.clone());
        r.register_with_unit(
            "delivery",
            "Time of one delivery attempt",
            Unit::Seconds,
            self.delivery_seconds.clone(),
        );
        r.register("queue_depth", "Notifications waiting for delivery", self.queue_depth.clone());
        r.register_with_unit(
            "queue_oldest",
            "Age of the oldest waiting notification",
            Unit::Seconds,
            self.queue_oldest_seconds.clone(),
        );
        r.register("rules", "Rules in force", self.rules.clone());
        r.register("rules_stale", "1 while the rules on disk hold a mistake", self.rules_stale.clone());
        r.register("reloads", "Reloads by result", self.reloads.clone());
        r.register("connections", "Connections held open by senders", self.connections.clone());
        r.register("deliveries_in_flight", "Delivery attempts under way", self.deliveries_in_flight.clone());
        r.register("server_closed", "1 while an ntfy server takes nothing", self.server_closed.clone());
        r.register("dead_letters", "Dead notifications that are kept", self.dead_letters.clone());
        r.register_with_unit("start_time", "Unix time of the start", Unit::Seconds, self.start_time.clone());
    }

    /// The OpenMetrics text of every family.
    pub fn render(&self) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail; a partial page would still be better than none.
        let _ = encode(&mut text, &self.registry);
        text
    }
}
