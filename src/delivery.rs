//! Delivery: claims what the outbox holds, sends it, and settles what came of it.
//!
//! One thread does all sending, because it owns the one HTTP client. Each server has a lane of
//! its own there: one that is down keeps its notifications waiting and slows nobody else.

mod board;
mod cut;
mod gate;
mod lane;
mod line;
mod pace;
mod report;
mod route;
mod upkeep;

use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use actix_rt::Arbiter;
use rustls::RootCertStore;
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;
use uuid::Uuid;

use crate::clock::Clock;
use crate::metrics::Metrics;
use crate::ntfy::Publisher;
use crate::outbox::Outbox;
use crate::priority::{DELIVERING, yield_to_others};
pub use board::{Board, Condition, Trouble};
pub use gate::{Patience, Why};
use lane::Lane;

/// The servers that the rules name, by name. None at all means that notifications are printed.
pub type Targets = Arc<crate::rules::target::Targets>;

/// Prints one notification, given as ntfy's JSON.
pub type Terminal = Arc<dyn Fn(&str) + Send + Sync>;

/// Sees the end of each attempt, on the delivery thread: it must be quick.
pub type Observer = Arc<dyn Fn(&DeliveryEvent<'_>) + Send + Sync>;

/// The end of one attempt.
#[derive(Debug, Clone, Copy)]
pub struct DeliveryEvent<'a> {
    /// The notification's id.
    pub id: Uuid,
    /// The server's name.
    pub server: &'a str,
    /// The source of the webhook.
    pub source: &'a str,
    /// The rule that made the notification.
    pub rule: &'a str,
    /// The topic.
    pub topic: &'a str,
    /// The JSON that was sent.
    pub payload: &'a str,
    /// Attempts so far, this one included.
    pub attempts: u32,
    /// How long this one took.
    pub took: Duration,
    /// How it ended.
    pub outcome: Outcome<'a>,
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome<'a> {
    /// The server took it.
    Delivered {
        /// The server's id of the message, when it told one.
        receipt: Option<&'a str>,
    },
    /// Another attempt follows.
    Retried {
        /// In this time, at the earliest.
        wait: Duration,
        /// Why this one failed.
        reason: &'a str,
    },
    /// No attempt can help.
    Dead {
        /// Why.
        reason: &'a str,
    },
}

/// What a delivery needs besides its outbox.
#[derive(Clone)]
pub struct Options {
    /// When to try again.
    pub patience: Patience,
    /// What the schedules go by.
    pub clock: Clock,
    /// What `https` servers are checked against; see [`crate::ntfy::system_roots`].
    pub roots: RootCertStore,
    /// Where notifications go when there is no server at all.
    pub terminal: Terminal,
    /// Sees every attempt's end, if set.
    pub observer: Option<Observer>,
    /// Where everyone sees how the servers are.
    pub board: Arc<Board>,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").field("patience", &self.patience).finish_non_exhaustive()
    }
}

/// What the supervisor and its lanes share, on the delivery thread.
struct Shared {
    outbox: Outbox,
    publisher: Publisher,
    metrics: Arc<Metrics>,
    options: Options,
    targets: watch::Receiver<Targets>,
    /// Set to the end of the grace once the delivery is to stop.
    stop: watch::Receiver<Option<Instant>>,
}

/// The running delivery. Dropping it leaves it running; [`Delivery::stop`] ends it.
#[derive(Debug)]
pub struct Delivery {
    arbiter: Arbiter,
    stop: watch::Sender<Option<Instant>>,
    ended: oneshot::Receiver<()>,
}

impl Delivery {
    /// Starts delivering on a thread of its own. New `targets` apply to attempts that start later.
    ///
    /// # Panics
    /// Outside of an actix system, which the thread belongs to.
    pub fn start(
        outbox: Outbox,
        targets: watch::Receiver<Targets>,
        metrics: Arc<Metrics>,
        mut options: Options,
    ) -> Self {
        let (stop, stopped) = watch::channel(None);
        let (running, ended) = oneshot::channel();
        let arbiter = Arbiter::new();
        arbiter.spawn_fn(move || {
            yield_to_others(DELIVERING);
            let roots = std::mem::replace(&mut options.roots, RootCertStore::empty());
            let publisher = Publisher::new(roots);
            let shared = Shared { outbox, publisher, metrics, options, targets, stop: stopped };
            actix_rt::spawn(async move {
                supervise(Rc::new(shared)).await;
                drop(running);
            });
        });
        Self { arbiter, stop, ended }
    }

    /// Starts no further attempt, lets those under way finish within `grace`, and releases the
    /// rest, to be sent after the next start.
    pub async fn stop(self, grace: Duration) {
        self.stop.send_replace(Some(Instant::now() + grace));
        let _ = self.ended.await;
        // Not joined: a name look-up that hangs would hold its thread, and us.
        self.arbiter.stop();
    }
}

/// Keeps a lane for every server that has a target or notifications. Lanes stay when their target
/// goes: what is under way on them still counts against the bound should it come back.
async fn supervise(shared: Rc<Shared>) {
    let (mut targets, mut stop) = (shared.targets.clone(), shared.stop.clone());
    let mut lanes = HashMap::new();
    while stop.borrow().is_none() {
        let mut names: Vec<String> = targets.borrow_and_update().keys().cloned().collect();
        names.extend(shared.outbox.servers().await.unwrap_or_default());
        for name in names {
            let spawn = |name: &String| actix_rt::spawn(Lane::new(name, &shared).run());
            lanes.entry(name).or_insert_with_key(spawn);
        }
        tokio::select! {
            () = changed(&mut targets) => {}
            () = changed(&mut stop) => {}
            () = shared.outbox.stranger_arrived() => {}
        }
    }
    for lane in lanes.into_values() {
        let _ = lane.await;
    }
}

/// Resolves when the value changed; never once nobody can change it any more.
async fn changed<T>(value: &mut watch::Receiver<T>) {
    if value.changed().await.is_err() {
        std::future::pending().await
    }
}

#[cfg(test)]
mod tests;
