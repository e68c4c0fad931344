//! What a gate is asked and what it says.

use std::time::Duration;

use uuid::Uuid;

use crate::ntfy::Part;
use crate::outbox::retry::Backoff;

/// How long to wait after which failure.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// For a notification whose own attempt failed.
    pub message: Backoff,
    /// For a server that is down, until the next probe. At least a second keeps probes to one a second.
    pub probe: Backoff,
    /// For a server or topic that refuses: a person has to change something first.
    pub refused: Backoff,
}

impl Default for Patience {
    fn default() -> Self {
        let backoff =
            |base, cap| Backoff::new(Duration::from_secs(base), Duration::from_secs(cap)).unwrap_or_default();
        Self { message: backoff(1, 300), probe: backoff(2, 30), refused: backoff(120, 1800) }
    }
}

/// Why a gate is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The server cannot be reached, or fails.
    Down,
    /// Nothing can be sent until a person changes something.
    Refused,
    /// The day's messages are used up.
    Quota,
    /// Too many requests just now.
    Limited,
}

/// A closed gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closed {
    /// Why.
    pub why: Why,
    /// Since when.
    pub since: i64,
    /// No probe before this time.
    pub until: i64,
    /// What the server said.
    pub reason: String,
    /// Probes that failed.
    pub(super) probes: u32,
}

/// What may be sent now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::delivery) enum Permit {
    /// One more.
    Open,
    /// One, to see whether the server is back.
    Probe,
    /// None before this time, or until what is under way has ended.
    Wait(Option<i64>),
}

/// The notification whose attempt failed.
#[derive(Debug, Clone, Copy)]
pub(in crate::delivery) struct Tried<'a> {
    pub(in crate::delivery) id: Uuid,
    pub(in crate::delivery) topic: &'a str,
    /// Attempts before this one.
    pub(in crate::delivery) attempts: u32,
    pub(in crate::delivery) rewritten: bool,
    pub(in crate::delivery) probe: bool,
}

/// What becomes of a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::delivery) enum Next {
    /// It is tried again at its place in line.
    Keep,
    /// It is tried again then.
    At(i64),
    /// It and its topic are tried again then.
    Hold(i64),
    /// It is tried again without the end of this part.
    Cut(Part),
    /// It is given up.
    Bury,
}
