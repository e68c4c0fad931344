//! Proving who sent a webhook. Every comparison takes a time that tells nothing about the secret's text,
//! and signatures are computed over the raw bytes as they came: parsing first would verify something else.

mod digest;
mod jws;
mod prove;
mod scheme;
mod secrets;
mod signature;
mod signed;

pub use self::digest::{Algorithm, Encoding};
pub use self::jws::Jws;
pub use self::prove::Proof;
pub use self::scheme::{InvalidScheme, scheme, scheme_names};
pub use self::secrets::{EmptySecret, Secrets};
pub use self::signature::{KeyForm, Signature, Timestamp, TimestampPlace};
pub use self::signed::{InvalidSigns, Signs};

/// How a source's senders prove who they are.
#[derive(Debug, Clone)]
pub enum Verifier {
    /// A signature over the raw body.
    Signature(Signature),
    /// A JSON Web Signature over the body's hash.
    Jws(Jws),
    /// A client certificate that a trusted proxy has checked and names in a header.
    Certificate {
        /// In lower case.
        header: String,
        /// What it may name.
        subjects: Vec<String>,
    },
    /// One of several ways.
    Any(Vec<Verifier>),
    /// A secret in a header.
    HeaderToken {
        /// In lower case.
        header: String,
        /// Any may match.
        secrets: Secrets,
    },
    /// A secret in the query.
    QueryToken {
        /// The parameter.
        parameter: String,
        /// Any may match.
        secrets: Secrets,
    },
    /// HTTP basic authentication (RFC 7617); each secret is a whole `user:password`.
    Basic(Secrets),
    /// `Authorization: Bearer …` (RFC 6750).
    Bearer(Secrets),
    /// A secret segment of the path, for senders that can set nothing else.
    PathSecret {
        /// The segment's name.
        segment: String,
        /// Any may match.
        secrets: Secrets,
    },
}

/// What a sender brought: everything a verifier may look at.
#[derive(Debug, Clone, Copy)]
pub struct Claim<'a> {
    /// Names in lower case.
    pub headers: &'a [(String, String)],
    /// Decoded.
    pub query: &'a [(String, String)],
    /// The named segments, decoded.
    pub path: &'a [(String, String)],
    /// The body, byte for byte as it came, still compressed if it was.
    pub raw: &'a [u8],
    /// Path and query as they were asked for.
    pub target: &'a str,
    /// When it came, in Unix milliseconds: timestamps are held against it.
    pub now_ms: i64,
    /// Whether a trusted proxy passed it on.
    pub through_proxy: bool,
}

/// Why a claim was refused. For the log only: a stranger learns nothing but the status.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// What should carry the proof is not there.
    #[error("{0} is missing")]
    Missing(String),
    /// It is there more than once; which one a proxy looked at cannot be known.
    #[error("{0} is there more than once")]
    Repeated(String),
    /// It does not have the form of a proof.
    #[error("{0} is malformed")]
    Malformed(String),
    /// It proves nothing.
    #[error("{0} does not match any secret")]
    Wrong(String),
    /// It counts only from a proxy that is trusted.
    #[error("{0} did not come from a trusted proxy; name it with --trusted-proxy")]
    NotFromProxy(String),
    /// It is too old, or of the future: somebody may have recorded it.
    #[error("{0} is too far from now; is the clock right?")]
    Outdated(String),
}

impl Verifier {
    /// Holds the claim against the secrets.
    pub fn verify(&self, claim: &Claim<'_>) -> Result<(), Refusal> {
        match self {
            Self::Signature(signature) => signature.verify(claim),
            Self::Jws(jws) => jws.verify(claim),
            Self::Certificate { header, subjects } => verify_certificate(claim, header, subjects),
            Self::Any(ways) => any_of(ways, claim),
            Self::HeaderToken { header, secrets } => {
                let token = one(claim.headers, header, || format!("header {header}"))?;
                secrets.check(token, || format!("header {header}"))
            }
            Self::QueryToken { parameter, secrets } => {
                let token = one(claim.query, parameter, || format!("query parameter {parameter}"))?;
                secrets.check(token, || format!("query parameter {parameter}"))
            }
            Self::Basic(secrets) => verify_basic(claim, secrets),
            Self::Bearer(secrets) => secrets.check(credentials(claim, "bearer")?, authorization),
            Self::PathSecret { segment, secrets } => {
                let token = one(claim.path, segment, || format!("path segment {segment}"))?;
                secrets.check(token, || format!("path segment {segment}"))
            }
        }
    }

    /// The `WWW-Authenticate` value of a 401 (RFC 9110, 11.6.1), for schemes that have one.
    pub fn challenge(&self) -> Option<&'static str> {
        match self {
            Self::Basic(_) => Some("Basic realm=\"hookbell\", charset=\"UTF-8\""),
            Self::Bearer(_) => Some("Bearer"),
            _ => None,
        }
    }

    /// In a few words, for people.
    pub fn summary(&self) -> String {
        match self {
            Self::Signature(signature) => format!("signature in {}", signature.headers.join(" or ")),
            Self::Jws(jws) => format!("signed token in {}", jws.header),
            Self::HeaderToken { header, .. } => format!("secret in {header}"),
            Self::QueryToken { parameter, .. } => format!("secret in ?{parameter}="),
            Self::Basic(_) => "user and password".to_owned(),
            Self::Bearer(_) => "bearer token".to_owned(),
            Self::PathSecret { .. } => "secret in the path".to_owned(),
            Self::Certificate { header, .. } => format!("certificate in {header}"),
            Self::Any(ways) => ways.iter().map(Self::summary).collect::<Vec<_>>().join(", or "),
        }
    }

    /// Whether the proof covers the body. Any other is checked before the body is read: a stranger's is not worth it.
    pub fn needs_body(&self) -> bool {
        match self {
            Self::Signature(_) | Self::Jws(_) => true,
            Self::Any(ways) => ways.iter().any(Self::needs_body),
            _ => false,
        }
    }

    /// Whether a refusal must look like an unknown path, so that nobody learns where a source lives.
    pub fn hides_source(&self) -> bool {
        matches!(self, Self::PathSecret { .. })
    }
}

/// Anyone can write such a header: only a trusted proxy's counts, which must take away what its clients write.
fn verify_certificate(claim: &Claim<'_>, header: &str, subjects: &[String]) -> Result<(), Refusal> {
    let what = || format!("header {header}");
    if !claim.through_proxy {
        return Err(Refusal::NotFromProxy(what()));
    }
    let subject = one(claim.headers, header, what)?.trim();
    if subjects.iter().any(|known| known == subject) { Ok(()) } else { Err(Refusal::Wrong(what())) }
}

/// Told of the last way's refusal, when none holds.
fn any_of(ways: &[Verifier], claim: &Claim<'_>) -> Result<(), Refusal> {
    let mut refusal = Refusal::Missing("every proof".to_owned());
    for way in ways {
        match way.verify(claim) {
            Ok(()) => return Ok(()),
            Err(other) => refusal = other,
        }
    }
    Err(refusal)
}

fn verify_basic(claim: &Claim<'_>, secrets: &Secrets) -> Result<(), Refusal> {
    let encoded = credentials(claim, "basic")?;
    match data_encoding::BASE64.decode(encoded.as_bytes()) {
        Ok(pair) => secrets.check_bytes(&pair, authorization),
        Err(_) => Err(Refusal::Malformed(authorization())),
    }
}

/// What follows the scheme in `Authorization`. The scheme's case does not matter (RFC 9110, 11.1).
fn credentials<'a>(claim: &Claim<'a>, scheme: &str) -> Result<&'a str, Refusal> {
    let value = one(claim.headers, "authorization", authorization)?;
    match value.trim().split_once(' ') {
        Some((given, rest)) if given.eq_ignore_ascii_case(scheme) => Ok(rest.trim()),
        _ => Err(Refusal::Malformed(authorization())),
    }
}

fn authorization() -> String {
    "header authorization".to_owned()
}

/// The only value called `name`.
fn one<'a>(
    entries: &'a [(String, String)],
    name: &str,
    what: impl Fn() -> String,
) -> Result<&'a str, Refusal> {
    let mut values = entries.iter().filter(|(key, _)| key == name).map(|(_, value)| value.as_str());
    match (values.next(), values.next()) {
        (Some(value), None) => Ok(value),
        (None, _) => Err(Refusal::Missing(what())),
        (Some(_), Some(_)) => Err(Refusal::Repeated(what())),
    }
}

#[cfg(test)]
mod tests;
