//! The store thread: takes every command that waits, runs them in one transaction, commits, and
//! only then answers each. Nothing it meets ends it but [`StoreThread::close`].

use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use uuid::Uuid;

use super::arrivals::Arrivals;
use super::store::{OpenError, Store};
use super::webhook::{Enqueued, Webhook};
use super::work::{Claimed, DeadFilter, Depth, Order, Reached, Settlement};
use super::{Options, Unavailable};
use crate::priority::{STORING, yield_to_others};

/// The most commands in one transaction: bounds the time the first of them waits for the others.
const GROUP: usize = 512;

pub(super) type Reply<T> = oneshot::Sender<Result<T, Unavailable>>;

/// Answers one command, once it is known whether the transaction was committed.
type Answer = Box<dyn FnOnce(&Result<(), Unavailable>, &mut Store)>;

/// What a handle asks of the thread.
#[derive(Debug)]
pub(super) enum Command {
    Enqueue(Box<Webhook>, Reply<Enqueued>),
    Claim { server: String, limit: usize, order: Order, now_ms: i64, reply: Reply<Claimed> },
    Settle { id: Uuid, settlement: Settlement, took: Duration, reply: Reply<()> },
    Recall(Vec<Uuid>, Reply<()>),
    Divert { server: String, to: String, before_ms: i64, reply: Reply<usize> },
    Expire { server: String, before_ms: i64, reason: String, reply: Reply<usize> },
    Revive(Vec<Uuid>, Reply<Vec<Reached>>),
    ReviveDead(DeadFilter, Reply<usize>),
    Discard(Vec<Uuid>, Reply<Vec<Reached>>),
    Depth(Reply<Depth>),
    Servers(Reply<Vec<String>>),
    Probe(Reply<()>),
    Close,
}

impl Command {
    fn run(self, store: &mut Store) -> Answer {
        match self {
            Self::Enqueue(webhook, reply) => answer(reply, store.enqueue(&webhook)),
            Self::Claim { server, limit, order, now_ms, reply } => {
                answer_claim(reply, store.claim(&server, limit, order, now_ms))
            }
            Self::Settle { id, settlement, took, reply } => {
                answer(reply, store.settle(id, &settlement, took))
            }
            Self::Recall(ids, reply) => answer(reply, store.recall(&ids)),
            Self::Divert { server, to, before_ms, reply } => {
                answer(reply, store.divert(&server, &to, before_ms))
            }
            Self::Expire { server, before_ms, reason, reply } => {
                answer(reply, store.expire(&server, before_ms, &reason))
            }
            Self::Revive(ids, reply) => answer(reply, store.revive(&ids)),
            Self::ReviveDead(filter, reply) => answer(reply, store.revive_dead(&filter)),
            Self::Discard(ids, reply) => answer(reply, store.discard(&ids)),
            Self::Depth(reply) => answer(reply, store.depth()),
            Self::Servers(reply) => answer(reply, Ok(store.servers())),
            Self::Probe(reply) => answer(reply, store.probe()),
            Self::Close => Box::new(|_, _| {}),
        }
    }
}

fn answer<T: 'static>(reply: Reply<T>, result: Result<T, Unavailable>) -> Answer {
    Box::new(move |committed, _| {
        let _ = reply.send(committed.clone().and(result));
    })
}

/// As [`answer`], but what nobody waits for any more is not left claimed.
fn answer_claim(reply: Reply<Claimed>, result: Result<Claimed, Unavailable>) -> Answer {
    Box::new(move |committed, store| {
        if let Err(Ok(unheard)) = reply.send(committed.clone().and(result)) {
            unheard.deliveries.iter().for_each(|pending| store.forget_claim(pending.id));
        }
    })
}

/// The running store thread. Dropping it without [`StoreThread::close`] leaves it running until
/// the last [`super::Outbox`] is gone.
#[derive(Debug)]
pub struct StoreThread {
    commands: mpsc::Sender<Command>,
    ended: oneshot::Receiver<()>,
    thread: JoinHandle<()>,
}

impl StoreThread {
    pub(super) fn start(
        data: &Path,
        options: &Options,
        arrivals: Arc<Arrivals>,
    ) -> Result<(mpsc::Sender<Command>, Self), OpenError> {
        let store = Store::open(data, options)?;
        let (commands, waiting) = mpsc::channel(options.capacity.max(1));
        let (running, ended) = oneshot::channel();
        let thread = std::thread::Builder::new()
            .name("hookbell-store".to_owned())
            .spawn(move || {
                yield_to_others(STORING);
                serve(store, waiting, &arrivals);
                drop(running);
            })
            .map_err(|source| OpenError::Thread { source })?;
        Ok((commands.clone(), Self { commands, ended, thread }))
    }

    /// Carries out what was asked so far, closes the store and ends the thread. Later commands
    /// are answered [`Unavailable::Failing`].
    pub async fn close(self) {
        let _ = self.commands.send(Command::Close).await;
        let _ = self.ended.await;
        // The loop has ended, so this returns at once.
        let _ = self.thread.join();
    }
}

fn serve(mut store: Store, mut waiting: mpsc::Receiver<Command>, arrivals: &Arrivals) {
    let mut group = Vec::new();
    let mut failing = false;
    while waiting.blocking_recv_many(&mut group, GROUP) > 0 {
        if group.iter().any(|command| matches!(command, Command::Close)) {
            waiting.close();
        }
        let changes = store.changes();
        run_group(&mut store, &mut group, arrivals);
        report_change(&mut failing, store.health(changes));
        while (waiting.is_empty() || store.must_prune()) && store.prune_some() {}
    }
}

fn run_group(store: &mut Store, group: &mut Vec<Command>, arrivals: &Arrivals) {
    store.begin();
    let answers: Vec<_> = group.drain(..).map(|command| command.run(store)).collect();
    let committed = store.commit().map(|news| {
        news.arrived.iter().for_each(|server| arrivals.announce(server, false));
        news.urged.iter().for_each(|server| arrivals.announce(server, true));
    });
    answers.into_iter().for_each(|answer| answer(&committed, store));
}

/// Logs when the store starts to fail and when it works again, not every time between.
fn report_change(failing: &mut bool, health: Option<Result<(), Unavailable>>) {
    match health {
        Some(Err(error)) if !*failing => tracing::error!(%error, "notifications cannot be stored"),
        Some(Ok(())) if *failing => tracing::info!("the store works again"),
        _ => return,
    }
    *failing = !*failing;
}
