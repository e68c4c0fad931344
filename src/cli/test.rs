//! `hookbell test`: the cases beside the rules, through the production pipeline.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anstyle::{AnsiColor, Style};
use anyhow::{Context, Result};
use clap::Args;

use super::{check, trace};
use crate::cases::{Case, CaseFile, Coverage, Difference, Outcome, Report, Runner, load, record};
use crate::pipeline::Decision;

const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default();
const DIM: Style = Style::new().dimmed();

/// Flags of `test`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The folder of rules, with cases in tests/*.yaml
    #[arg(value_name = "DIR", env = "HOOKBELL_RULES", default_value = "rules")]
    rules: PathBuf,
    /// Only cases whose source or name contains this
    #[arg(short = 'k', value_name = "TEXT")]
    only: Option<String>,
    /// Write what came of each case that says `expect: record` into its file
    #[arg(long)]
    update: bool,
    /// Show what no case has touched; fails when there is anything
    #[arg(long)]
    coverage: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let start = Instant::now();
    let files = match load(&arguments.rules) {
        Ok(files) => files,
        Err(problems) => {
            eprint!("{}", check::report(&problems));
            return Ok(ExitCode::FAILURE);
        }
    };
    let mut runner = Runner::new(&arguments.rules);
    let mut tally = Tally::default();
    for file in &files {
        let wanted = |case: &&Case| arguments.only.as_ref().is_none_or(|text| is_about(case, text));
        let ran: Vec<(&Case, Report)> =
            file.cases.iter().filter(wanted).map(|case| (case, runner.run(case))).collect();
        let recorded = if arguments.update { write_records(file, &ran)? } else { 0 };
        tally.recorded += recorded;
        for (case, report) in &ran {
            tally.count(case, report, arguments.update);
        }
    }
    let gaps = if arguments.coverage { show_coverage(&runner.coverage()) } else { 0 };
    Ok(tally.finish(start, gaps))
}

fn is_about(case: &Case, text: &str) -> bool {
    case.name.contains(text) || case.source.contains(text)
}

fn write_records(file: &CaseFile, ran: &[(&Case, Report)]) -> Result<usize> {
    let asking: Vec<(&Case, &Report)> = ran
        .iter()
        .filter(|(_, report)| matches!(report.outcome, Outcome::Unrecorded))
        .map(|(case, report)| (*case, report))
        .collect();
    if asking.is_empty() {
        return Ok(0);
    }
    let text = std::fs::read_to_string(&file.path).with_context(|| format!("cannot read {:?}", file.path))?;
    std::fs::write(&file.path, record(&text, &asking))
        .with_context(|| format!("cannot write {:?}", file.path))?;
    Ok(asking.len())
}

#[derive(Default)]
struct Tally {
    passed: usize,
    failed: usize,
    unrecorded: usize,
    recorded: usize,
}

impl Tally {
    fn count(&mut self, case: &Case, report: &Report, updating: bool) {
        match &report.outcome {
            Outcome::Passed => self.passed += 1,
            Outcome::Unrecorded if updating => {}
            Outcome::Unrecorded => {
                self.unrecorded += 1;
                anstream::println!(
                    "{BAD}?{BAD:#} {}: {}\n  says `expect: record`: run with --update\n",
                    case.source,
                    case.name
                );
            }
            Outcome::Broken(reason) => {
                self.failed += 1;
                anstream::println!(
                    "{BAD}✗ {}: {}{BAD:#}  {DIM}{}{DIM:#}\n{reason}\n",
                    case.source,
                    case.name,
                    case.place
                );
            }
            Outcome::Failed(differences) => {
                self.failed += 1;
                show_failure(case, report, differences);
            }
        }
    }

    fn finish(&self, start: Instant, gaps: usize) -> ExitCode {
        let took = start.elapsed().as_millis();
        let mut parts = vec![format!("{} passed", self.passed), format!("{} failed", self.failed)];
        parts.extend((self.unrecorded > 0).then(|| format!("{} to be recorded", self.unrecorded)));
        parts.extend((self.recorded > 0).then(|| format!("{} recorded", self.recorded)));
        anstream::println!("cases: {} ({took} ms)", parts.join(", "));
        if self.failed + self.unrecorded + gaps == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

fn show_failure(case: &Case, report: &Report, differences: &[Difference]) {
    anstream::println!("{BAD}✗ {}: {}{BAD:#}  {DIM}{}{DIM:#}", case.source, case.name, case.place);
    for difference in differences {
        anstream::println!("  {}", difference.what);
        show_lines(&difference.expected, "-", GOOD);
        show_lines(&difference.actual, "+", BAD);
    }
    let decision = report.decision().cloned().unwrap_or_else(Decision::default);
    let story = trace::render(&report.trace, &decision);
    let indented: String = story.lines().map(|line| format!("  {line}\n")).collect();
    anstream::println!("{DIM}  why:\n{indented}{DIM:#}");
}

fn show_lines(text: &str, sign: &str, style: Style) {
    for line in text.lines() {
        anstream::println!("    {style}{sign} {line}{style:#}");
    }
}

fn show_coverage(coverage: &Coverage) -> usize {
    let gaps = coverage.gaps();
    let (rules, matched) = coverage.rules();
    anstream::println!("coverage: {matched} of {rules} rules matched by a case");
    for gap in &gaps {
        anstream::println!("  {}  {DIM}{}{DIM:#}", gap.text, gap.place);
    }
    gaps.len()
}
