//! One server's lane: what is under way to it, when the next may go, and what becomes of each.
//!
//! A lane never polls a healthy server's queue. It looks into the outbox again when something arrived, when something
//! falls due, when the targets changed, or when its latest claim was cut short.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::LocalBoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};
use uuid::Uuid;

use super::gate::{Gate, Next, Permit, Tried};
use super::line::{Choice, Line, News};
use super::report::Report;
use super::route::Route;
use super::upkeep::Upkeep;
use super::{DeliveryEvent, Outcome, Shared, Targets, board, changed, cut};
use crate::clock::millis;
use crate::ntfy::{Answer, Failure};
use crate::outbox::{Order, Pending, Settlement, Waker};

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

pub(super) struct Lane {
    name: String,
    shared: Rc<Shared>,
    report: Report,
    gate: Gate,
    line: Line,
    targets: watch::Receiver<Targets>,
    stop: watch::Receiver<Option<Instant>>,
    arrivals: Arc<Waker>,
    route: Option<Route>,
    attempts: FuturesUnordered<LocalBoxFuture<'static, Attempted>>,
    /// The ids of `attempts`, each with its topic.
    under_way: HashMap<Uuid, String>,
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
            line: Line::new(name, &shared.outbox, shared.options.clock),
            targets: shared.targets.clone(),
            stop: shared.stop.clone(),
            arrivals: shared.outbox.arrivals(name),
            route: None,
            attempts: FuturesUnordered::new(),
            under_way: HashMap::new(),
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
        (self.route, self.told_parked) = (route, false);
        self.line.look_again();
    }

    fn start_work(&mut self) {
        self.opens = None;
        let Some(route) = self.route.clone() else { return self.look_for_parked() };
        while self.line.unanswered() <= route.connections() * SETTLING_BY_CONNECTION {
            let now = self.now();
            let probe = match self.gate.permit(now, self.under_way.len()) {
                Permit::Wait(until) => {
                    self.opens = until;
                    return self.line.release();
                }
                Permit::Open if self.under_way.len() >= route.connections() => break,
                permit => permit == Permit::Probe,
            };
            let Some(pending) = self.next_ready(&route, now) else { break };
            self.attempt(route.clone(), pending, probe);
        }
        let window = if self.gate.is_slow() { 1 } else { route.connections() * WINDOW_BY_CONNECTION };
        self.line.fill(window, if route.ordered() { Order::Topic } else { Order::Sequence });
    }

    /// A claim for none still tells whether something waits.
    fn look_for_parked(&mut self) {
        self.line.release();
        if !self.told_parked {
            self.line.fill(0, Order::Topic);
        }
    }

    /// The first in line that may go now, where order counts none whose topic is under way.
    fn next_ready(&mut self, route: &Route, now: i64) -> Option<Pending> {
        let (gate, under_way) = (&self.gate, &self.under_way);
        self.line.take(|pending| match gate.held_until(&pending.topic, now) {
            Some(until) => Choice::Postpone(until),
            None if route.ordered() && under_way.values().any(|topic| *topic == pending.topic) => {
                Choice::Pass
            }
            None => Choice::Take,
        })
    }

    /// While nothing can be sent, what is too old has to go elsewhere.
    fn plan_upkeep(&mut self) {
        let stuck = self.route.is_none() || self.gate.closed().is_some();
        let next = self.now() + millis(Upkeep::interval(self.route.as_ref()));
        self.upkeep = stuck.then(|| self.upkeep.unwrap_or(next).min(next));
    }

    async fn wait(&mut self) {
        let clock = self.shared.options.clock;
        // What falls due while the gate is closed is asked for when it opens.
        let due = self.line.due().filter(|_| self.opens.is_none());
        let wake = [due, self.opens, self.upkeep].into_iter().flatten().min();
        tokio::select! {
            Some(attempted) = self.attempts.next() => self.attempted(attempted),
            news = self.line.next() => self.hear(news),
            () = self.arrivals.woken() => {
                self.line.look_again();
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
        if self.line.due().is_some_and(|due| due <= now) {
            self.line.look_again();
        }
        if self.upkeep.take_if(|at| *at <= now).is_some() {
            self.line.keep_up(self.route.clone());
        }
    }

    fn hear(&mut self, news: News) {
        match news {
            News::Upkeep(done) => self.report.upkeep(&done),
            News::Claimed { any: true } if self.route.is_none() => {
                self.told_parked = true;
                tracing::warn!(
                    server = self.name,
                    "notifications wait for a server that the rules do not name; name it to send them"
                );
            }
            News::Claimed { .. } | News::Nothing => {}
        }
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
        self.line.settle(pending.id, settlement, took);
        self.line.recall(first);
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
        let settlement = match next {
            Next::Bury => Settlement::Dead { reason },
            Next::Cut(part) => match cut::without(&pending.payload, part) {
                Some(payload) => Settlement::Rewrite { payload, reason },
                None => Settlement::Dead { reason },
            },
            _ if self.has_expired(pending, now) => {
                Settlement::Dead { reason: format!("waited too long; the latest attempt: {reason}") }
            }
            Next::Keep => Settlement::Retry { at: None, reason },
            Next::At(at) | Next::Hold(at) => Settlement::Retry { at: Some(at), reason },
        };
        (settlement, first)
    }

    fn has_expired(&self, pending: &Pending, now: i64) -> bool {
        now.saturating_sub(pending.waiting_since) >= millis(Upkeep::expire(self.route.as_ref()))
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

    async fn wind_down(mut self) {
        let grace = self.stop.borrow().unwrap_or_else(Instant::now);
        self.line.release();
        while let Ok(Some(attempted)) = timeout_at(grace, self.attempts.next()).await {
            self.attempted(attempted);
        }
        // What did not finish is cut off before it is released, never sent by two at a time.
        self.attempts.clear();
        for id in std::mem::take(&mut self.under_way).into_keys() {
            self.line.send_back(id, Settlement::Release, Duration::ZERO);
        }
        self.line.wind_down(grace + LAST_WRITES).await;
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
