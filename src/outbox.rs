//! The outbox: what a webhook's 200 promises. A notification is on disk before its sender hears
//! of it, and stays there until an ntfy server took it or no attempt can help.
//!
//! One thread owns the store and commits whatever waits in one transaction, so a hundred webhooks
//! at once cost one write to the disk. An [`Outbox`] is a cheap handle to that thread.

mod arrivals;
mod browse;
mod record;
pub mod retry;
mod store;
mod thread;
mod webhook;
mod work;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};
use uuid::Uuid;

pub use crate::clock::unix_ms;
use arrivals::Arrivals;
pub use arrivals::Waker;
pub use browse::{
    Arrival, Attempt, Entry, Filter, Overview, Page, RecordedWebhook, Search, ServerCount, State,
};
pub use record::{Head, Kept, Record};
pub use store::OpenError;
pub use store::browse::Browser;
pub use thread::StoreThread;
use thread::{Command, Reply};
pub use webhook::{Enqueued, Once, Outgoing, Verdict, VerdictOutcome, Webhook, new_id};
pub use work::{Claimed, DeadFilter, Depth, Order, Pending, Reached, Settlement};

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
    /// How many bytes the store may use before records and delivered notifications go, the oldest
    /// first. What waits or is dead stays, whatever its size.
    pub keep_size: u64,
    /// Whether a store file that is damaged or not ours is renamed and a new one begun.
    pub set_aside: bool,
}

impl Default for Options {
    fn default() -> Self {
        let keep = Duration::from_secs(7 * 24 * 60 * 60);
        Self { capacity: 4096, keep, keep_size: 256 << 20, set_aside: false }
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

    /// Stores a webhook's notifications; they are on disk when this returns. A webhook that
    /// repeats an earlier one, as its [`Once`] tells, is recorded and not stored again.
    ///
    /// # Errors
    /// [`Unavailable`]: none of them is stored.
    pub async fn enqueue(&self, webhook: Webhook) -> Result<Enqueued, Unavailable> {
        let (reply, answer) = oneshot::channel();
        self.commands.try_send(Command::Enqueue(Box::new(webhook), reply)).map_err(|error| match error {
            TrySendError::Full(_) => Unavailable::Full,
            TrySendError::Closed(_) => Unavailable::ended(),
        })?;
        answer.await.map_err(|_| Unavailable::ended())?
    }

    /// Records a webhook that became no notification, without waiting for the disk: nothing was
    /// promised for it. A queue that is full drops the record.
    pub fn record(&self, webhook: Webhook) {
        let (unheard, _) = oneshot::channel();
        let _ = self.commands.try_send(Command::Enqueue(Box::new(webhook), unheard));
    }

    /// Claims at most `limit` notifications for `server` that are due at `now_ms` (Unix
    /// milliseconds). Nobody else in this process gets them until they are settled.
    ///
    /// # Errors
    /// [`Unavailable::Failing`]: nothing is claimed.
    pub async fn claim(
        &self,
        server: &str,
        limit: usize,
        order: Order,
        now_ms: i64,
    ) -> Result<Claimed, Unavailable> {
        let server = server.to_owned();
        self.ask(|reply| Command::Claim { server, limit, order, now_ms, reply }).await
    }

    /// Records how the attempt at a claimed notification ended, and how long it `took`. Settling
    /// one that is not claimed changes nothing.
    ///
    /// # Errors
    /// [`Unavailable::Failing`]: it is still claimed; settle it again.
    pub async fn settle(&self, id: Uuid, settlement: Settlement, took: Duration) -> Result<(), Unavailable> {
        self.ask(|reply| Command::Settle { id, settlement, took, reply }).await
    }

    /// Puts postponed notifications back at their place in line.
    ///
    /// # Errors
    /// [`Unavailable::Failing`]: none moved.
    pub async fn recall(&self, ids: Vec<Uuid>) -> Result<(), Unavailable> {
        self.ask(|reply| Command::Recall(ids, reply)).await
    }

    /// Hands what has waited for `server` since before `before_ms` to the server `to`. Returns how many.
    ///
    /// # Errors
    /// [`Unavailable::Failing`]: none moved.
    pub async fn divert(&self, server: &str, to: &str, before_ms: i64) -> Result<usize, Unavailable> {
        let (server, to) = (server.to_owned(), to.to_owned());
        self.ask(|reply| Command::Divert { server, to, before_ms, reply }).await
    }

    /// Makes dead letters of what has waited for `server` since before `before_ms`. Returns how many.
    ///
    /// # Errors
    /// [`Unavailable::Failing`]: none died.
    pub async fn expire(&self, server: &str, before_ms: i64, reason: &str) -> Result<usize, Unavailable> {
        let (server, reason) = (server.to_owned(), reason.to_owned());
        self.ask(|reply| Command::Expire { server, before_ms, reason, reply }).await
    }

    /// An operator's wish: dead, dropped and waiting notifications are sent as soon as can be.
    ///
    /// # Errors
    /// [`Unavailable::Failing`]: nothing changed.
    pub async fn revive(&self, ids: Vec<Uuid>) -> Result<Vec<Reached>, Unavailable> {
        self.ask(|reply| Command::Revive(ids, reply)).await
    }

    /// Revives some of the dead that `filter` selects; returns how many. Call again until none is left.
    ///
    /// # Errors
    /// [`Unavailable::Failing`]: nothing changed.
    pub async fn revive_dead(&self, filter: DeadFilter) -> Result<usize, Unavailable> {
        self.ask(|reply| Command::ReviveDead(filter, reply)).await
    }

    /// An operator's wish: waiting and dead notifications are not sent any more.
    ///
    /// # Errors
    /// [`Unavailable::Failing`]: nothing changed.
    pub async fn discard(&self, ids: Vec<Uuid>) -> Result<Vec<Reached>, Unavailable> {
        self.ask(|reply| Command::Discard(ids, reply)).await
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

    /// Wakes once notifications for `server` were stored. Keep it: without a holder, arrivals
    /// for that server go to [`Outbox::stranger_arrived`].
    pub fn arrivals(&self, server: &str) -> Arc<Waker> {
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

#[cfg(test)]
mod tests;
