//! `tables`: look-ups shared by rules.

use std::collections::{BTreeMap, HashMap};

use globset::GlobMatcher;

/// One table: an exact key wins, then the globs in their order.
#[derive(Debug, Clone, Default)]
pub struct Table {
    pub(super) exact: HashMap<String, String>,
    pub(super) globs: Vec<(GlobMatcher, String)>,
}

/// All tables by name.
pub type Tables = BTreeMap<String, Table>;

impl Table {
    /// The value for `key`.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.exact
            .get(key)
            .or_else(|| self.globs.iter().find(|(glob, _)| glob.is_match(key)).map(|(_, value)| value))
            .map(String::as_str)
    }
}
