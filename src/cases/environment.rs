//! The environment of test cases: what the case says, and something usable for the rest.

use std::collections::BTreeMap;

use crate::rules::external::Environment;

/// The value of every secret that a case does not set.
const SECRET: &str = "test-secret-0123456789";

/// Nothing of the process, so that a case comes out the same everywhere.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct CaseEnvironment(pub(super) BTreeMap<String, String>);

impl Environment for CaseEnvironment {
    fn variable(&self, name: &str) -> Option<String> {
        self.0.get(name).filter(|value| !value.is_empty()).cloned()
    }

    /// A case about topics and titles should not have to name every server's address.
    fn required(&self, name: &str) -> Option<String> {
        let made_up = if name.contains("URL") { "http://ntfy.test" } else { SECRET };
        Some(self.variable(name).unwrap_or_else(|| made_up.to_owned()))
    }
}
