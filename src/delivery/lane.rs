//! One server's lane: what is claimed for it, under way to it, and being settled.
//!
//! A lane never polls a healthy server's queue. It asks the outbox again when something arrived, when something falls
//! due, when the targets changed, or when its latest claim was cut short.

use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::LocalBoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};
use uuid::Uuid;

use super::gate::{Gate, Next, Permit, Tried};
use super::report::Report;
use super::route::Route;
use super::upkeep::{Upkeep, keep_up};
use super::{DeliveryEvent, Outcome, Shared, Targets, board, changed, cut};
use crate::clock::millis;
use crate::ntfy::{Answer, Failure};
use crate::outbox::{Claimed, Outbox, Pending, Settlement, Unavailable, Waker};

/// The pause before asking a store again that did not answer.
const STORE_PAUSE: Duration = Duration::from_secs(1);
/// How long after the grace the store may take to hear of the ends.
const LAST_WRITES: Duration = Duration::from_secs(2);
/// How many settlements may wait for the disk, by connection. A failing store thus stops its lane,
/// instead of being told later of thousands of deliveries that a crash would repeat.
const SETTLING_BY_CONNECTION: usize = 4;
/// How many notifications are claimed at once, by connection: beyond what can be sent at a time, so that a topic whose
/// turn has not come does not hold up others.
const WINDOW_BY_CONNECTION: usize = 4;

/// An attempt that ended.
struct Attempted {
    pending: Pending,
    answer: Answer,
    took: Duration,
    probe: bool,
}

/// Something that was asked of the outbox.
enum Answered {
    Claim(Result<Claimed, Unavailable>),
    /// With the time of the next attempt in Unix milliseconds, if it is known.
    Settle(Option<i64>),
    /// Something is back in line.
    Return,
    Upkeep(Upkeep),
}

pub(super) struct Lane {
    name: String,
    shared: Rc<Shared>,
    report: Report,
    gate: Gate,
    targets: watch::Receiver<Targets>,
    stop: watch::Receiver<Option<Instant>>,
    arrivals: Arc<Waker>,
    route: Option<Route>,
    /// Claimed, not yet begun.
    queue: VecDeque<Pending>,
    attempts: FuturesUnordered<LocalBoxFuture<'static, Attempted>>,
    /// The ids of `attempts`, each with its topic.
    under_way: HashMap<Uuid, String>,
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
    /// When the gate may let something through, in Unix milliseconds.
    opens: Option<i64>,
    /// When old notifications are looked for, in Unix milliseconds: only while nothing is sent.
    upkeep: Option<i64>,
    told_parked: bool,
}

impl Lane {
    pub(super) fn new(name: &str, shared: &Rc<Shared>) -> Self {
        let mut lane = Self {
            name: name.to_owned(),
            shared: Rc::clone(shared),
            report: Report::new(name, shared),
            gate: Gate::new(shared.options.patience),
            targets: shared.targets.clone(),
            stop: shared.stop.clone(),
            arrivals: shared.outbox.arrivals(name),
            route: None,
            queue: VecDeque::new(),
            attempts: FuturesUnordered::new(),
            under_way: HashMap::new(),
            asked: FuturesUnordered::new(),
            claiming: false,
            returning: 0,
            outdated: false,
            hungry: true,
            blocked: false,
            due: None,
            opens: None,
            upkeep: None,
            told_parked: false,
        };
        lane.take_route();
        lane
    }

    /// Delivers until the stop.
    pub(super) async fn run(mut self) {
        while self.stop.borrow().is_none() {
            self.start_work();
            self.plan_upkeep();
            self.wait().await;
        }
        self.wind_down().await;
    }

    fn now(&self) -> i64 {
        self.shared.options.clock.now_ms()
    }

    /// Takes over what the rules now say of this server.
    fn take_route(&mut self) {
        let route = Route::of(&self.name, &self.targets.borrow_and_update());
        if let Some(Route::Ntfy(target)) = &route
            && self.route != route
        {
            self.gate.retarget(target, self.now());
        }
        (self.route, self.hungry, self.told_parked) = (route, true, false);
    }

    fn start_work(&mut self) {
        self.opens = None;
        let Some(route) = self.route.clone() else { return self.look_for_parked() };
        while self.asked.len() <= route.connections() * SETTLING_BY_CONNECTION {
            let now = self.now();
            let probe = match self.gate.permit(now, self.under_way.len()) {
                Permit::Wait(until) => {
                    self.opens = until;
                    return self.release_queue();
                }
                Permit::Open if self.under_way.len() >= route.connections() => break,
                permit => permit == Permit::Probe,
            };
            let Some(pending) = self.next_ready(&route, now) else { break };
            self.attempt(route.clone(), pending, probe);
        }
        let window = if self.gate.is_slow() { 1 } else { route.connections() * WINDOW_BY_CONNECTION };
        if self.queue.len() <= window / 2 {
            self.claim(window);
        }
    }

    /// A claim for none still tells whether something waits.
    fn look_for_parked(&mut self) {
        self.release_queue();
        if !self.told_parked {
            self.claim(0);
        }
    }

    /// The first in line that may go now. What has to wait longer with its topic goes back to the store.
    fn next_ready(&mut self, route: &Route, now: i64) -> Option<Pending> {
        let mut index = 0;
        while let Some(pending) = self.queue.get(index) {
            if let Some(until) = self.gate.held_until(&pending.topic, now) {
                let pending = self.queue.remove(index)?;
                self.settle(&pending, Settlement::Postpone(until), Duration::ZERO);
            } else if self.must_wait(route, &pending.topic) {
                index += 1;
            } else {
                return self.queue.remove(index);
            }
        }
        None
    }

    /// Whether another one of the topic is under way, where their order counts.
    fn must_wait(&self, route: &Route, topic: &str) -> bool {
        route.ordered() && self.under_way.values().any(|other| other == topic)
    }

    /// While nothing can be sent, what is too old has to go elsewhere.
    fn plan_upkeep(&mut self) {
        let stuck = match &self.route {
            Some(_) => self.gate.closed().is_some(),
            None => true,
        };
        let next = self.now() + millis(Upkeep::interval(self.route.as_ref()));
        self.upkeep = stuck.then(|| self.upkeep.unwrap_or(next).min(next));
    }

    async fn wait(&mut self) {
        let clock = self.shared.options.clock;
        // What falls due while the gate is closed is asked for when it opens.
        let due = if self.opens.is_some() { None } else { self.due };
        let wake = [due, self.opens, self.upkeep].into_iter().flatten().min();
        tokio::select! {
            Some(attempted) = self.attempts.next() => self.attempted(attempted),
            Some(answered) = self.asked.next() => self.answered(answered),
            () = self.arrivals.woken() => {
                self.hungry = true;
                if self.arrivals.take_urge() {
                    self.gate.lift(self.now());
                    self.post();
                }
            }
            () = clock.sleep_until(wake.unwrap_or_default()), if wake.is_some() => self.woke(),
            () = changed(&mut self.targets) => self.take_route(),
            () = changed(&mut self.stop) => {}
        }
    }

    fn woke(&mut self) {
        let now = self.now();
        if self.due.is_some_and(|due| due <= now) {
            (self.hungry, self.due) = (true, None);
        }
        if self.upkeep.take_if(|at| *at <= now).is_some() {
            let (outbox, name) = (self.shared.outbox.clone(), self.name.clone());
            let work = keep_up(outbox, name, self.route.clone(), now);
            self.asked.push(Box::pin(async move { Answered::Upkeep(work.await) }));
        }
    }

    fn claim(&mut self, limit: usize) {
        if !self.hungry || self.claiming || self.returning > 0 {
            return;
        }
        // Forgotten before the store looks, so that whatever is learnt from now on is kept.
        (self.claiming, self.hungry, self.due) = (true, false, None);
        let (outbox, name, now) = (self.shared.outbox.clone(), self.name.clone(), self.now());
        self.asked.push(Box::pin(async move { Answered::Claim(outbox.claim(&name, limit, now).await) }));
    }

    fn attempt(&mut self, route: Route, pending: Pending, probe: bool) {
        self.gate.started(self.now());
        self.under_way.insert(pending.id, pending.topic.clone());
        let (shared, in_flight) = (Rc::clone(&self.shared), self.report.attempt());
        self.attempts.push(Box::pin(async move {
            let start = Instant::now();
            let answer = route.send(&shared, &pending, probe).await;
            drop(in_flight);
            Attempted { pending, answer, took: start.elapsed(), probe }
        }));
    }

    fn attempted(&mut self, attempted: Attempted) {
        let Attempted { pending, answer, took, probe } = attempted;
        self.under_way.remove(&pending.id);
        let now = self.now();
        let (settlement, first) = match answer {
            Answer::Delivered { receipt } => {
                (Settlement::Delivered { receipt }, self.gate.delivered(&pending.topic, probe, now))
            }
            Answer::Failed(failure) => self.failed(&pending, &failure, probe, now),
        };
        self.post();
        self.tell(&pending, &settlement, took, now);
        // Kept at its place: what comes after it goes back too, so that none overtakes it.
        if matches!(settlement, Settlement::Retry { at: None, .. } | Settlement::Rewrite { .. }) {
            self.release_queue();
            self.send_back(&pending, settlement, took);
        } else {
            self.settle(&pending, settlement, took);
        }
        self.recall(first);
    }

    fn failed(
        &mut self,
        pending: &Pending,
        failure: &Failure,
        probe: bool,
        now: i64,
    ) -> (Settlement, Vec<Uuid>) {
        let Pending { id, attempts, rewritten, .. } = *pending;
        let tried = Tried { id, topic: &pending.topic, attempts, rewritten, probe };
        let (next, first) = self.gate.failed(failure, tried, now, fastrand::f64());
        let reason = failure.reason.clone();
        let retry = |at| match self.expired(pending, now) {
            false => Settlement::Retry { at, reason: reason.clone() },
            true => Settlement::Dead { reason: format!("waited too long; the latest attempt: {reason}") },
        };
        let settlement = match next {
            Next::Keep => retry(None),
            Next::At(at) | Next::Hold(at) => retry(Some(at)),
            Next::Cut(part) => match cut::without(&pending.payload, part) {
                Some(payload) => Settlement::Rewrite { payload, reason },
                None => Settlement::Dead { reason },
            },
            Next::Bury => Settlement::Dead { reason },
        };
        (settlement, first)
    }

    fn expired(&self, pending: &Pending, now: i64) -> bool {
        let expire = Upkeep::expire(self.route.as_ref());
        now.saturating_sub(pending.waiting_since) >= millis(expire)
    }

    fn tell(&mut self, pending: &Pending, settlement: &Settlement, took: Duration, now: i64) {
        let until = self.gate.closed().map_or(now, |closed| closed.until);
        let Some(outcome) = outcome(settlement, now, until) else { return };
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
    }

    /// Lets everyone see how the server is.
    fn post(&mut self) {
        let trouble = self.gate.closed().map(board::Trouble::from);
        self.report.condition(trouble.as_ref());
        let refused_topics = self.gate.forbidden_topics();
        self.shared.options.board.post(&self.name, board::Condition { trouble, refused_topics });
    }

    fn settle(&mut self, pending: &Pending, settlement: Settlement, took: Duration) {
        let (outbox, id) = (self.shared.outbox.clone(), pending.id);
        self.asked
            .push(Box::pin(async move { Answered::Settle(settle(&outbox, id, settlement, took).await) }));
    }

    /// Settles what is then claimed again before anything that comes after it.
    fn send_back(&mut self, pending: &Pending, settlement: Settlement, took: Duration) {
        let (outbox, id) = (self.shared.outbox.clone(), pending.id);
        self.put_back(async move {
            let _ = settle(&outbox, id, settlement, took).await;
        });
    }

    /// Puts suspects back in line.
    fn recall(&mut self, first: Vec<Uuid>) {
        if first.is_empty() {
            return;
        }
        self.release_queue();
        let outbox = self.shared.outbox.clone();
        self.put_back(async move {
            // Should it fail, they come at their own times.
            let _ = outbox.recall(first).await;
        });
    }

    fn put_back(&mut self, work: impl Future<Output = ()> + 'static) {
        (self.returning, self.hungry, self.outdated) = (self.returning + 1, true, self.claiming);
        self.asked.push(Box::pin(async move {
            work.await;
            Answered::Return
        }));
    }

    fn answered(&mut self, answered: Answered) {
        match answered {
            Answered::Settle(next) => {
                self.hungry |= std::mem::take(&mut self.blocked);
                self.fall_due(next);
            }
            Answered::Return => {
                self.returning -= 1;
                self.hungry = true;
            }
            Answered::Claim(Ok(claimed)) => self.claimed(claimed),
            Answered::Claim(Err(_)) => {
                (self.claiming, self.outdated) = (false, false);
                self.fall_due(Some(self.now() + millis(STORE_PAUSE)));
            }
            Answered::Upkeep(done) => self.report.upkeep(&done),
        }
    }

    fn claimed(&mut self, claimed: Claimed) {
        self.claiming = false;
        self.blocked |= claimed.blocked;
        self.queue.extend(claimed.deliveries);
        if std::mem::take(&mut self.outdated) {
            self.release_queue();
        }
        if self.route.is_some() {
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
            Some(at) if at <= self.now() => self.hungry = true,
            Some(at) => self.due = Some(self.due.map_or(at, |due| due.min(at))),
            None => {}
        }
    }

    fn release_queue(&mut self) {
        for pending in std::mem::take(&mut self.queue) {
            self.send_back(&pending, Settlement::Release, Duration::ZERO);
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
        for id in std::mem::take(&mut self.under_way).into_keys() {
            let outbox = self.shared.outbox.clone();
            self.asked.push(Box::pin(async move {
                Answered::Settle(settle(&outbox, id, Settlement::Release, Duration::ZERO).await)
            }));
        }
        let end = grace + LAST_WRITES;
        while let Ok(Some(answered)) = timeout_at(end, self.asked.next()).await {
            self.answered(answered);
            self.release_queue();
        }
    }
}

/// Tells the outbox until it listens: forgetting a delivery would repeat it.
async fn settle(outbox: &Outbox, id: Uuid, settlement: Settlement, took: Duration) -> Option<i64> {
    while outbox.settle(id, settlement.clone(), took).await.is_err() {
        tokio::time::sleep(STORE_PAUSE).await;
    }
    match settlement {
        Settlement::Retry { at, .. } => Some(at.unwrap_or(0)),
        Settlement::Rewrite { .. } => Some(0),
        Settlement::Postpone(at) => Some(at),
        _ => None,
    }
}

/// What an attempt's end is called; `until` is when the server is tried again.
fn outcome(settlement: &Settlement, now: i64, until: i64) -> Option<Outcome<'_>> {
    let wait = |at: i64| Duration::from_millis(at.saturating_sub(now).max(0).unsigned_abs());
    match settlement {
        Settlement::Delivered { receipt } => Some(Outcome::Delivered { receipt: receipt.as_deref() }),
        Settlement::Retry { at, reason } => {
            Some(Outcome::Retried { wait: wait(at.unwrap_or(until)), reason })
        }
        Settlement::Rewrite { reason, .. } => Some(Outcome::Retried { wait: Duration::ZERO, reason }),
        Settlement::Dead { reason } => Some(Outcome::Dead { reason }),
        Settlement::Postpone(_) | Settlement::Release => None,
    }
}
