//! One server's lane: what is claimed for it, under way to it, and being settled.
//!
//! A lane never polls. It asks the outbox again when something arrived, when something falls due,
//! when the targets changed, or when its latest claim was cut short.

use std::collections::{HashSet, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::LocalBoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep, timeout_at};
use uuid::Uuid;

use super::report::Report;
use super::{DeliveryEvent, Outcome, Shared, Targets, changed};
use crate::ntfy::Answer;
use crate::outbox::{Claimed, Outbox, Pending, Settlement, Unavailable, unix_ms};
use crate::rules::target::Target;

/// The pause before asking a store again that did not answer.
const STORE_PAUSE: Duration = Duration::from_secs(1);
/// How long after the grace the store may take to hear of the ends.
const LAST_WRITES: Duration = Duration::from_secs(2);
/// How many settlements may wait for the disk, by connection. A failing store thus stops its lane,
/// instead of being told later of thousands of deliveries that a crash would repeat.
const SETTLING_BY_CONNECTION: usize = 4;

/// Where the lane's notifications go. A lane without a route keeps them: the rules know other
/// servers, but not its own.
#[derive(Clone)]
enum Route {
    Ntfy(Arc<Target>),
    /// There is no server at all: print them, one after the other.
    Terminal,
}

impl Route {
    fn connections(&self) -> usize {
        match self {
            Self::Ntfy(target) => target.connections.get(),
            Self::Terminal => 1,
        }
    }
}

/// An attempt that ended.
struct Attempted {
    pending: Pending,
    answer: Answer,
    took: Duration,
}

/// Something that was asked of the outbox.
enum Answered {
    Claim(Result<Claimed, Unavailable>),
    /// With the time of the next attempt in Unix milliseconds, if one follows.
    Settle(Option<i64>),
}

pub(super) struct Lane {
    name: String,
    shared: Rc<Shared>,
    report: Report,
    targets: watch::Receiver<Targets>,
    stop: watch::Receiver<Option<Instant>>,
    arrivals: Arc<Notify>,
    /// Claimed, not yet begun.
    queue: VecDeque<Pending>,
    attempts: FuturesUnordered<LocalBoxFuture<'static, Attempted>>,
    /// The ids of `attempts`.
    under_way: HashSet<Uuid>,
    asked: FuturesUnordered<LocalBoxFuture<'static, Answered>>,
    claiming: bool,
    /// There may be something to claim now.
    hungry: bool,
    /// There will be something to claim then, in Unix milliseconds.
    due: Option<i64>,
    told_parked: bool,
}

impl Lane {
    pub(super) fn new(name: &str, shared: &Rc<Shared>) -> Self {
        Self {
            name: name.to_owned(),
            shared: Rc::clone(shared),
            report: Report::new(name, shared),
            targets: shared.targets.clone(),
            stop: shared.stop.clone(),
            arrivals: shared.outbox.arrivals(name),
            queue: VecDeque::new(),
            attempts: FuturesUnordered::new(),
            under_way: HashSet::new(),
            asked: FuturesUnordered::new(),
            claiming: false,
            hungry: true,
            due: None,
            told_parked: false,
        }
    }

    /// Delivers until the stop.
    pub(super) async fn run(mut self) {
        while self.stop.borrow().is_none() {
            self.start_work();
            self.wait().await;
        }
        self.wind_down().await;
    }

    fn route(&self) -> Option<Route> {
        let targets = self.targets.borrow();
        match targets.get(&self.name) {
            Some(target) => Some(Route::Ntfy(Arc::clone(target))),
            None => targets.is_empty().then_some(Route::Terminal),
        }
    }

    fn start_work(&mut self) {
        let Some(route) = self.route() else { return self.look_for_parked() };
        let connections = route.connections();
        self.told_parked = false;
        if self.hungry && !self.claiming && self.queue.len() <= connections {
            self.claim(2 * connections);
        }
        while self.attempts.len() < connections
            && self.asked.len() <= connections * SETTLING_BY_CONNECTION
            && let Some(pending) = self.queue.pop_front()
        {
            self.attempt(route.clone(), pending);
        }
    }

    /// A claim for none still tells whether something waits.
    fn look_for_parked(&mut self) {
        if self.hungry && !self.claiming && !self.told_parked {
            self.claim(0);
        }
    }

    async fn wait(&mut self) {
        let until_due = self.due.map(|at| Duration::from_millis(at.saturating_sub(unix_ms()).max(0) as u64));
        tokio::select! {
            Some(attempted) = self.attempts.next() => self.attempted(attempted),
            Some(answered) = self.asked.next() => self.answered(answered),
            () = self.arrivals.notified() => self.hungry = true,
            () = sleep(until_due.unwrap_or_default()), if until_due.is_some() => {
                (self.hungry, self.due) = (true, None);
            }
            () = changed(&mut self.targets) => self.hungry = true,
            () = changed(&mut self.stop) => {}
        }
    }

    fn claim(&mut self, limit: usize) {
        // Forgotten before the store looks, so that whatever is learnt from now on is kept.
        (self.claiming, self.hungry, self.due) = (true, false, None);
        let (outbox, name) = (self.shared.outbox.clone(), self.name.clone());
        self.asked
            .push(Box::pin(async move { Answered::Claim(outbox.claim(&name, limit, unix_ms()).await) }));
    }

    fn attempt(&mut self, route: Route, pending: Pending) {
        self.under_way.insert(pending.id);
        let (shared, in_flight) = (Rc::clone(&self.shared), self.report.attempt());
        self.attempts.push(Box::pin(async move {
            let start = Instant::now();
            let answer = send(&shared, &route, &pending).await;
            drop(in_flight);
            Attempted { pending, answer, took: start.elapsed() }
        }));
    }

    fn settle(&mut self, id: Uuid, settlement: Settlement) {
        let outbox = self.shared.outbox.clone();
        self.asked.push(Box::pin(async move { Answered::Settle(settle(&outbox, id, settlement).await) }));
    }

    fn attempted(&mut self, Attempted { pending, answer, took }: Attempted) {
        self.under_way.remove(&pending.id);
        let wait = self.shared.options.backoff.after(pending.attempts, fastrand::f64());
        let outcome = outcome(&answer, wait);
        self.report.ended(&DeliveryEvent {
            id: pending.id,
            server: &self.name,
            source: &pending.source,
            rule: &pending.rule,
            topic: &pending.topic,
            payload: &pending.payload,
            attempts: pending.attempts.saturating_add(1),
            took,
            outcome,
        });
        self.settle(pending.id, settlement(outcome));
    }

    fn answered(&mut self, answered: Answered) {
        match answered {
            Answered::Settle(next) => self.fall_due(next),
            Answered::Claim(Ok(claimed)) => self.claimed(claimed),
            Answered::Claim(Err(_)) => {
                self.claiming = false;
                self.fall_due(Some(unix_ms() + STORE_PAUSE.as_millis() as i64));
            }
        }
    }

    fn claimed(&mut self, claimed: Claimed) {
        self.claiming = false;
        self.queue.extend(claimed.deliveries);
        if self.route().is_some() {
            self.fall_due(claimed.next_due);
        } else if claimed.next_due.is_some() || !self.queue.is_empty() {
            self.told_parked = true;
            tracing::warn!(
                server = self.name,
                "notifications wait for a server that the rules do not name; name it to send them"
            );
        }
    }

    /// Learns that something is to be claimed at `at`, or at once when that has passed.
    fn fall_due(&mut self, at: Option<i64>) {
        match at {
            Some(at) if at <= unix_ms() => self.hungry = true,
            Some(at) => self.due = Some(self.due.map_or(at, |due| due.min(at))),
            None => {}
        }
    }

    async fn wind_down(mut self) {
        let grace = self.stop.borrow().unwrap_or_else(Instant::now);
        self.release_queue();
        while let Ok(Some(attempted)) = timeout_at(grace, self.attempts.next()).await {
            self.attempted(attempted);
        }
        // What did not finish is cut off before it is released, never sent by two at a time.
        self.attempts.clear();
        for id in std::mem::take(&mut self.under_way) {
            self.settle(id, Settlement::Release);
        }
        let end = grace + LAST_WRITES;
        while let Ok(Some(answered)) = timeout_at(end, self.asked.next()).await {
            self.answered(answered);
            self.release_queue();
        }
    }

    fn release_queue(&mut self) {
        for pending in std::mem::take(&mut self.queue) {
            self.settle(pending.id, Settlement::Release);
        }
    }
}

async fn send(shared: &Shared, route: &Route, pending: &Pending) -> Answer {
    match route {
        Route::Ntfy(target) => shared.publisher.publish(target, &pending.payload).await,
        Route::Terminal => {
            (shared.options.terminal)(&pending.payload);
            Answer::Delivered { receipt: None }
        }
    }
}

/// Tells the outbox until it listens: forgetting a delivery would repeat it.
async fn settle(outbox: &Outbox, id: Uuid, settlement: Settlement) -> Option<i64> {
    while outbox.settle(id, settlement.clone()).await.is_err() {
        sleep(STORE_PAUSE).await;
    }
    match settlement {
        Settlement::Retry { at, .. } => Some(at),
        _ => None,
    }
}

/// The server's wish for a pause is a minimum: one that asks for none still gets the backoff.
fn outcome(answer: &Answer, backoff: Duration) -> Outcome<'_> {
    match answer {
        Answer::Delivered { receipt } => Outcome::Delivered { receipt: receipt.as_deref() },
        Answer::Retry { after, reason } => {
            Outcome::Retried { wait: after.unwrap_or_default().max(backoff), reason }
        }
        Answer::Rejected { reason } => Outcome::Dead { reason },
    }
}

fn settlement(outcome: Outcome<'_>) -> Settlement {
    match outcome {
        Outcome::Delivered { receipt } => Settlement::Delivered { receipt: receipt.map(str::to_owned) },
        Outcome::Retried { wait, reason } => {
            let wait_ms = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
            Settlement::Retry { at: unix_ms().saturating_add(wait_ms), reason: reason.to_owned() }
        }
        Outcome::Dead { reason } => Settlement::Dead { reason: reason.to_owned() },
    }
}
