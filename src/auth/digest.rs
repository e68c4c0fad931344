//! Keyed hashes and how they are written.

use data_encoding::{BASE64, BASE64URL_NOPAD, HEXLOWER_PERMISSIVE};
use hmac::{KeyInit, Mac};
use sha1::Sha1;
use sha2::{Sha256, Sha512};

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
    /// The alphabet for URLs, without padding (RFC 4648, 5).
    Base64Url,
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

    pub(super) fn sign(self, key: &[u8], message: &[u8]) -> Vec<u8> {
        match self {
            Self::Sha1 => sign::<hmac::Hmac<Sha1>>(key, message),
            Self::Sha256 => sign::<hmac::Hmac<Sha256>>(key, message),
            Self::Sha512 => sign::<hmac::Hmac<Sha512>>(key, message),
        }
    }

    pub(super) fn verify(self, key: &[u8], message: &[u8], signature: &[u8]) -> bool {
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
    /// Reads `hex`, `base64` or `base64url`.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "hex" => Some(Self::Hex),
            "base64" => Some(Self::Base64),
            "base64url" => Some(Self::Base64Url),
            _ => None,
        }
    }

    pub(super) fn encode(self, bytes: &[u8]) -> String {
        match self {
            Self::Hex => HEXLOWER_PERMISSIVE.encode(bytes),
            Self::Base64 => BASE64.encode(bytes),
            Self::Base64Url => BASE64URL_NOPAD.encode(bytes),
        }
    }

    pub(super) fn decode(self, text: &str) -> Option<Vec<u8>> {
        match self {
            Self::Hex => HEXLOWER_PERMISSIVE.decode(text.as_bytes()).ok(),
            Self::Base64 => BASE64.decode(text.as_bytes()).ok(),
            Self::Base64Url => BASE64URL_NOPAD.decode(text.as_bytes()).ok(),
        }
    }
}
