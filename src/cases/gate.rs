//! The gate of `--require-tests`: rules whose own cases fail are as good as rules with mistakes.

use std::path::Path;

use super::load::{Case, load};
use super::run::{Outcome, Runner};
use crate::problem::Problem;

/// A problem for every case in `rules`/tests that does not pass. None when there are no cases.
pub fn failures(rules: &Path) -> Vec<Problem> {
    let files = match load(rules) {
        Ok(files) => files,
        Err(problems) => return problems,
    };
    let mut runner = Runner::new(rules);
    let cases = files.iter().flat_map(|file| &file.cases);
    cases.filter_map(|case| problem_of(case, &runner.run(case).outcome)).collect()
}

fn problem_of(case: &Case, outcome: &Outcome) -> Option<Problem> {
    let reason = match outcome {
        Outcome::Passed => return None,
        Outcome::Unrecorded => "it is not recorded yet".to_owned(),
        Outcome::Broken(reason) => reason.clone(),
        Outcome::Failed(differences) => differences
            .iter()
            .map(|d| format!("{}: expected {:?}, found {:?}", d.what, d.expected, d.actual))
            .collect::<Vec<_>>()
            .join("; "),
    };
    let message = format!("case {:?} fails: {reason}", case.name);
    Some(Problem::at(&case.place, message).help("see `hookbell test`"))
}
