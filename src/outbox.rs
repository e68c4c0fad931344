//! The outbox: what a webhook's 200 promises. A notification is on disk before its sender hears
//! of it, and stays there until an ntfy server took it or no attempt can help.
//!
//! One thread owns the store and commits whatever waits in one transaction, so a hundred webhooks
//! at once cost one write to the disk. An [`Outbox`] is a cheap handle to that thread.

mod arrivals;
mod record;
pub mod retry;
mod store;
mod thread;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{Notify, mpsc, oneshot};
use uuid::Uuid;

use arrivals::Arrivals;
pub use record::Record;
pub use store::OpenError;
pub use thread::StoreThread;
use thread::{Command, Reply};

/// An accepted webhook and every notification it became. All of them are stored, or none.
#[derive(Debug, Clone, PartialEq)]
pub struct Webhook {
    /// A version 7 UUID, also shown to the sender.
    pub id: Uuid,
    /// The name of the source that took it.
    pub source: String,
    /// When its body was complete, in Unix milliseconds.
    pub received_at: i64,
    /// The webhook as it came, to be looked up later; `None` keeps nothing of it.
    pub record: Option<Record>,
    /// What to publish, in this order.
    pub notifications: Vec<Outgoing>,
}

/// One notification on its way to an ntfy server.
#[derive(Debug, Clone, PartialEq)]
pub struct Outgoing {
    /// A version 7 UUID.
    pub id: Uuid,
    /// The server's name in the rules.
    pub server: String,
    /// The topic, for people; the payload holds it too.
    pub topic: String,
    /// The rule that made it.
    pub rule: String,
    /// The JSON that ntfy takes at its root.
    pub payload: String,
}

/// A notification claimed for one attempt.
#[derive(Debug, Clone, PartialEq)]
pub struct Pending {
    /// As in [`Outgoing`].
    pub id: Uuid,
    /// As in [`Outgoing`].
    pub payload: String,
    /// Attempts that ended before this one.
    pub attempts: u32,
    /// When its webhook was received, in Unix milliseconds.
    pub enqueued_at: i64,
    /// As in [`Outgoing`].
    pub topic: String,
    /// As in [`Outgoing`].
    pub rule: String,
    /// The source of its webhook.
    pub source: String,
}

/// What [`Outbox::claim`] found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Claimed {
    /// Oldest first. Each must be settled.
    pub deliveries: Vec<Pending>,
    /// When the next one that nobody claimed falls due, in Unix milliseconds: not after `now_ms`
    /// when `limit` cut the list short, `None` when none waits.
    pub next_due: Option<i64>,
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Settlement {
    /// The server took it.
    Delivered {
        /// The server's id of the message, when it told one.
        receipt: Option<String>,
    },
    /// Try again.
    Retry {
        /// Not before this time, in Unix milliseconds.
        at: i64,
        /// Why the attempt failed.
        reason: String,
    },
    /// No attempt can help.
    Dead {
        /// Why.
        reason: String,
    },
    /// There was no attempt: it waits as before.
    Release,
}

/// How much the outbox holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Depth {
    /// Notifications neither delivered nor dead.
    pub waiting: u64,
    /// When the oldest of them was received, in Unix milliseconds.
    pub oldest_ms: Option<i64>,
    /// Dead notifications that are still kept.
    pub dead: u64,
}

/// Why the outbox did not do what it was asked. Nothing was changed; asking again may work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    /// More webhooks wait for the disk than the queue holds.
    #[error("the outbox's queue is full; send again in a few seconds")]
    Full,
    /// The store cannot be read or written, for the reason held.
    #[error("the store is failing: {0}; check the disk of the data directory")]
    Failing(String),
}

impl Unavailable {
    fn ended() -> Self {
        Self::Failing("its thread has ended".to_owned())
    }
}

/// Limits of an outbox.
#[derive(Debug, Clone)]
pub struct Options {
    /// Commands that may wait for the store thread; above it [`Outbox::enqueue`] answers `Full`.
    pub capacity: usize,
    /// How long delivered and dead notifications and records of webhooks are kept.
    pub keep: Duration,
    /// How many bytes of records are kept at the most; the oldest go first.
    pub keep_size: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { capacity: 4096, keep: Duration::from_secs(7 * 24 * 60 * 60), keep_size: 256 << 20 }
    }
}

/// A handle to the store thread; clones share it.
#[derive(Debug, Clone)]
pub struct Outbox {
    commands: mpsc::Sender<Command>,
    arrivals: Arc<Arrivals>,
}

impl Outbox {
    /// Opens, or creates, the store in the directory `data` and starts its thread. What an earlier
    /// process claimed and never settled is waiting again.
    ///
    /// # Errors
    /// [`OpenError`] when the directory cannot be used, another process has it, or it holds
    /// something else than a store of this version or an earlier one.
    pub fn open(data: &Path, options: &Options) -> Result<(Self, StoreThread), OpenError> {
        let arrivals = Arc::new(Arrivals::default());
        let (commands, thread) = StoreThread::start(data, options, Arc::clone(&arrivals))?;
        Ok((Self { commands, arrivals }, thread))
    }

    /// Stores a webhook's notifications; they are on disk when this returns.
    ///
    /// # Errors
    /// [`Unavailable`]: none of them is stored.
    pub async fn enqueue(&self, webhook: Webhook) -> Result<(), Unavailable> {
        if webhook.notifications.is_empty() {
            return Ok(());
        }
        let (reply, answer) = oneshot::channel();
        self.commands.try_send(Command::Enqueue(webhook, reply)).map_err(|error| match error {
            TrySendError::Full(_) => Unavailable::Full,
            TrySendError::Closed(_) => Unavailable::ended(),
        })?;
        answer.await.map_err(|_| Unavailable::ended())?
    }

    /// Claims at most `limit` notifications for `server` that are due at `now_ms` (Unix
    /// milliseconds). Nobody else in this process gets them until they are settled.
    ///
    /// # Errors
    /// [`Unavailable::Failing`]: nothing is claimed.
    pub async fn claim(&self, server: &str, limit: usize, now_ms: i64) -> Result<Claimed, Unavailable> {
        let server = server.to_owned();
        self.ask(|reply| Command::Claim { server, limit, now_ms, reply }).await
    }

    /// Records how the attempt at a claimed notification ended. Settling one that is not claimed
    /// changes nothing.
    ///
    /// # Errors
    /// [`Unavailable::Failing`]: it is still claimed; settle it again.
    pub async fn settle(&self, id: Uuid, settlement: Settlement) -> Result<(), Unavailable> {
        self.ask(|reply| Command::Settle(id, settlement, reply)).await
    }

    /// How much waits and how much is dead.
    ///
    /// # Errors
    /// [`Unavailable::Failing`] when the store cannot be read.
    pub async fn depth(&self) -> Result<Depth, Unavailable> {
        self.ask(Command::Depth).await
    }

    /// The names of the servers that notifications wait for, in no order.
    ///
    /// # Errors
    /// [`Unavailable::Failing`] when the store thread has ended.
    pub async fn servers(&self) -> Result<Vec<String>, Unavailable> {
        self.ask(Command::Servers).await
    }

    /// Writes to the store and commits, to see that it works.
    ///
    /// # Errors
    /// [`Unavailable::Failing`] when it does not.
    pub async fn probe(&self) -> Result<(), Unavailable> {
        self.ask(Command::Probe).await
    }

    /// Notified once notifications for `server` were stored. Keep it: without a holder, arrivals
    /// for that server go to [`Outbox::stranger_arrived`].
    pub fn arrivals(&self, server: &str) -> Arc<Notify> {
        self.arrivals.subscribe(server)
    }

    /// Resolves once notifications were stored for a server whose arrivals nobody follows.
    pub async fn stranger_arrived(&self) {
        self.arrivals.stranger().await;
    }

    async fn ask<T>(&self, command: impl FnOnce(Reply<T>) -> Command) -> Result<T, Unavailable> {
        let (reply, answer) = oneshot::channel();
        self.commands.send(command(reply)).await.map_err(|_| Unavailable::ended())?;
        answer.await.map_err(|_| Unavailable::ended())?
    }
}

/// Looks up the record of a webhook in the store of `data`, also beside a running gateway.
///
/// # Errors
/// [`OpenError`] when there is no store, or it cannot be read.
pub fn find_record(data: &Path, id: Uuid) -> Result<Option<Record>, OpenError> {
    store::find_record(data, id)
}

/// Now, in Unix milliseconds.
pub fn unix_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
