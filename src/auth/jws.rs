//! JSON Web Signatures (RFC 7515) whose claims hold the hash of the body, as Netlify sends them.

use data_encoding::BASE64URL_NOPAD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::{Algorithm, Claim, Refusal, Secrets, one};

/// A compact JWS by HMAC-SHA256.
#[derive(Debug, Clone)]
pub struct Jws {
    /// The header that holds it, in lower case.
    pub header: String,
    /// What `iss` must be.
    pub issuer: Option<String>,
    /// Any may match.
    pub secrets: Secrets,
}

impl Jws {
    pub(super) fn verify(&self, claim: &Claim<'_>) -> Result<(), Refusal> {
        let what = || format!("header {}", self.header);
        let malformed = || Refusal::Malformed(what());
        let token = one(claim.headers, &self.header, what)?.trim();
        let (signed, signature) = token.rsplit_once('.').ok_or_else(malformed)?;
        let (head, payload) = signed.split_once('.').ok_or_else(malformed)?;
        // The sender does not choose the algorithm: `none` would be its favourite.
        if decode(head).ok_or_else(malformed)?["alg"] != "HS256" {
            return Err(malformed());
        }
        let signature = BASE64URL_NOPAD.decode(signature.as_bytes()).map_err(|_| malformed())?;
        let fits = |secret: &crate::secret::Secret| {
            Algorithm::Sha256.verify(secret.expose().as_bytes(), signed.as_bytes(), &signature)
        };
        if !self.secrets.iter().fold(false, |any, secret| any | fits(secret)) {
            return Err(Refusal::Wrong(what()));
        }
        self.check_claims(&decode(payload).ok_or_else(malformed)?, claim.raw)
    }

    fn check_claims(&self, claims: &Value, raw: &[u8]) -> Result<(), Refusal> {
        let wrong = || Refusal::Wrong(format!("header {}", self.header));
        if self.issuer.as_ref().is_some_and(|issuer| claims["iss"] != **issuer) {
            return Err(wrong());
        }
        let told = claims["sha256"].as_str().unwrap_or_default().to_ascii_lowercase();
        let right: bool = told.as_bytes().ct_eq(hash(raw).as_bytes()).into();
        if right { Ok(()) } else { Err(wrong()) }
    }

    pub(super) fn sign(&self, raw: &[u8]) -> String {
        let encode = |value: &Value| BASE64URL_NOPAD.encode(value.to_string().as_bytes());
        let head = encode(&json!({ "alg": "HS256", "typ": "JWT" }));
        let payload = encode(&json!({ "iss": self.issuer, "sha256": hash(raw) }));
        let signed = format!("{head}.{payload}");
        let signature = Algorithm::Sha256.sign(self.secrets.first().as_bytes(), signed.as_bytes());
        format!("{signed}.{}", BASE64URL_NOPAD.encode(&signature))
    }
}

fn decode(part: &str) -> Option<Value> {
    serde_json::from_slice(&BASE64URL_NOPAD.decode(part.as_bytes()).ok()?).ok()
}

fn hash(raw: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(&Sha256::digest(raw))
}
