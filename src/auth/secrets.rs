//! Several secrets of which any may match, so that a sender's secret can be rotated without a gap.

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::Refusal;
use crate::secret::Secret;

/// At least one secret, none of them empty.
#[derive(Debug, Clone)]
pub struct Secrets(Vec<Secret>);

/// An empty secret would let everybody in, or nobody know that it does not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a secret must not be empty")]
pub struct EmptySecret;

impl Secrets {
    /// Checks that there is a secret and that none is empty.
    pub fn new(secrets: Vec<Secret>) -> Result<Self, EmptySecret> {
        if secrets.is_empty() || secrets.iter().any(|secret| secret.expose().is_empty()) {
            return Err(EmptySecret);
        }
        Ok(Self(secrets))
    }

    /// Whether `token` is one of them.
    pub(super) fn check(&self, token: &str, what: impl Fn() -> String) -> Result<(), Refusal> {
        self.check_bytes(token.as_bytes(), what)
    }

    pub(super) fn check_bytes(&self, token: &[u8], what: impl Fn() -> String) -> Result<(), Refusal> {
        // Digests are compared, so that not even a secret's length shows in the time taken.
        let given = Sha256::digest(token);
        let matches = |secret: &Secret| Sha256::digest(secret.expose().as_bytes()).ct_eq(&given);
        let any = self.0.iter().fold(subtle::Choice::from(0), |any, secret| any | matches(secret));
        if bool::from(any) { Ok(()) } else { Err(Refusal::Wrong(what())) }
    }

    pub(super) fn first(&self) -> &str {
        self.0.first().map_or("", Secret::expose)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Secret> {
        self.0.iter()
    }
}
