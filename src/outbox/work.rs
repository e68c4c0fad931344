//! What goes out: notifications claimed for an attempt, and how attempts end.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A notification claimed for one attempt.
#[derive(Debug, Clone, PartialEq)]
pub struct Pending {
    /// As in [`super::Outgoing`].
    pub id: Uuid,
    /// As in [`super::Outgoing`].
    pub payload: String,
    /// Attempts that ended before this one.
    pub attempts: u32,
    /// When its webhook was received, in Unix milliseconds.
    pub enqueued_at: i64,
    /// Since when it counts as waiting: then too, or when an operator revived it.
    pub waiting_since: i64,
    /// As in [`super::Outgoing`].
    pub topic: String,
    /// As in [`super::Outgoing`].
    pub rule: String,
    /// The source of its webhook.
    pub source: String,
    /// Whether the payload was cut already because the server found it too large.
    pub rewritten: bool,
}

/// Which notifications never overtake each other while their server is well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Those of one topic.
    Topic,
    /// Those of one sequence only.
    Sequence,
}

/// What [`super::Outbox::claim`] found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Claimed {
    /// First what was postponed until now, then in order of arrival. Each must be settled.
    pub deliveries: Vec<Pending>,
    /// When the next one that nobody claimed falls due, in Unix milliseconds: not after `now_ms`
    /// when `limit` cut the list short, `None` when none waits for a time.
    pub next_due: Option<i64>,
    /// Whether some wait for an earlier one of their sequence to be settled.
    pub blocked: bool,
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Settlement {
    /// The server took it.
    Delivered {
        /// The server's id of the message, when it told one.
        receipt: Option<String>,
    },
    /// Try again.
    Retry {
        /// Not before this time, in Unix milliseconds; `None` keeps its place in line.
        at: Option<i64>,
        /// Why the attempt failed.
        reason: String,
    },
    /// Try again with another payload, at its place in line.
    Rewrite {
        /// The new payload.
        payload: String,
        /// Why the attempt failed.
        reason: String,
    },
    /// No attempt can help.
    Dead {
        /// Why.
        reason: String,
    },
    /// There was no attempt, and none before this time, in Unix milliseconds.
    Postpone(i64),
    /// There was no attempt: it waits as before.
    Release,
}

/// How much the outbox holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Depth {
    /// Notifications neither delivered nor dead.
    pub waiting: u64,
    /// When the oldest of them was received, in Unix milliseconds.
    pub oldest_ms: Option<i64>,
    /// Dead notifications that are still kept.
    pub dead: u64,
}

/// What an operator's wish for one notification met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reached {
    /// It is done.
    Done,
    /// It is being sent right now.
    UnderWay,
    /// The server has it already.
    Delivered,
    /// It was dropped before.
    Dropped,
    /// There is none with this id.
    Unknown,
}

/// Which dead notifications to revive.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeadFilter {
    /// Only of this source.
    pub source: Option<String>,
    /// Dead since this time or later, in Unix milliseconds.
    pub since: Option<i64>,
    /// Dead before this time, in Unix milliseconds: what dies again in the meantime is not revived twice.
    pub before: i64,
}
