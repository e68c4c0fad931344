//! What can be looked up in a store, beside a running gateway or without one.

use serde::Serialize;
use uuid::Uuid;

use super::record::Record;
use super::webhook::Verdict;

/// One notification as `outbox list` shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Entry {
    /// Its id.
    pub id: Uuid,
    /// `waiting`, `delivered`, `dead` or `dropped`.
    pub state: &'static str,
    /// The webhook it was made of.
    pub webhook: Uuid,
    /// The source of that webhook.
    pub source: String,
    /// The rule that made it.
    pub rule: String,
    /// The server it is for.
    pub server: String,
    /// The server it was for at first, once another took over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_server: Option<String>,
    /// The topic.
    pub topic: String,
    /// The title, or the beginning of the message.
    pub text: String,
    /// When its webhook was received, in Unix milliseconds.
    pub received_at: i64,
    /// While waiting: not before this time, in Unix milliseconds; 0 at its place in line.
    pub due_at: i64,
    /// When it was delivered, dead or dropped, in Unix milliseconds.
    pub settled_at: Option<i64>,
    /// Attempts that ended.
    pub attempts: u32,
    /// Why the latest attempt failed.
    pub reason: Option<String>,
    /// The server's id of the message.
    pub receipt: Option<String>,
    /// How long the attempt took that delivered it, in milliseconds.
    pub took_ms: Option<i64>,
    /// The JSON for ntfy; only in [`super::Browser::find`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<serde_json::Value>,
    /// Failed attempts, oldest first, the latest 20; only in [`super::Browser::find`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<Attempt>,
}

/// A failed attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Attempt {
    /// When it ended, in Unix milliseconds.
    pub at: i64,
    /// How long it took, in milliseconds.
    pub took_ms: i64,
    /// Which server it asked.
    pub server: String,
    /// Why it failed.
    pub reason: String,
}

/// Which notifications to list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    /// Only in these states.
    pub states: Vec<&'static str>,
    /// Only of this source.
    pub source: Option<String>,
    /// Only for this server.
    pub server: Option<String>,
    /// Only of webhooks received at this time or later, in Unix milliseconds.
    pub since: Option<i64>,
    /// At most so many, the newest.
    pub limit: usize,
}

/// What a list came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Page {
    /// Newest first.
    pub notifications: Vec<Entry>,
    /// Whether the limit left some out.
    pub more: bool,
}

/// Which webhooks to look for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Search {
    /// Only older ones than that of this row, as in [`Arrival::row`].
    pub before: Option<i64>,
    /// Only of this source.
    pub source: Option<String>,
    /// Only those of this state.
    pub state: Option<State>,
    /// Only those whose id begins with this text, or whose source or notifications hold it.
    pub text: Option<String>,
    /// At most so many, the newest.
    pub limit: usize,
}

/// What a webhook, or one of its notifications, has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// A notification waits.
    Waiting,
    /// A notification was delivered.
    Delivered,
    /// A notification is dead.
    Dead,
    /// A notification was given up by an operator, or a rule dropped the webhook.
    Dropped,
    /// No rule matched it.
    Unmatched,
    /// It repeats an earlier one.
    Duplicate,
}

impl State {
    /// All of them, with their names.
    pub const ALL: [(Self, &'static str); 6] = [
        (Self::Waiting, "waiting"),
        (Self::Delivered, "delivered"),
        (Self::Dead, "dead"),
        (Self::Dropped, "dropped"),
        (Self::Unmatched, "unmatched"),
        (Self::Duplicate, "duplicate"),
    ];

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(state, _)| *state)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(state, _)| *state == self).map_or("unknown", |(_, name)| name)
    }
}

/// A webhook in a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Arrival {
    /// Its place in the store: grows with every webhook.
    pub row: i64,
    /// Its id.
    pub id: Uuid,
    /// When it was received, in Unix milliseconds.
    pub received_at: i64,
    /// The source that took it.
    pub source: String,
    /// Bytes of its record.
    pub size: i64,
    /// What the rules made of it, where that was kept.
    pub verdict: Option<Verdict>,
    /// What it became, in order, as far as that is still kept.
    pub notifications: Vec<Entry>,
}

/// A webhook with what was decided of it.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedWebhook {
    /// Its id.
    pub id: Uuid,
    /// The webhook as it came.
    pub record: Record,
    /// What the rules made of it, where that was kept.
    pub verdict: Option<Verdict>,
}

/// How much a store holds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Overview {
    /// Notifications by state.
    pub waiting: u64,
    /// Kept for a while.
    pub delivered: u64,
    /// Neither delivered nor sent again by itself.
    pub dead: u64,
    /// Given up by an operator.
    pub dropped: u64,
    /// When the oldest waiting one was received, in Unix milliseconds.
    pub oldest_waiting_at: Option<i64>,
    /// What waits and what is dead, by server.
    pub servers: Vec<ServerCount>,
    /// Records of webhooks.
    pub webhooks: u64,
    /// Bytes in use.
    pub used_bytes: u64,
    /// Bytes of the file, with what is free for reuse.
    pub file_bytes: u64,
}

/// Counts of one server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ServerCount {
    /// Its name.
    pub server: String,
    /// Notifications that wait for it.
    pub waiting: u64,
    /// Notifications that are dead.
    pub dead: u64,
}
