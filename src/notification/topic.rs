//! Topic names and sequence ids, which ntfy checks alike.

use serde::Serialize;

/// Names that are paths of ntfy's own pages and API (`server/config.go`).
const RESERVED: [&str; 10] =
    ["docs", "static", "file", "app", "metrics", "account", "settings", "signup", "login", "v1"];

/// A valid topic: 1 to 64 of `A-Z a-z 0-9 - _`, and none of ntfy's reserved names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Topic(String);

/// Why a text is not a topic.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTopic {
    /// ntfy would answer 400/40009.
    #[error("invalid topic {0:?}: a topic is 1 to 64 letters, digits, `-` and `_`")]
    Malformed(String),
    /// ntfy would answer 400/40010.
    #[error("topic {0:?} is reserved by ntfy")]
    Reserved(String),
}

impl Topic {
    /// Checks `text` as ntfy does.
    pub fn parse(text: &str) -> Result<Self, InvalidTopic> {
        if !is_well_formed(text) {
            return Err(InvalidTopic::Malformed(text.to_owned()));
        }
        if RESERVED.contains(&text) {
            return Err(InvalidTopic::Reserved(text.to_owned()));
        }
        Ok(Self(text.to_owned()))
    }

    /// Checks `text` as a sequence id: the same letters, nothing reserved.
    pub fn parse_sequence_id(text: &str) -> Result<Self, InvalidTopic> {
        if is_well_formed(text) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidTopic::Malformed(text.to_owned()))
        }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_well_formed(text: &str) -> bool {
    let legal = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    (1..=64).contains(&text.len()) && text.bytes().all(legal)
}
