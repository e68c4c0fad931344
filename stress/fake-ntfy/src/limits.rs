//! ntfy's limits on one visitor, as settings. Everybody who publishes counts as the same visitor.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::millis;

/// How much may be published, on a clock of its own. The default is ntfy's default.
/// In JSON every field may be left out, and durations are milliseconds (`per_ms`, `topics_per_ms`,
/// `auth_failures_per_ms`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Requests at once, failing ones too; beyond that 429/42901.
    pub requests: u64,
    /// The virtual time after which one more request may come.
    #[serde(rename = "per_ms", with = "millis")]
    pub per: Duration,
    /// Messages accepted in a virtual UTC day; beyond that 429/42908. Unlimited when absent.
    pub messages: Option<u64>,
    /// Topics published to for the first time, at once; beyond that 429/42911.
    pub topics: u64,
    /// The virtual time after which one more topic may come.
    #[serde(rename = "topics_per_ms", with = "millis")]
    pub topics_per: Duration,
    /// Answers 401/40101 at once; beyond that 429/42909 in their place.
    pub auth_failures: u64,
    /// The virtual time after which one more 401 may be answered.
    #[serde(rename = "auth_failures_per_ms", with = "millis")]
    pub auth_failures_per: Duration,
    /// Virtual seconds in a real second; 0 makes the clock stand still.
    pub speed: u32,
    /// The Unix time, in seconds, at which the clock starts; the real time when absent.
    pub now_unix: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            requests: 60,
            per: Duration::from_secs(5),
            messages: Some(17_280),
            topics: 100,
            topics_per: Duration::from_secs(60),
            auth_failures: 30,
            auth_failures_per: Duration::from_secs(60),
            speed: 1,
            now_unix: None,
        }
    }
}
