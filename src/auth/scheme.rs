//! Senders' signature schemes by name: data, not code per sender.

use super::{Algorithm, Encoding, Hmac, Secrets};

/// What `scheme: NAME` stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scheme {
    /// Its name in the rules.
    pub name: &'static str,
    header: &'static str,
    algorithm: Algorithm,
    encoding: Encoding,
    prefix: &'static str,
}

const SCHEMES: &[Scheme] = &[
    // docs.github.com, "Validating webhook deliveries".
    Scheme {
        name: "github",
        header: "x-hub-signature-256",
        algorithm: Algorithm::Sha256,
        encoding: Encoding::Hex,
        prefix: "sha256=",
    },
];

/// The scheme called `name`.
pub fn scheme(name: &str) -> Option<&'static Scheme> {
    SCHEMES.iter().find(|scheme| scheme.name == name)
}

/// All names, for suggestions.
pub fn scheme_names() -> impl Iterator<Item = &'static str> + Clone {
    SCHEMES.iter().map(|scheme| scheme.name)
}

impl Scheme {
    /// The scheme with somebody's secrets.
    pub fn with(&self, secrets: Secrets) -> Hmac {
        Hmac {
            header: self.header.to_owned(),
            algorithm: self.algorithm,
            encoding: self.encoding,
            prefix: self.prefix.to_owned(),
            secrets,
        }
    }
}
