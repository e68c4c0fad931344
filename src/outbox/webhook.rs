//! What comes in: a webhook, what was decided of it, and the notifications it became.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::record::Kept;
use crate::clock::unix_ms;

/// A new id for a webhook or a notification: version 7, so that those of one time stand together in the store. Unique,
/// not secret.
pub fn new_id() -> Uuid {
    let millis = u64::try_from(unix_ms()).unwrap_or_default();
    let mut random = [0; 10];
    fastrand::fill(&mut random);
    uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid()
}

/// A webhook and every notification it became. All of them are stored, or none.
#[derive(Debug, Clone, PartialEq)]
pub struct Webhook {
    /// A version 7 UUID, also shown to the sender.
    pub id: Uuid,
    /// The name of the source that took it.
    pub source: String,
    /// When its body was complete, in Unix milliseconds.
    pub received_at: i64,
    /// The webhook as it came, to be looked up later; `None` keeps nothing of it.
    pub record: Option<Kept>,
    /// What the rules made of it, kept with the record.
    pub verdict: Verdict,
    /// What tells its repeats; `None` takes every one for new.
    pub once: Option<Once>,
    /// What to publish, in this order.
    pub notifications: Vec<Outgoing>,
}

/// What the rules made of a webhook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// What became of it.
    pub outcome: VerdictOutcome,
    /// The rules that matched, in order.
    pub rules: Vec<String>,
    /// The webhook that it repeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<Uuid>,
}

/// What became of a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictOutcome {
    /// It became notifications.
    Published,
    /// A rule dropped it.
    Dropped,
    /// No rule matched, or what matched published nothing.
    Unmatched,
    /// It repeats an earlier one.
    Duplicate,
}

/// A key that repeats of a webhook share, within its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Once {
    /// The key.
    pub key: String,
    /// How long it is remembered.
    pub window: Duration,
}

/// What [`super::Outbox::enqueue`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enqueued {
    /// The notifications are on disk.
    Stored,
    /// Nothing but a record: the webhook repeats the one with this id.
    Duplicate(Uuid),
}

/// One notification on its way to an ntfy server.
#[derive(Debug, Clone, PartialEq)]
pub struct Outgoing {
    /// A version 7 UUID.
    pub id: Uuid,
    /// The server's name in the rules.
    pub server: String,
    /// The topic; the payload holds it too.
    pub topic: String,
    /// The rule that made it.
    pub rule: String,
    /// A sequence id that others may share: those of one topic are sent strictly in order.
    pub sequence: Option<String>,
    /// The JSON that ntfy takes at its root.
    pub payload: String,
}
