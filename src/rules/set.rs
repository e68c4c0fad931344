//! All rules in force at one time.

use std::sync::Arc;

use super::index::Rules;
use super::source::Source;
use super::target::{Operator, Targets};
use super::template::Engine;
use crate::problem::Problem;

/// A complete, valid set of rules. Immutable: a reload makes a new one.
#[derive(Debug)]
pub struct RuleSet {
    pub(super) sources: Vec<Source>,
    pub(super) off: Vec<Off>,
    pub(super) router: matchit::Router<usize>,
    pub(super) targets: Arc<Targets>,
    pub(super) operator: Option<Arc<Operator>>,
    pub(super) engine: Engine,
    pub(super) warnings: Vec<Problem>,
}

/// A source that is off.
#[derive(Debug)]
pub struct Off {
    /// The source, compiled like any other.
    pub source: Source,
    /// The unset environment variables that would turn it on, or `enabled: true`.
    pub waits_for: Vec<String>,
}

/// A source found by a path, and what its named segments hold, still percent-encoded.
#[derive(Debug)]
pub struct Routed<'a> {
    /// The source.
    pub source: &'a Source,
    /// The named segments in order.
    pub path: Vec<(String, String)>,
}

impl RuleSet {
    /// The source that has `path`.
    pub fn route(&self, path: &str) -> Option<Routed<'_>> {
        let found = self.router.at(path).ok()?;
        let path = found.params.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        Some(Routed { source: self.sources.get(*found.value)?, path })
    }

    /// The sources that are on.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// The sources that are off.
    pub fn off(&self) -> &[Off] {
        &self.off
    }

    /// Forgets the rules of the sources that are off, which a running gateway has no use for.
    pub fn without_idle_rules(mut self) -> Self {
        for off in &mut self.off {
            off.source.rules = Rules::default();
        }
        self
    }

    /// The servers; none at all means that notifications are printed.
    pub fn targets(&self) -> &Arc<Targets> {
        &self.targets
    }

    /// Who hears of the gateway's own troubles.
    pub fn operator(&self) -> Option<&Arc<Operator>> {
        self.operator.as_ref()
    }

    /// Renders this set's templates.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// What is hardly meant, in reading order within its kind.
    pub fn warnings(&self) -> &[Problem] {
        &self.warnings
    }

    /// How many rules the sources that are on have together.
    pub fn rule_count(&self) -> usize {
        self.sources.iter().map(|source| source.rules.all().len()).sum()
    }
}
