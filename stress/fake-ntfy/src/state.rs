//! What the server remembers: messages, counts and its present behaviour.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::answer::Refusal;
use crate::behaviour::Behaviour;
use crate::clock::real_unix_ms;
use crate::connection::Connections;
use crate::limiter::Limiter;

/// How a server is started.
#[derive(Clone, Debug)]
pub struct Options {
    /// The address to listen on; 127.0.0.1 unless changed.
    pub host: String,
    /// The port to listen on; a free one when absent.
    pub port: Option<u16>,
    /// How it behaves from the first request on.
    pub behaviour: Behaviour,
    /// How many messages are remembered at most; beyond that the oldest go. Counts are not affected.
    pub keep: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options { host: "127.0.0.1".into(), port: None, behaviour: Behaviour::default(), keep: 100_000 }
    }
}

/// What has been counted. Only publish requests count as requests; connections count whatever they carry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    /// Publish requests that arrived, answered or not.
    pub requests: u64,
    /// Messages taken.
    pub accepted: u64,
    /// Requests answered with anything but 200.
    pub refused: u64,
    /// Answers by HTTP status.
    pub by_status: BTreeMap<u16, u64>,
    /// Refusals by ntfy's five-digit code, also of those shown as HTML; pages and texts of others have none.
    #[serde(default)]
    pub by_code: BTreeMap<u32, u64>,
    /// Requests being worked on at this moment, hung ones too.
    pub in_flight: u64,
    /// The most requests worked on at one time.
    pub in_flight_peak: u64,
    /// TCP connections open at this moment.
    pub connections_now: u64,
    /// The most TCP connections open at one time.
    pub connections_peak: u64,
    /// TCP connections ever accepted.
    pub connections_total: u64,
}

pub(crate) struct State {
    pub(crate) connections: Connections,
    behaviour: Mutex<Behaviour>,
    /// There when the behaviour has limits; locked after the behaviour when both are.
    limiter: Mutex<Option<Limiter>>,
    seen: Mutex<Seen>,
    arrived: Condvar,
    keep: usize,
}

#[derive(Default)]
struct Seen {
    messages: VecDeque<Value>,
    stats: Stats,
}

impl State {
    pub(crate) fn new(options: Options) -> State {
        State {
            connections: Connections::default(),
            limiter: Mutex::new(options.behaviour.limits.clone().map(Limiter::new)),
            behaviour: Mutex::new(options.behaviour),
            seen: Mutex::default(),
            arrived: Condvar::new(),
            keep: options.keep,
        }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(crate) fn behaviour(&self) -> MutexGuard<'_, Behaviour> {
        self.behaviour.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn limiter(&self) -> MutexGuard<'_, Option<Limiter>> {
        self.limiter.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(crate) fn set(&self, behaviour: Behaviour) {
        let mut present = self.behaviour();
        if present.limits != behaviour.limits {
            *self.limiter() = behaviour.limits.clone().map(Limiter::new);
        }
        *present = behaviour;
    }

    /// Asks the limiter; without limits everything may pass.
    pub(crate) fn within_limits(
        &self,
        ask: impl FnOnce(&mut Limiter) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        self.limiter().as_mut().map_or(Ok(()), ask)
    }

    pub(crate) fn now_unix_ms(&self) -> i64 {
        self.limiter().as_ref().map_or_else(real_unix_ms, Limiter::now_unix_ms)
    }

    pub(crate) fn messages(&self) -> Vec<Value> {
        self.seen().messages.iter().cloned().collect()
    }

    pub(crate) fn clear(&self) {
        let mut seen = self.seen();
        let in_flight = seen.stats.in_flight;
        *seen = Seen {
            stats: Stats { in_flight, in_flight_peak: in_flight, ..Stats::default() },
            ..Seen::default()
        };
        drop(seen);
        self.connections.reset();
        if let Some(limiter) = self.limiter().as_mut() {
            limiter.reset();
        }
    }

    pub(crate) fn stats(&self) -> Stats {
        let stats = self.seen().stats.clone();
        let [connections_now, connections_peak, connections_total] = self.connections.counts();
        Stats { connections_now, connections_peak, connections_total, ..stats }
    }

    pub(crate) fn accept(&self, message: Value) {
        let mut seen = self.seen();
        seen.stats.accepted += 1;
        seen.messages.push_back(message);
        while seen.messages.len() > self.keep {
            seen.messages.pop_front();
        }
        drop(seen);
        self.arrived.notify_all();
    }

    /// Counts an answer, by ntfy's code too when it is a refusal.
    pub(crate) fn answered(&self, status: u16, code: Option<u32>) {
        let stats = &mut self.seen().stats;
        if let Some(code) = code.filter(|_| status != 200) {
            *stats.by_code.entry(code).or_default() += 1;
        }
        *stats.by_status.entry(status).or_default() += 1;
        stats.refused += u64::from(status != 200);
    }

    /// Counts a request until the guard is dropped, which also happens when the client goes away.
    pub(crate) fn enter(&self) -> InFlight<'_> {
        let stats = &mut self.seen().stats;
        stats.requests += 1;
        stats.in_flight += 1;
        stats.in_flight_peak = stats.in_flight_peak.max(stats.in_flight);
        InFlight(self)
    }

    pub(crate) fn wait_for_messages(&self, n: usize, within: Duration) -> Vec<Value> {
        let start = Instant::now();
        let mut seen = self.seen();
        while seen.messages.len() < n {
            let Some(left) = within.checked_sub(start.elapsed()) else {
                let (got, stats) = (seen.messages.len(), seen.stats.clone());
                let last: Vec<_> = seen.messages.iter().rev().take(3).map(Value::to_string).collect();
                drop(seen);
                panic!(
                    "waited {within:?} for {n} messages, got {got}\n{stats:#?}\nlast messages:\n{}",
                    last.join("\n")
                );
            };
            seen = self.arrived.wait_timeout(seen, left).unwrap_or_else(|poisoned| poisoned.into_inner()).0;
        }
        seen.messages.iter().cloned().collect()
    }
}

pub(crate) struct InFlight<'a>(&'a State);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.seen().stats.in_flight -= 1;
    }
}
