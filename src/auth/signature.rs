//! The one engine for signatures: which header, what is signed, how it is written, and how old it may be.
//!
//! Every preset is a value of [`Signature`], and `verify: { hmac: … }` builds the same from a rules file: a new sender's
//! scheme needs no build.

use std::time::Duration;

use super::signed::{Ingredients, Signs};
use super::{Algorithm, Claim, Encoding, Refusal, Secrets, one};
use crate::clock::millis;
use crate::secret::Secret;

/// A signature scheme with its secrets.
#[derive(Debug, Clone)]
pub struct Signature {
    /// The headers that may hold it, in lower case; the first that is there counts.
    pub headers: Vec<String>,
    /// What separates several signatures, or a signature from its timestamp, in that header.
    pub separator: Option<char>,
    /// What stands before each signature that counts, such as `sha256=`.
    pub prefix: String,
    /// The hash.
    pub algorithm: Algorithm,
    /// How the hash is written.
    pub encoding: Encoding,
    /// How the secret is a key.
    pub key: KeyForm,
    /// What is signed.
    pub signs: Signs,
    /// When it was signed, where the scheme tells.
    pub timestamp: Option<Timestamp>,
    /// The headers that may hold `{id}`, in lower case.
    pub ids: Vec<String>,
    /// Where senders think we are, such as `https://hooks.example.com`, for `{url}`.
    pub base: Option<String>,
    /// Any may match.
    pub secrets: Secrets,
}

/// When a webhook was signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timestamp {
    /// Where it stands.
    pub place: TimestampPlace,
    /// Whether it counts milliseconds instead of seconds.
    pub millis: bool,
    /// How far it may be from now, in either direction: the window in which a recorded webhook can be replayed.
    pub tolerance: Duration,
    /// What is signed when there is none. Without this, one without a timestamp is refused.
    pub absent: Option<Signs>,
}

/// Where a timestamp stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TimestampPlace {
    /// In one of these headers, in lower case.
    Header(Vec<String>),
    /// Beside the signature, after this, such as `t=`.
    Entry(String),
    /// In the JSON body, at this JSON pointer (RFC 6901).
    Body(String),
}

/// How a secret becomes a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyForm {
    /// Its bytes are the key.
    Text,
    /// It is base64, perhaps after `whsec_` (Standard Webhooks).
    Base64,
    /// It is hexadecimal.
    Hex,
}

impl Signature {
    /// Whether a header holds a signature of this webhook under one of the secrets, made not too long ago.
    pub(super) fn verify(&self, claim: &Claim<'_>) -> Result<(), Refusal> {
        let (name, value) = self.find(claim)?;
        let what = || format!("header {name}");
        let given = self.signatures(value, &what)?;
        let written = self.written_timestamp(claim, value)?;
        let signs = match (&self.timestamp, &written) {
            (Some(timestamp), Some(written)) => {
                timestamp.check(written, claim.now_ms)?;
                &self.signs
            }
            (Some(Timestamp { absent: Some(absent), .. }), None) => absent,
            (Some(_), None) => return Err(Refusal::Missing("the signature's timestamp".to_owned())),
            (None, _) => &self.signs,
        };
        let message = signs.render(&self.ingredients(claim, written.as_deref())?);
        let fits = |secret: &Secret, signature: &Vec<u8>| {
            let key = self.key.of(secret).unwrap_or_default();
            self.algorithm.verify(&key, &message, signature)
        };
        // All are tried, so that the time does not tell which secret fits.
        let any = self.secrets.iter().fold(false, |any, secret| {
            given.iter().fold(any, |any, signature| any | fits(secret, signature))
        });
        if any { Ok(()) } else { Err(Refusal::Wrong(what())) }
    }

    /// The signature of a bare text under the first secret, as a handshake may ask for it.
    pub fn hash(&self, text: &[u8]) -> String {
        let key = self.secrets.iter().next().and_then(|secret| self.key.of(secret)).unwrap_or_default();
        self.encoding.encode(&self.algorithm.sign(&key, text))
    }

    /// The header that holds it, and its value.
    fn find<'a>(&'a self, claim: &Claim<'a>) -> Result<(&'a str, &'a str), Refusal> {
        let there = |name: &&String| claim.headers.iter().any(|(key, _)| key == *name);
        let name = self.headers.iter().find(there).or(self.headers.first()).map_or("", String::as_str);
        one(claim.headers, name, || format!("header {name}")).map(|value| (name, value.trim()))
    }

    /// The signatures in a header's value that are of this scheme's version.
    fn signatures(&self, value: &str, what: &impl Fn() -> String) -> Result<Vec<Vec<u8>>, Refusal> {
        let entries: Vec<&str> = match self.separator {
            Some(separator) => value.split(separator).map(str::trim).collect(),
            None => vec![value],
        };
        let decode = |text: &str| self.encoding.decode(text).filter(|bytes| !bytes.is_empty());
        // An empty one, as Gitea sends without a secret, proves nothing.
        let found: Vec<_> =
            entries.iter().filter_map(|entry| decode(entry.strip_prefix(self.prefix.as_str())?)).collect();
        if found.is_empty() { Err(Refusal::Malformed(what())) } else { Ok(found) }
    }

    fn written_timestamp(&self, claim: &Claim<'_>, value: &str) -> Result<Option<String>, Refusal> {
        let Some(timestamp) = &self.timestamp else { return Ok(None) };
        Ok(match &timestamp.place {
            TimestampPlace::Header(names) => first_of(names, claim)?.map(str::to_owned),
            TimestampPlace::Entry(prefix) => {
                let entries = value.split(self.separator.unwrap_or(','));
                entries
                    .filter_map(|entry| entry.trim().strip_prefix(prefix.as_str()))
                    .next()
                    .map(str::to_owned)
            }
            TimestampPlace::Body(pointer) => {
                serde_json::from_slice::<serde_json::Value>(claim.raw).ok().and_then(|body| {
                    body.pointer(pointer).map(|at| at.as_str().map_or_else(|| at.to_string(), str::to_owned))
                })
            }
        })
    }

    fn ingredients<'a>(
        &self,
        claim: &Claim<'a>,
        timestamp: Option<&'a str>,
    ) -> Result<Ingredients<'a>, Refusal> {
        let url = self.base.as_ref().map(|base| format!("{}{}", base.trim_end_matches('/'), claim.target));
        Ok(Ingredients {
            body: claim.raw,
            timestamp: timestamp.unwrap_or_default(),
            id: first_of(&self.ids, claim)?.unwrap_or_default(),
            url: url.unwrap_or_default(),
        })
    }

    /// What a sender with the first secret adds to its headers.
    pub(super) fn sign(&self, claim: &Claim<'_>) -> Vec<(String, String)> {
        let mut headers = Vec::new();
        let mut told = None;
        let mut beside = String::new();
        if let Some(timestamp) = &self.timestamp {
            let now = timestamp.write(claim.now_ms);
            match &timestamp.place {
                TimestampPlace::Header(names) => {
                    headers.extend(names.first().map(|name| (name.clone(), now.clone())))
                }
                TimestampPlace::Entry(prefix) => {
                    beside = format!("{prefix}{now}{}", self.separator.unwrap_or(','))
                }
                TimestampPlace::Body(_) => {}
            }
            told = Some(now);
        }
        headers.extend(self.ids.first().map(|name| (name.clone(), "msg_hookbell".to_owned())));
        let signing = Claim { headers: &headers, ..*claim };
        let Ok(ingredients) = self.ingredients(&signing, told.as_deref()) else { return headers };
        let key = self.secrets.iter().next().and_then(|secret| self.key.of(secret)).unwrap_or_default();
        let digest = self.algorithm.sign(&key, &self.signs.render(&ingredients));
        let value = format!("{beside}{}{}", self.prefix, self.encoding.encode(&digest));
        headers.extend(self.headers.first().map(|name| (name.clone(), value)));
        headers
    }
}

/// The value of the first of these headers that is there; it must be there once.
fn first_of<'a>(names: &[String], claim: &Claim<'a>) -> Result<Option<&'a str>, Refusal> {
    let there = |name: &&String| claim.headers.iter().any(|(key, _)| key == *name);
    let Some(name) = names.iter().find(there) else { return Ok(None) };
    one(claim.headers, name, || format!("header {name}")).map(|value| Some(value.trim()))
}

impl Timestamp {
    fn check(&self, written: &str, now_ms: i64) -> Result<(), Refusal> {
        let what = || "the signature's timestamp".to_owned();
        let number: i64 = written.parse().map_err(|_| Refusal::Malformed(what()))?;
        let at = if self.millis { number } else { number.saturating_mul(1000) };
        if now_ms.abs_diff(at) <= millis(self.tolerance).unsigned_abs() {
            Ok(())
        } else {
            Err(Refusal::Outdated(what()))
        }
    }

    fn write(&self, now_ms: i64) -> String {
        if self.millis { now_ms.to_string() } else { now_ms.div_euclid(1000).to_string() }
    }
}

impl KeyForm {
    /// Reads `text`, `base64` or `hex`.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "text" => Some(Self::Text),
            "base64" => Some(Self::Base64),
            "hex" => Some(Self::Hex),
            _ => None,
        }
    }

    /// The key that a secret is; `None` when it has not this form.
    pub fn of(self, secret: &Secret) -> Option<Vec<u8>> {
        let text = secret.expose();
        match self {
            Self::Text => Some(text.as_bytes().to_vec()),
            Self::Base64 => Encoding::Base64.decode(text.strip_prefix("whsec_").unwrap_or(text)),
            Self::Hex => Encoding::Hex.decode(text),
        }
    }
}
