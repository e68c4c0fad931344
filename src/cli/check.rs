//! `hookbell check`: all mistakes of the rules at once, and what is hardly meant.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use crate::problem::{Problem, Severity};
use crate::rules::compile::compile_folder;
use crate::rules::external::ProcessEnvironment;
use crate::rules::set::RuleSet;

/// Flags of `check`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The folder of rules
    #[arg(value_name = "DIR", env = "HOOKBELL_RULES", default_value = "rules")]
    rules: PathBuf,
    /// Fail on warnings too
    #[arg(long)]
    strict: bool,
    /// How problems are written
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
}

/// How problems are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// One JSON list
    Json,
    /// Annotations of GitHub Actions
    Github,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let compiled = compile_folder(&arguments.rules, &ProcessEnvironment);
    let problems = match &compiled {
        Ok(set) => set.warnings(),
        Err(problems) => problems,
    };
    match arguments.format {
        Format::Text => show_text(compiled.as_ref().ok(), problems),
        Format::Json => println!("{}", serde_json::to_string_pretty(&as_json(problems))?),
        Format::Github => problems.iter().for_each(|problem| println!("{}", annotation(problem))),
    }
    let failed = compiled.is_err() || arguments.strict && !problems.is_empty();
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn show_text(set: Option<&RuleSet>, problems: &[Problem]) {
    if !problems.is_empty() {
        eprint!("{}", report(problems));
    }
    if let Some(set) = set {
        print!("{}", summary(set));
    }
}

/// Every problem, a blank line between two, and how many there are.
pub(super) fn report(problems: &[Problem]) -> String {
    let mut text: String = problems.iter().map(|problem| format!("{problem}\n")).collect();
    let errors = problems.iter().filter(|problem| problem.severity == Severity::Error).count();
    let count = |count: usize, word: &str| {
        (count > 0).then(|| format!("{count} {word}{} found\n", if count == 1 { "" } else { "s" }))
    };
    text.extend(count(errors, "mistake"));
    text.extend(count(problems.len() - errors, "warning"));
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

fn as_json(problems: &[Problem]) -> Value {
    let one = |problem: &Problem| {
        let place = problem.place.as_ref();
        json!({
            "severity": problem.severity.name(),
            "file": place.map(|place| &place.file.path),
            "line": place.map(|place| place.line),
            "column": place.map(|place| place.column),
            "message": problem.message,
            "help": problem.help,
        })
    };
    problems.iter().map(one).collect()
}

/// A workflow command (docs.github.com, "Workflow commands for GitHub Actions").
fn annotation(problem: &Problem) -> String {
    let escape = |text: &str| text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    let property = |text: &str| escape(text).replace(':', "%3A").replace(',', "%2C");
    let place = problem.place.as_ref().map_or_else(String::new, |place| {
        format!(" file={},line={},col={}", property(&place.file.path), place.line, place.column)
    });
    let help = problem.help.as_ref().map(|help| format!(" ({help})")).unwrap_or_default();
    format!("::{}{place}::{}", problem.severity.name(), escape(&format!("{}{help}", problem.message)))
}
