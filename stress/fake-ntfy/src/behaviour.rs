//! How the server misbehaves. Everything can be changed while it runs; the JSON form serves `POST /behaviour`.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::limits::Limits;
use crate::millis;

/// What the server does with a publish request. The default is a healthy server that answers at once.
/// In JSON every field may be left out, and durations are milliseconds (`latency_ms`, `keep_alive_ms`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Behaviour {
    /// How long an answer takes. The message counts as accepted before the wait, as in ntfy.
    #[serde(rename = "latency_ms", with = "millis")]
    pub latency: Duration,
    /// The share of requests, 0.0 to 1.0, that fail with `failure_status`.
    pub failure_rate: f64,
    /// The status of a random failure.
    pub failure_status: u16,
    /// ntfy's five-digit code of a random failure.
    pub failure_code: u32,
    /// Answers every request with this status and code.
    pub status: Option<(u16, u32)>,
    /// One fault for each request to come; then normal again.
    pub script: VecDeque<Fault>,
    /// Reads every request and never answers.
    pub hang: bool,
    /// Closes the connection of every request without an answer.
    pub close: bool,
    /// The whole `Authorization` value a request must carry, else 401/40101.
    pub require_authorization: Option<String>,
    /// Topics that are refused, each with the status and ntfy's code; checked after authorization.
    pub refuse: Vec<(String, u16, u32)>,
    /// ntfy's limits on a visitor. What is spent lasts until other limits are set or the server is cleared.
    pub limits: Option<Limits>,
    /// Closes a connection that has been idle for this long after an answer.
    #[serde(rename = "keep_alive_ms", with = "millis::optional")]
    pub keep_alive: Option<Duration>,
    /// Answers errors with an HTML page, as a proxy in front of ntfy does.
    pub html: bool,
    /// Adds `Retry-After` to every error answer; ntfy itself never does.
    pub retry_after: Option<u64>,
}

/// What happens to one request. `CloseAfterAccepting` and `Latency` let it through: it is checked, and takes its
/// token of the limits, like any other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// Answers with this status and ntfy's five-digit code; nothing is kept.
    Status(u16, u32),
    /// Reads the request, keeps nothing and never answers.
    Hang,
    /// Closes the connection before the body is read.
    Close,
    /// Closes the connection after the body was read; nothing is kept.
    CloseAfterReading,
    /// Keeps the message, then closes the connection: the push went out, but the sender cannot know.
    CloseAfterAccepting,
    /// Accepts the message and answers this much later.
    #[serde(rename = "latency_ms", with = "millis")]
    Latency(Duration),
    /// Answers 302 to another address, as a proxy that wants HTTPS does.
    Redirect,
    /// Answers an HTML page with this status, as a proxy or a captive portal does; nothing is kept.
    Page(u16),
    /// Answers this status with this plain text; nothing is kept.
    Text(u16, String),
    /// Answers an HTML page with this status and `Retry-After` in seconds; nothing is kept.
    RetryAfter(u16, u64),
}

impl Default for Behaviour {
    fn default() -> Self {
        Behaviour {
            latency: Duration::ZERO,
            failure_rate: 0.0,
            failure_status: 500,
            failure_code: 50001,
            status: None,
            script: VecDeque::new(),
            hang: false,
            close: false,
            require_authorization: None,
            refuse: Vec::new(),
            limits: None,
            keep_alive: None,
            html: false,
            retry_after: None,
        }
    }
}

impl Behaviour {
    /// Takes the fault for the next request: the script first, then what holds for every request, then chance.
    pub(crate) fn next_fault(&mut self) -> Option<Fault> {
        if let Some(fault) = self.script.pop_front() {
            return Some(fault);
        }
        if self.close {
            return Some(Fault::Close);
        }
        if self.hang {
            return Some(Fault::Hang);
        }
        if let Some((status, code)) = self.status {
            return Some(Fault::Status(status, code));
        }
        let unlucky = self.failure_rate > 0.0 && fastrand::f64() < self.failure_rate;
        unlucky.then_some(Fault::Status(self.failure_status, self.failure_code))
    }
}
