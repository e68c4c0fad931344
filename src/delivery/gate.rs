//! Whether a server may be sent to now, and what becomes of a notification it did not take. Pure: time and chance
//! come from outside. Times are Unix milliseconds.
//!
//! A closed gate lets one probe through when its time has come: a notification like any other. What the probe meets
//! opens the gate or keeps it closed for longer.

mod terms;

use std::collections::HashMap;
use std::time::Duration;

use uuid::Uuid;

use super::pace::Bucket;
use crate::clock::millis;
use crate::ntfy::{Cause, Failure};
use crate::rules::target::{Pace, Target};
pub(super) use terms::Closed;
pub(super) use terms::{Next, Permit, Tried};
pub use terms::{Patience, Why};

/// Failures without a success in between after which a server counts as down: one message can be at fault alone.
const STREAK: u32 = 3;
/// Attempts after which a message no longer leads the probes, lest it be the reason for their failing.
const LEADS: u32 = 4;
/// ntfy's bucket of requests by default (`visitor-request-limit-burst` and `-replenish`).
const NTFY_BURST: u32 = 60;
const NTFY_PER: Duration = Duration::from_secs(5);
/// The longest wait after a 429 without a pause asked for.
const LONGEST_LIMIT: Duration = Duration::from_secs(60);
/// The wait after a 429 that asks for none.
const LEAST_LIMIT: Duration = Duration::from_secs(1);
/// The wait after a 429 that is not of ntfy's bucket.
const OTHER_LIMIT: Duration = Duration::from_secs(10);
/// The server's clock may be behind ours when its quota starts anew.
const CLOCK_SKEW: Duration = Duration::from_secs(5);
const DAY_MS: i64 = 24 * 60 * 60 * 1000;
/// Suspects that are remembered.
const MOST_SUSPECTS: usize = 1000;

#[derive(Debug, Clone, Copy)]
struct Hold {
    until: i64,
    times: u32,
    /// Whether a person has to change something first.
    forbidden: bool,
}

/// One server's gate.
#[derive(Debug)]
pub(super) struct Gate {
    patience: Patience,
    closed: Option<Closed>,
    streak: u32,
    /// Postponed for failures that may have been the server's: they go first once it is back.
    suspects: Vec<Uuid>,
    own_pace: Option<Bucket>,
    /// The server's bucket, as far as its answers tell.
    learnt_pace: Option<Bucket>,
    topics: HashMap<String, Hold>,
    quota_reset: u32,
}

impl Gate {
    pub(super) fn new(patience: Patience) -> Self {
        Self {
            patience,
            closed: None,
            streak: 0,
            suspects: Vec::new(),
            own_pace: None,
            learnt_pace: None,
            topics: HashMap::new(),
            quota_reset: 0,
        }
    }

    /// The target is new or has changed: whatever the server refused may work now.
    pub(super) fn retarget(&mut self, target: &Target, now: i64) {
        self.own_pace = target.pace.map(|Pace { burst, per }| Bucket::full(burst.get(), per, now));
        self.learnt_pace = None;
        self.quota_reset = target.quota_reset;
        self.lift(now);
    }

    /// Lets the next probe go at once, unless the server only asked for a pause.
    pub(super) fn lift(&mut self, now: i64) {
        self.topics.clear();
        if let Some(closed) = self.closed.as_mut().filter(|closed| closed.why != Why::Limited) {
            closed.until = now;
        }
    }

    pub(super) fn closed(&self) -> Option<&Closed> {
        self.closed.as_ref()
    }

    /// Whether only one goes at a time.
    pub(super) fn is_slow(&self) -> bool {
        self.closed.is_some() || self.learnt_pace.is_some()
    }

    /// Until when the topic has to wait.
    pub(super) fn held_until(&self, topic: &str, now: i64) -> Option<i64> {
        self.topics.get(topic).map(|hold| hold.until).filter(|until| *until > now)
    }

    /// The topics that the server refuses, in order.
    pub(super) fn forbidden_topics(&self) -> Vec<String> {
        let mut topics: Vec<String> =
            self.topics.iter().filter(|(_, hold)| hold.forbidden).map(|(topic, _)| topic.clone()).collect();
        topics.sort();
        topics
    }

    pub(super) fn permit(&self, now: i64, under_way: usize) -> Permit {
        if let Some(closed) = &self.closed {
            return match under_way {
                _ if closed.until > now => Permit::Wait(Some(closed.until)),
                0 => Permit::Probe,
                _ => Permit::Wait(None),
            };
        }
        // One at a time, or the end of one would tell nothing of the others.
        if self.learnt_pace.is_some() && under_way > 0 {
            return Permit::Wait(None);
        }
        let paces = self.own_pace.iter().chain(&self.learnt_pace);
        match paces.map(|pace| pace.next(now)).max() {
            Some(next) if next > now => Permit::Wait(Some(next)),
            _ => Permit::Open,
        }
    }

    /// An attempt begins.
    pub(super) fn started(&mut self, now: i64) {
        self.own_pace.iter_mut().chain(&mut self.learnt_pace).for_each(|pace| pace.take(now));
    }

    /// The server took a notification. Returns what it may have failed over before: those go first now.
    pub(super) fn delivered(&mut self, topic: &str, probe: bool, now: i64) -> Vec<Uuid> {
        self.topics.remove(topic);
        self.answered(probe, now)
    }

    /// The server answered as a healthy one does.
    fn answered(&mut self, probe: bool, now: i64) -> Vec<Uuid> {
        self.streak = 0;
        if let Some(pace) = &mut self.learnt_pace {
            pace.count_from(now);
        }
        self.learnt_pace.take_if(|pace| pace.is_full(now));
        let opens = self.closed.take_if(|closed| probe || closed.why == Why::Down).is_some();
        let suspects = std::mem::take(&mut self.suspects);
        if opens { suspects } else { Vec::new() }
    }

    /// The server did not take a notification. `chance` is in `[0, 1)`. Returns what becomes of it, and what goes first
    /// now, as [`Gate::delivered`].
    pub(super) fn failed(
        &mut self,
        failure: &Failure,
        tried: Tried<'_>,
        now: i64,
        chance: f64,
    ) -> (Next, Vec<Uuid>) {
        let next = match failure.cause {
            Cause::Unreachable => self.unreachable(failure, tried, now, chance),
            Cause::Failing => self.failing(failure, tried, now, chance),
            Cause::Limited { paced } => self.limited(failure, tried, now, paced),
            Cause::Quota => {
                let reset = next_reset(now, self.quota_reset) + millis(CLOCK_SKEW);
                self.close(Why::Quota, failure, tried.probe, now, |_| reset);
                Next::Keep
            }
            Cause::Misconfigured { by_ntfy } => self.misconfigured(failure, tried, now, chance, by_ntfy),
            // The others are about this notification or its topic: the server is well.
            cause => {
                let first = self.answered(tried.probe, now);
                return (self.refused(cause, tried, now, chance), first);
            }
        };
        (next, Vec::new())
    }

    fn unreachable(&mut self, failure: &Failure, tried: Tried<'_>, now: i64, chance: f64) -> Next {
        self.close_down(failure, tried.probe, now, chance);
        if tried.attempts < LEADS {
            return Next::Keep;
        }
        self.suspect(tried.id);
        Next::At(now + millis(self.patience.message.after(tried.attempts, chance)))
    }

    fn failing(&mut self, failure: &Failure, tried: Tried<'_>, now: i64, chance: f64) -> Next {
        self.streak += 1;
        self.suspect(tried.id);
        if self.streak >= STREAK || tried.probe {
            self.close_down(failure, tried.probe, now, chance);
        }
        let wait = self.patience.message.after(tried.attempts, chance);
        Next::At(now + millis(wait.max(failure.after.unwrap_or_default())))
    }

    fn limited(&mut self, failure: &Failure, tried: Tried<'_>, now: i64, paced: bool) -> Next {
        let base = if paced { NTFY_PER } else { OTHER_LIMIT };
        let doubled = |probes: u32| base.saturating_mul(1_u32.checked_shl(probes).unwrap_or(u32::MAX));
        let wait = |probes| match failure.after {
            Some(asked) => now + millis(asked.max(LEAST_LIMIT)),
            None => now + millis(doubled(probes).min(LONGEST_LIMIT)),
        };
        self.close(Why::Limited, failure, tried.probe, now, wait);
        if paced {
            self.learnt_pace = Some(Bucket::empty(NTFY_BURST, NTFY_PER, now));
        }
        Next::Keep
    }

    fn misconfigured(
        &mut self,
        failure: &Failure,
        tried: Tried<'_>,
        now: i64,
        chance: f64,
        by_ntfy: bool,
    ) -> Next {
        let refused = self.patience.refused;
        let asked = failure.after.unwrap_or_default();
        let wait = |probes| now + millis(refused.after(probes, chance).max(asked));
        self.close(Why::Refused, failure, tried.probe, now, wait);
        if by_ntfy || tried.attempts < LEADS {
            return Next::Keep;
        }
        // A proxy may mind this one only: another leads the next probe.
        let until = self.closed.as_ref().map_or(now, |closed| closed.until);
        Next::At(until + millis(self.patience.message.after(tried.attempts, chance)))
    }

    fn refused(&mut self, cause: Cause, tried: Tried<'_>, now: i64, chance: f64) -> Next {
        let times = self.topics.get(tried.topic).map_or(0, |hold| hold.times + 1);
        let hold = match cause {
            Cause::TopicLimited(wait) => Hold { until: now + millis(wait), times: 0, forbidden: false },
            Cause::TopicForbidden => {
                let wait = self.patience.refused.after(times, chance);
                Hold { until: now + millis(wait), times, forbidden: true }
            }
            Cause::TooLarge(part) if !tried.rewritten => return Next::Cut(part),
            _ => return Next::Bury,
        };
        self.topics.insert(tried.topic.to_owned(), hold);
        Next::Hold(hold.until)
    }

    fn close_down(&mut self, failure: &Failure, probe: bool, now: i64, chance: f64) {
        let (backoff, asked) = (self.patience.probe, failure.after.unwrap_or_default());
        self.close(Why::Down, failure, probe, now, |probes| {
            now + millis(backoff.after(probes, chance).max(asked))
        });
    }

    /// Closes for a time that depends on the probes that failed. What was under way when the gate closed already
    /// tells nothing new but a later time.
    fn close(&mut self, why: Why, failure: &Failure, probe: bool, now: i64, until: impl Fn(u32) -> i64) {
        let before = self.closed.take();
        let probes = before
            .as_ref()
            .filter(|closed| closed.why == why)
            .map_or(0, |closed| closed.probes + u32::from(probe));
        let since = before.as_ref().map_or(now, |closed| closed.since);
        self.closed = match before {
            Some(closed) if !probe && closed.until >= until(probes) => Some(closed),
            _ => Some(Closed { why, since, until: until(probes), reason: failure.reason.clone(), probes }),
        };
    }

    fn suspect(&mut self, id: Uuid) {
        if self.suspects.len() < MOST_SUSPECTS {
            self.suspects.push(id);
        }
    }
}

/// The next time of day `reset` (seconds after midnight, UTC).
fn next_reset(now: i64, reset: u32) -> i64 {
    let today = now - now.rem_euclid(DAY_MS) + i64::from(reset) * 1000;
    if today > now { today } else { today + DAY_MS }
}

#[cfg(test)]
mod tests;
