//! What has been spent of the limits.

use std::collections::HashSet;

use crate::answer::{Refusal, refusal};
use crate::bucket::Bucket;
use crate::clock::Clock;
use crate::limits::Limits;

const DAY_MS: i64 = 24 * 3600 * 1000;

/// Watches over the limits of the one visitor there is.
pub(crate) struct Limiter {
    limits: Limits,
    clock: Clock,
    spent: Spent,
}

struct Spent {
    requests: Bucket,
    topics: Bucket,
    auth_failures: Bucket,
    known_topics: HashSet<String>,
    /// The day, counted from 1970, that the messages belong to.
    day: i64,
    messages: u64,
}

impl Limiter {
    pub(crate) fn new(limits: Limits) -> Limiter {
        let clock = Clock::start(limits.now_unix, limits.speed);
        let spent = Spent::nothing(&limits, clock.now_unix_ms());
        Limiter { limits, clock, spent }
    }

    /// Fills every bucket again; the clock runs on.
    pub(crate) fn reset(&mut self) {
        self.spent = Spent::nothing(&self.limits, self.now_unix_ms());
    }

    pub(crate) fn now_unix_ms(&self) -> i64 {
        self.clock.now_unix_ms()
    }

    /// Takes the token that every request needs.
    pub(crate) fn request(&mut self) -> Result<(), Refusal> {
        let now = self.now_unix_ms();
        allowed(self.spent.requests.take(now), 42901, "too many requests")
    }

    /// Takes the token that an answer 401 needs.
    pub(crate) fn auth_failure(&mut self) -> Result<(), Refusal> {
        let now = self.now_unix_ms();
        allowed(self.spent.auth_failures.take(now), 42909, "too many auth failures")
    }

    /// Takes a token for a topic not seen before, and counts the message of today.
    pub(crate) fn message(&mut self, topic: &str) -> Result<(), Refusal> {
        let now = self.now_unix_ms();
        let known = self.spent.known_topics.contains(topic);
        allowed(known || self.spent.topics.take(now), 42911, "too many new topics")?;
        if !known {
            self.spent.known_topics.insert(topic.to_owned());
        }
        let within = self.limits.messages.is_none_or(|most| self.spent.messages_on(now) < most);
        allowed(within, 42908, "daily message quota reached")?;
        self.spent.messages += 1;
        Ok(())
    }
}

impl Spent {
    fn nothing(limits: &Limits, now: i64) -> Spent {
        Spent {
            requests: Bucket::full(limits.requests, limits.per, now),
            topics: Bucket::full(limits.topics, limits.topics_per, now),
            auth_failures: Bucket::full(limits.auth_failures, limits.auth_failures_per, now),
            known_topics: HashSet::new(),
            day: now.div_euclid(DAY_MS),
            messages: 0,
        }
    }

    /// The messages accepted on the day of `now`, in Unix milliseconds.
    fn messages_on(&mut self, now: i64) -> u64 {
        let day = now.div_euclid(DAY_MS);
        if self.day != day {
            (self.day, self.messages) = (day, 0);
        }
        self.messages
    }
}

fn allowed(allowed: bool, code: u32, what: &str) -> Result<(), Refusal> {
    if allowed { Ok(()) } else { Err(refusal(code, format!("limit reached: {what}"))) }
}
