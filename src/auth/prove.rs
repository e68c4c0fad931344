//! The other side: what a sender with the right secret brings. For the demo and for test cases.

use super::{Claim, Verifier};

/// What to add to a request so that it is believed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Proof {
    /// Headers to set.
    pub headers: Vec<(String, String)>,
    /// Query parameters to set.
    pub query: Vec<(String, String)>,
    /// Path segments to fill in, by name.
    pub path: Vec<(String, String)>,
}

impl Verifier {
    /// A proof for a webhook of which only body, target and time count, by the first secret.
    pub fn prove(&self, claim: &Claim<'_>) -> Proof {
        let authorization =
            |value: String| Proof { headers: vec![("authorization".to_owned(), value)], ..Proof::default() };
        match self {
            Self::Signature(signature) => Proof { headers: signature.sign(claim), ..Proof::default() },
            Self::Jws(jws) => {
                Proof { headers: vec![(jws.header.clone(), jws.sign(claim.raw))], ..Proof::default() }
            }
            Self::Certificate { header, subjects } => {
                let subject = subjects.first().cloned().unwrap_or_default();
                Proof { headers: vec![(header.clone(), subject)], ..Proof::default() }
            }
            Self::Any(ways) => ways.first().map(|way| way.prove(claim)).unwrap_or_default(),
            Self::HeaderToken { header, secrets } => {
                Proof { headers: vec![(header.clone(), secrets.first().to_owned())], ..Proof::default() }
            }
            Self::QueryToken { parameter, secrets } => {
                Proof { query: vec![(parameter.clone(), secrets.first().to_owned())], ..Proof::default() }
            }
            Self::Basic(secrets) => {
                authorization(format!("Basic {}", data_encoding::BASE64.encode(secrets.first().as_bytes())))
            }
            Self::Bearer(secrets) => authorization(format!("Bearer {}", secrets.first())),
            Self::PathSecret { segment, secrets } => {
                Proof { path: vec![(segment.clone(), secrets.first().to_owned())], ..Proof::default() }
            }
        }
    }
}
