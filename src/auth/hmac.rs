//! Signatures: a keyed hash over the raw body in a header.

use data_encoding::{BASE64, HEXLOWER_PERMISSIVE};
use hmac::{KeyInit, Mac};
use sha1::Sha1;
use sha2::{Sha256, Sha512};

use super::{Claim, Refusal, Secrets, one};

/// A signature scheme with its secrets.
#[derive(Debug, Clone)]
pub struct Hmac {
    /// In lower case.
    pub header: String,
    /// The hash.
    pub algorithm: Algorithm,
    /// How the hash is written.
    pub encoding: Encoding,
    /// What stands before it, such as `sha256=`.
    pub prefix: String,
    /// Any may match.
    pub secrets: Secrets,
}

/// The hash below the HMAC (RFC 2104).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// Broken for signatures of documents, still sound in an HMAC.
    Sha1,
    /// What nearly everybody uses.
    Sha256,
    /// The long one.
    Sha512,
}

/// How a hash is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// In either case.
    Hex,
    /// The standard alphabet, padded.
    Base64,
}

impl Hmac {
    /// Whether the header holds the signature of the raw body under one of the secrets.
    pub(super) fn verify(&self, claim: &Claim<'_>) -> Result<(), Refusal> {
        let what = || format!("header {}", self.header);
        let value = one(claim.headers, &self.header, what)?.trim();
        let text = value.strip_prefix(self.prefix.as_str()).ok_or_else(|| Refusal::Malformed(what()))?;
        let signature = self.encoding.decode(text).ok_or_else(|| Refusal::Malformed(what()))?;
        // Gitea sends an empty digest when it has no secret: that proves nothing.
        if signature.is_empty() {
            return Err(Refusal::Malformed(what()));
        }
        let key_fits = |secret: &crate::secret::Secret| {
            self.algorithm.verify(secret.expose().as_bytes(), claim.raw, &signature)
        };
        if self.secrets.iter().any(key_fits) { Ok(()) } else { Err(Refusal::Wrong(what())) }
    }
}

impl Hmac {
    /// The header's value for `raw`, by the first secret.
    pub(super) fn sign(&self, raw: &[u8]) -> String {
        let key = self.secrets.first().as_bytes();
        format!("{}{}", self.prefix, self.encoding.encode(&self.algorithm.sign(key, raw)))
    }
}

impl Algorithm {
    /// Reads `sha1`, `sha256` or `sha512`.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "sha1" => Some(Self::Sha1),
            "sha256" => Some(Self::Sha256),
            "sha512" => Some(Self::Sha512),
            _ => None,
        }
    }

    fn sign(self, key: &[u8], message: &[u8]) -> Vec<u8> {
        match self {
            Self::Sha1 => sign::<hmac::Hmac<Sha1>>(key, message),
            Self::Sha256 => sign::<hmac::Hmac<Sha256>>(key, message),
            Self::Sha512 => sign::<hmac::Hmac<Sha512>>(key, message),
        }
    }

    fn verify(self, key: &[u8], message: &[u8], signature: &[u8]) -> bool {
        match self {
            Self::Sha1 => verify::<hmac::Hmac<Sha1>>(key, message, signature),
            Self::Sha256 => verify::<hmac::Hmac<Sha256>>(key, message, signature),
            Self::Sha512 => verify::<hmac::Hmac<Sha512>>(key, message, signature),
        }
    }
}

fn sign<M: Mac + KeyInit>(key: &[u8], message: &[u8]) -> Vec<u8> {
    <M as KeyInit>::new_from_slice(key)
        .map(|mac| mac.chain_update(message).finalize().into_bytes().to_vec())
        .unwrap_or_default()
}

/// In constant time, by the library.
fn verify<M: Mac + KeyInit>(key: &[u8], message: &[u8], signature: &[u8]) -> bool {
    // An HMAC takes a key of any length.
    let Ok(mac) = <M as KeyInit>::new_from_slice(key) else { return false };
    mac.chain_update(message).verify_slice(signature).is_ok()
}

impl Encoding {
    /// Reads `hex` or `base64`.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "hex" => Some(Self::Hex),
            "base64" => Some(Self::Base64),
            _ => None,
        }
    }

    fn encode(self, bytes: &[u8]) -> String {
        match self {
            Self::Hex => HEXLOWER_PERMISSIVE.encode(bytes),
            Self::Base64 => BASE64.encode(bytes),
        }
    }

    fn decode(self, text: &str) -> Option<Vec<u8>> {
        match self {
            Self::Hex => HEXLOWER_PERMISSIVE.decode(text.as_bytes()).ok(),
            Self::Base64 => BASE64.decode(text.as_bytes()).ok(),
        }
    }
}
