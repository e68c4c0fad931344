//! An ntfy server that rules publish to, as the delivery needs it.

use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Duration;

use crate::notification::Topic;
use crate::secret::Secret;

/// One entry of `servers:`, ready for use.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// The entry's key, which `publish.server` names.
    pub name: String,
    /// Where JSON is published: the server's root, such as `https://ntfy.example.com/`. Never holds a path:
    /// ntfy takes JSON at its root only, and refuses to be hosted below one.
    pub url: String,
    /// The whole `Authorization` value (`Bearer tk_…` or `Basic …`), when the server wants one.
    pub authorization: Option<Secret>,
    /// The most connections that may be open to this server at any time.
    pub connections: NonZeroUsize,
    /// How long one attempt may take, from connecting to the last byte of the answer.
    pub timeout: Duration,
    /// How fast it may be sent to, beyond what it says itself.
    pub pace: Option<Pace>,
    /// Whether the notifications of a topic are sent one after the other.
    pub ordered: bool,
    /// Who takes over while this server takes nothing.
    pub fallback: Option<Fallback>,
    /// How long a notification waits before it is given up.
    pub expire: Duration,
    /// When the server's daily quota starts anew, in seconds after midnight UTC.
    pub quota_reset: u32,
}

/// `burst` at once, then one every `per`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// How many may be sent at once after a rest.
    pub burst: NonZeroU32,
    /// The time between two after that; never zero.
    pub per: Duration,
}

/// The server that takes over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fallback {
    /// Its name.
    pub server: String,
    /// How long a notification waits before it goes there.
    pub after: Duration,
}

/// Who hears of the gateway's own troubles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operator {
    /// The server's name.
    pub server: String,
    /// The topic.
    pub topic: Topic,
}

impl Target {
    /// How long a notification waits before it is given up, unless the rules say otherwise.
    pub const EXPIRE: Duration = Duration::from_secs(72 * 60 * 60);

    /// A server with nothing but what every server has.
    pub fn new(name: impl Into<String>, url: impl Into<String>) -> Self {
        const CONNECTIONS: NonZeroUsize = NonZeroUsize::new(16).unwrap();
        Self {
            name: name.into(),
            url: url.into(),
            authorization: None,
            connections: CONNECTIONS,
            timeout: Duration::from_secs(10),
            pace: None,
            ordered: true,
            fallback: None,
            expire: Self::EXPIRE,
            quota_reset: 0,
        }
    }
}

/// All servers by name.
pub type Targets = std::collections::BTreeMap<String, std::sync::Arc<Target>>;
