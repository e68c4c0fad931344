//! An ntfy server that rules publish to, as the delivery needs it.

use std::num::NonZeroUsize;
use std::time::Duration;

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
}

/// All servers by name.
pub type Targets = std::collections::BTreeMap<String, std::sync::Arc<Target>>;
