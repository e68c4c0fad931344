//! Running cases.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::PathBuf;
use std::sync::Arc;

use super::check::{Actual, Difference, differences};
use super::coverage::Coverage;
use super::environment::CaseEnvironment;
use super::expectation::Expectation;
use super::load::Case;
use crate::auth::Claim;
use crate::pipeline::{Decision, Reception, Refusal, Trace, receive};
use crate::problem::{Problem, suggestion};
use crate::rules::compile::compile_folder;
use crate::rules::request::Request;
use crate::rules::set::RuleSet;
use crate::rules::source::Source;

/// The limit of the gateway's default flags, in bytes.
const BODY_LIMIT: usize = 1 << 20;

/// Runs cases of one rules folder.
#[derive(Debug)]
pub struct Runner {
    rules: PathBuf,
    /// By environment: most cases share one.
    sets: BTreeMap<CaseEnvironment, Result<Arc<RuleSet>, Vec<Problem>>>,
    coverage: Coverage,
}

/// What came of one case.
#[derive(Debug)]
pub struct Report {
    /// How it ended.
    pub outcome: Outcome,
    /// Why the rules decided as they did.
    pub trace: Trace,
    pub(super) actual: Option<Actual>,
}

/// How a case ended.
#[derive(Debug)]
pub enum Outcome {
    /// As expected.
    Passed,
    /// Otherwise.
    Failed(Vec<Difference>),
    /// It asks to be recorded, and was not compared.
    Unrecorded,
    /// It could not run: the rules do not compile in its environment, or the source is not there.
    Broken(String),
}

impl Report {
    /// What the rules decided; `None` for a webhook that was refused, and for a broken case.
    pub fn decision(&self) -> Option<&Decision> {
        self.actual.as_ref()?.as_ref().ok()
    }

    /// Why the webhook was refused, if it was.
    pub fn refusal(&self) -> Option<&Refusal> {
        self.actual.as_ref()?.as_ref().err()
    }
}

impl Runner {
    /// For the rules in `rules`.
    pub fn new(rules: impl Into<PathBuf>) -> Self {
        Self { rules: rules.into(), sets: BTreeMap::new(), coverage: Coverage::default() }
    }

    /// Runs one case.
    pub fn run(&mut self, case: &Case) -> Report {
        let mut trace = Trace::default();
        let broken =
            |text: String| Report { outcome: Outcome::Broken(text), trace: Trace::default(), actual: None };
        let set = match self.set(&case.environment) {
            Ok(set) => set,
            Err(problems) => return broken(problems.iter().map(ToString::to_string).collect()),
        };
        let all = || set.sources().iter().chain(set.off().iter().map(|off| &off.source));
        let Some(source) = all().find(|source| source.name == case.source) else {
            let known: Vec<&str> = all().map(|source| source.name.as_str()).collect();
            let help = suggestion(&case.source, known.iter().copied());
            return broken(format!("unknown source {:?}; {help}", case.source));
        };
        let reception = Reception { limit: BODY_LIMIT, verify: case.sign || case.verify };
        let request = signed(case, source);
        // Twice: the gateway reads less of a body than an explanation, and what counts is what the gateway does.
        let actual = receive(&set, source, request.clone(), &case.raw, reception, None);
        let _ = receive(&set, source, request, &case.raw, reception, Some(&mut trace));
        self.coverage.add(source, &trace, &case.raw);
        let outcome = match &case.expect {
            Expectation::Record(_) => Outcome::Unrecorded,
            Expectation::Outcome(expected) => match differences(expected, &actual) {
                none if none.is_empty() => Outcome::Passed,
                some => Outcome::Failed(some),
            },
        };
        Report { outcome, trace, actual: Some(actual) }
    }

    /// What the cases that ran have touched. Sources without any case count as untouched.
    pub fn coverage(mut self) -> Coverage {
        if let Ok(set) = self.set(&CaseEnvironment::default()) {
            let all = set.sources().iter().chain(set.off().iter().map(|off| &off.source));
            all.for_each(|source| self.coverage.expect(source));
        }
        self.coverage
    }

    fn set(&mut self, environment: &CaseEnvironment) -> Result<Arc<RuleSet>, Vec<Problem>> {
        match self.sets.entry(environment.clone()) {
            Entry::Occupied(known) => known.get().clone(),
            Entry::Vacant(new) => new.insert(compile_folder(&self.rules, environment).map(Arc::new)).clone(),
        }
    }
}

/// The case's request, with a proof where it asks for one.
fn signed(case: &Case, source: &Source) -> Request {
    let mut request = case.request.clone();
    if let Some(verifier) = source.verifier.as_ref().filter(|_| case.sign) {
        let proof = verifier.prove(&Claim {
            headers: &[],
            query: &[],
            path: &[],
            raw: &case.raw,
            target: &case.request.target,
            now_ms: case.request.received_at,
            through_proxy: true,
        });
        request.headers.extend(proof.headers);
        request.query.extend(proof.query);
        request.path.extend(proof.path);
        request.through_proxy = true;
    }
    request
}
