//! `hookbell check`: all mistakes of the rules at once.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;

use crate::problem::Problem;
use crate::rules::compile::compile_folder;
use crate::rules::external::ProcessEnvironment;
use crate::rules::set::RuleSet;

pub(super) fn run(rules: &Path) -> Result<ExitCode> {
    match compile_folder(rules, &ProcessEnvironment) {
        Ok(set) => {
            print!("{}", summary(&set));
            Ok(ExitCode::SUCCESS)
        }
        Err(problems) => {
            eprint!("{}", report(&problems));
            Ok(ExitCode::FAILURE)
        }
    }
}

/// Every problem, a blank line between two, and how many there are.
pub(super) fn report(problems: &[Problem]) -> String {
    let mut text: String = problems.iter().map(|problem| format!("{problem}\n")).collect();
    let (count, word) = (problems.len(), if problems.len() == 1 { "mistake" } else { "mistakes" });
    text.push_str(&format!("{count} {word} found\n"));
    text
}

fn summary(set: &RuleSet) -> String {
    let count = |n: usize, word: &str| format!("{n} {word}{}", if n == 1 { "" } else { "s" });
    let mut text = format!(
        "ok: {} with {} on, {} off\n",
        count(set.sources().len(), "source"),
        count(set.rule_count(), "rule"),
        set.off().len()
    );
    for off in set.off() {
        text.push_str(&format!(
            "  {} is off: set {} to turn it on\n",
            off.source.name,
            off.waits_for.join(", ")
        ));
    }
    text
}
