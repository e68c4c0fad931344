//! A value that must never be seen: not in a log, an error, a trace or the page.

use std::fmt;

use subtle::ConstantTimeEq;

/// A secret string. `Debug` shows nothing of it, there is no `Display`, and
/// [`Secret::expose`] is the one way to its text, so that every use can be found by name.
#[derive(Clone, Eq)]
pub struct Secret(Box<str>);

impl Secret {
    /// Wraps `text`.
    pub fn new(text: impl Into<Box<str>>) -> Self {
        Self(text.into())
    }

    /// The text itself.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether `candidate` is this secret, in a time that tells only the length.
    pub fn matches(&self, candidate: &[u8]) -> bool {
        self.0.as_bytes().ct_eq(candidate).into()
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.matches(other.0.as_bytes())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::Secret;

    #[test]
    fn debug_output_shows_nothing_of_a_secret() {
        assert_eq!(format!("{:?}", Secret::new("hunter2")), "Secret(…)");
    }

    #[test]
    fn a_secret_matches_only_itself() {
        let secret = Secret::new("hunter2");
        assert!(secret.matches(b"hunter2"));
        assert!(!secret.matches(b"hunter"));
        assert!(!secret.matches(b"hunter3"));
        assert!(!secret.matches(b""));
    }
}
