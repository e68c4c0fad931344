//! How the servers are, for whoever wants to know: the operator, the admin listener.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::gate::{Closed, Why};

/// One server that takes nothing just now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// Why.
    pub why: Why,
    /// Since when, in Unix milliseconds.
    pub since: i64,
    /// When it is tried again, in Unix milliseconds.
    pub until: i64,
    /// What the server said.
    pub reason: String,
}

/// How one server is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Condition {
    /// Why it takes nothing, if it does not.
    pub trouble: Option<Trouble>,
    /// Topics that it refuses, in order.
    pub refused_topics: Vec<String>,
}

/// The condition of every server that was sent to.
#[derive(Debug, Default)]
pub struct Board(Mutex<BTreeMap<String, Condition>>);

impl Board {
    /// All servers, by name.
    pub fn conditions(&self) -> BTreeMap<String, Condition> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn post(&self, server: &str, condition: Condition) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(server.to_owned(), condition);
    }
}

impl From<&Closed> for Trouble {
    fn from(closed: &Closed) -> Self {
        Self { why: closed.why, since: closed.since, until: closed.until, reason: closed.reason.clone() }
    }
}

impl Why {
    /// In a word, for people and machines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Down => "down",
            Self::Refused => "refused",
            Self::Quota => "quota",
            Self::Limited => "limited",
        }
    }
}
