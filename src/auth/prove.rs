//! The other side: what a sender with the right secret brings. For the demo and for test cases.

use super::Verifier;

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
    /// A proof for the raw body, by the first secret.
    pub fn prove(&self, raw: &[u8]) -> Proof {
        let authorization =
            |value: String| Proof { headers: vec![("authorization".to_owned(), value)], ..Proof::default() };
        match self {
            Self::Hmac(hmac) => {
                Proof { headers: vec![(hmac.header.clone(), hmac.sign(raw))], ..Proof::default() }
            }
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
