//! A webhook's whole way through its source: method, sender, body, rules. Pure, like the rest.

use serde_json::Value;

use super::{Decision, Trace, decide, notify_malformed};
use crate::auth::{Claim, Refusal as Unverified, Verifier};
use crate::payload::{self, Part, Unreadable};
use crate::rules::request::Request;
use crate::rules::set::RuleSet;
use crate::rules::source::{Otherwise, Source};

/// Why a webhook is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// 404: no source has the path, or its secret segment is wrong. The two look alike.
    #[error("not found")]
    NotFound,
    /// 405, with the methods that are allowed.
    #[error("method not allowed: use {0}")]
    MethodNotAllowed(String),
    /// 403: it came from an address that the source does not allow.
    #[error("forbidden")]
    Forbidden,
    /// 401, with a challenge where the scheme has one.
    #[error("unauthorized")]
    Unauthorized(Option<&'static str>),
    /// 400, 413 or 415.
    #[error(transparent)]
    Unreadable(Unreadable),
}

/// How a webhook is received.
#[derive(Debug, Clone, Copy)]
pub struct Reception {
    /// The most bytes a body may have after unpacking.
    pub limit: usize,
    /// Whether the sender must prove who it is.
    pub verify: bool,
}

impl Refusal {
    /// The HTTP status it is answered with.
    pub fn status(&self) -> u16 {
        match self {
            Self::NotFound => 404,
            Self::MethodNotAllowed(_) => 405,
            Self::Forbidden => 403,
            Self::Unauthorized(_) => 401,
            Self::Unreadable(Unreadable::Malformed(_)) => 400,
            Self::Unreadable(Unreadable::TooLarge { .. }) => 413,
            Self::Unreadable(Unreadable::Unsupported(_)) => 415,
        }
    }
}

/// Everything that can be refused before the body is read. So nobody learns by an answer to the body, or by the
/// time it takes, where a source with a secret path lives.
pub fn check_head(source: &Source, request: &Request, verify: bool) -> Result<(), Refusal> {
    check_method(source, &request.method)?;
    check_client(source, request)?;
    match &source.verifier {
        Some(verifier) if verify && !verifier.needs_body() => check_sender(source, verifier, request, b""),
        _ => Ok(()),
    }
}

fn check_method(source: &Source, method: &str) -> Result<(), Refusal> {
    if source.methods.iter().any(|allowed| allowed == method) {
        return Ok(());
    }
    // A method of its own would tell that a hidden source lives here.
    if source.verifier.as_ref().is_some_and(Verifier::hides_source) {
        return Err(Refusal::NotFound);
    }
    Err(Refusal::MethodNotAllowed(source.methods.join(", ")))
}

/// Who sent nothing over a network, as in tests, is no stranger.
fn check_client(source: &Source, request: &Request) -> Result<(), Refusal> {
    let Some(client) = request.client.filter(|_| !source.allow.is_empty()) else { return Ok(()) };
    if source.allow.iter().any(|network| network.contains(&client)) {
        return Ok(());
    }
    tracing::warn!(source = source.name, %client, "webhook refused: its sender's address is not allowed");
    let hidden = source.verifier.as_ref().is_some_and(Verifier::hides_source);
    Err(if hidden { Refusal::NotFound } else { Refusal::Forbidden })
}

/// Takes one webhook to a decision. `request` is complete but for its body, which is read from `raw`.
pub fn receive(
    rules: &RuleSet,
    source: &Source,
    mut request: Request,
    raw: &[u8],
    reception: Reception,
    trace: Option<&mut Trace>,
) -> Result<Decision, Refusal> {
    check_head(source, &request, reception.verify)?;
    if let Some(verifier) =
        source.verifier.as_ref().filter(|verifier| reception.verify && verifier.needs_body())
    {
        check_sender(source, verifier, &request, raw)?;
    }
    let header = |name: &str| {
        let values = request.headers.iter().filter(|(key, _)| key == name).map(|(_, value)| value.as_str());
        // Several headers of one name are one list (RFC 9110, 5.3).
        Some(values.collect::<Vec<_>>().join(", ")).filter(|joined| !joined.is_empty())
    };
    // Where it is explained, all of it may be asked about; an event is wrapped, so that names in it mean another place.
    let whole = trace.is_some() || payload::is_cloudevent(&request.headers);
    let part = if whole { &Part::Whole } else { &source.reads };
    let unpacked = payload::unpack(raw, header("content-encoding").as_deref(), reception.limit);
    // Also a body that cannot be read is shown unpacked, unless that is where it broke.
    let shown = unpacked.as_deref().unwrap_or(raw);
    let decoded = unpacked
        .as_ref()
        .map_err(Clone::clone)
        .and_then(|body| payload::decode_part(body, header("content-type").as_deref(), part));
    match decoded {
        Ok(value) => {
            source.hide_secrets(&mut request);
            request.body = match payload::wrap_cloudevent(&request.headers, value) {
                // All that a webhook without a body says is in its query.
                Value::Null if !request.query.is_empty() => payload::fields(&request.query),
                value => value,
            };
            Ok(decide(rules, source, request, shown, trace))
        }
        Err(Unreadable::Malformed(_)) if source.malformed == Otherwise::Notify => {
            Ok(notify_malformed(source, shown))
        }
        Err(unreadable) => {
            tracing::warn!(source = source.name, reason = %unreadable, bytes = raw.len(), "webhook refused");
            Err(Refusal::Unreadable(unreadable))
        }
    }
}

fn check_sender(source: &Source, verifier: &Verifier, request: &Request, raw: &[u8]) -> Result<(), Refusal> {
    let claim = Claim {
        headers: &request.headers,
        query: &request.query,
        path: &request.path,
        raw,
        target: &request.target,
        now_ms: request.received_at,
        through_proxy: request.through_proxy,
    };
    verifier.verify(&claim).map_err(|refusal: Unverified| {
        tracing::warn!(source = source.name, reason = %refusal, "webhook refused: sender not verified");
        if verifier.hides_source() { Refusal::NotFound } else { Refusal::Unauthorized(verifier.challenge()) }
    })
}
