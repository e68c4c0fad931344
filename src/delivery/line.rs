//! A lane's place in the outbox: what is claimed for it, what is being settled, and when to ask again.
//!
//! The order of the outbox holds here too: nothing is claimed while something that comes before it is on its way back.

use std::collections::VecDeque;
use std::time::Duration;

use futures_util::future::LocalBoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::time::{Instant, timeout_at};
use uuid::Uuid;

use super::route::Route;
use super::upkeep::{Upkeep, keep_up};
use crate::clock::{Clock, millis};
use crate::outbox::{Claimed, Order, Outbox, Pending, Settlement, Unavailable};

/// The pause before asking a store again that did not answer.
const STORE_PAUSE: Duration = Duration::from_secs(1);

/// Something that was asked of the outbox.
enum Answered {
    Claim(Result<Claimed, Unavailable>),
    /// With the time of the next attempt in Unix milliseconds, if it is known.
    Settle(Option<i64>),
    /// Something is back in line.
    Return,
    Upkeep(Upkeep),
}

/// What the line has for its lane.
pub(super) enum News {
    /// Nothing to do but to go on.
    Nothing,
    /// Something waits in the store, or nothing does: the answer to a claim.
    Claimed {
        /// Whether something waits, claimed or not.
        any: bool,
    },
    /// Old notifications were looked for.
    Upkeep(Upkeep),
}

pub(super) struct Line {
    server: String,
    outbox: Outbox,
    clock: Clock,
    /// Claimed, not yet begun.
    queue: VecDeque<Pending>,
    asked: FuturesUnordered<LocalBoxFuture<'static, Answered>>,
    claiming: bool,
    /// How much is on its way back into line. Until it is there, a claim would get what comes after it.
    returning: usize,
    /// Something went back into line after the claim was asked for: it may hold what comes after that.
    outdated: bool,
    /// There may be something to claim now.
    hungry: bool,
    /// Something waits for another to be settled.
    blocked: bool,
    /// There will be something to claim then, in Unix milliseconds.
    due: Option<i64>,
}

impl Line {
    pub(super) fn new(server: &str, outbox: &Outbox, clock: Clock) -> Self {
        Self {
            server: server.to_owned(),
            outbox: outbox.clone(),
            clock,
            queue: VecDeque::new(),
            asked: FuturesUnordered::new(),
            claiming: false,
            returning: 0,
            outdated: false,
            hungry: true,
            blocked: false,
            due: None,
        }
    }

    /// How much was asked of the outbox and is not answered.
    pub(super) fn unanswered(&self) -> usize {
        self.asked.len()
    }

    /// When to call [`Line::look_again`], in Unix milliseconds.
    pub(super) fn due(&self) -> Option<i64> {
        self.due
    }

    /// There may be something to claim now.
    pub(super) fn look_again(&mut self) {
        self.hungry = true;
        if self.due.is_some_and(|due| due <= self.clock.now_ms()) {
            self.due = None;
        }
    }

    /// Asks for up to `window` notifications when fewer than half of that are at hand and there may be more.
    pub(super) fn fill(&mut self, window: usize, order: Order) {
        let enough = self.queue.len() > window / 2;
        if enough || !self.hungry || self.claiming || self.returning > 0 {
            return;
        }
        // Forgotten before the store looks, so that whatever is learnt from now on is kept.
        (self.claiming, self.hungry, self.due) = (true, false, None);
        let (outbox, server, now) = (self.outbox.clone(), self.server.clone(), self.clock.now_ms());
        self.asked
            .push(Box::pin(async move { Answered::Claim(outbox.claim(&server, window, order, now).await) }));
    }

    /// The first one at hand that `choose` takes. What it postpones goes back to the store until then.
    pub(super) fn take(&mut self, choose: impl Fn(&Pending) -> Choice) -> Option<Pending> {
        let mut index = 0;
        while let Some(pending) = self.queue.get(index) {
            match choose(pending) {
                Choice::Take => return self.queue.remove(index),
                Choice::Pass => index += 1,
                Choice::Postpone(until) => {
                    let pending = self.queue.remove(index)?;
                    self.settle(pending.id, Settlement::Postpone(until), Duration::ZERO);
                }
            }
        }
        None
    }

    /// Tells the outbox how an attempt ended.
    pub(super) fn settle(&mut self, id: Uuid, settlement: Settlement, took: Duration) {
        // Kept at its place: what comes after it goes back too, so that none overtakes it.
        if matches!(settlement, Settlement::Retry { at: None, .. } | Settlement::Rewrite { .. }) {
            self.release();
            return self.send_back(id, settlement, took);
        }
        let outbox = self.outbox.clone();
        self.asked
            .push(Box::pin(async move { Answered::Settle(settle(&outbox, id, settlement, took).await) }));
    }

    /// Gives back what is at hand.
    pub(super) fn release(&mut self) {
        for pending in std::mem::take(&mut self.queue) {
            self.send_back(pending.id, Settlement::Release, Duration::ZERO);
        }
    }

    /// Gives back what an attempt was cut off of.
    pub(super) fn send_back(&mut self, id: Uuid, settlement: Settlement, took: Duration) {
        let outbox = self.outbox.clone();
        self.put_back(async move {
            let _ = settle(&outbox, id, settlement, took).await;
        });
    }

    /// Puts what was postponed back at its place.
    pub(super) fn recall(&mut self, ids: Vec<Uuid>) {
        if ids.is_empty() {
            return;
        }
        self.release();
        let outbox = self.outbox.clone();
        self.put_back(async move {
            // Should it fail, they come at their own times.
            let _ = outbox.recall(ids).await;
        });
    }

    fn put_back(&mut self, work: impl Future<Output = ()> + 'static) {
        (self.returning, self.hungry, self.outdated) = (self.returning + 1, true, self.claiming);
        self.asked.push(Box::pin(async move {
            work.await;
            Answered::Return
        }));
    }

    /// Looks for what has waited too long.
    pub(super) fn keep_up(&mut self, route: Option<Route>) {
        let work = keep_up(self.outbox.clone(), self.server.clone(), route, self.clock.now_ms());
        self.asked.push(Box::pin(async move { Answered::Upkeep(work.await) }));
    }

    /// The next answer of the outbox; never without an open question.
    pub(super) async fn next(&mut self) -> News {
        let Some(answered) = self.asked.next().await else { return std::future::pending().await };
        match answered {
            Answered::Settle(next) => {
                self.hungry |= std::mem::take(&mut self.blocked);
                self.fall_due(next);
            }
            Answered::Return => (self.returning, self.hungry) = (self.returning - 1, true),
            Answered::Claim(Ok(claimed)) => return self.claimed(claimed),
            Answered::Claim(Err(_)) => {
                (self.claiming, self.outdated) = (false, false);
                self.fall_due(Some(self.clock.now_ms() + millis(STORE_PAUSE)));
            }
            Answered::Upkeep(done) => return News::Upkeep(done),
        }
        News::Nothing
    }

    fn claimed(&mut self, claimed: Claimed) -> News {
        let any = claimed.next_due.is_some() || !claimed.deliveries.is_empty();
        self.claiming = false;
        self.blocked |= claimed.blocked;
        self.queue.extend(claimed.deliveries);
        self.fall_due(claimed.next_due);
        if std::mem::take(&mut self.outdated) {
            self.release();
        }
        News::Claimed { any }
    }

    /// Learns that something is to be claimed at `at`, or at once when that has passed.
    fn fall_due(&mut self, at: Option<i64>) {
        match at {
            Some(at) if at <= self.clock.now_ms() => self.hungry = true,
            Some(at) => self.due = Some(self.due.map_or(at, |due| due.min(at))),
            None => {}
        }
    }

    /// Waits until everything is answered, but not longer than until `end`.
    pub(super) async fn wind_down(mut self, end: Instant) {
        while !self.asked.is_empty() && timeout_at(end, self.next()).await.is_ok() {
            self.release();
        }
    }
}

/// What to do with one that is at hand.
pub(super) enum Choice {
    Take,
    Pass,
    /// It has to wait until then, in Unix milliseconds.
    Postpone(i64),
}

/// Tells the outbox until it listens: forgetting a delivery would repeat it.
async fn settle(outbox: &Outbox, id: Uuid, settlement: Settlement, took: Duration) -> Option<i64> {
    while outbox.settle(id, settlement.clone(), took).await.is_err() {
        tokio::time::sleep(STORE_PAUSE).await;
    }
    match settlement {
        Settlement::Retry { at, .. } => Some(at.unwrap_or(0)),
        Settlement::Postpone(at) => Some(at),
        _ => None,
    }
}
