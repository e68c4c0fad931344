//! `hookbell sources`: who may send, where to, and what keeps the others off.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use serde_json::{Value, json};

use super::check;
use crate::rules::compile::compile_folder;
use crate::rules::external::ProcessEnvironment;
use crate::rules::source::Source;

const MANUAL_HEAD: &str = "# The shipped sources\n\n\
    How to set each sender up. This page is made of the head comments of [`rules/`](../rules): \
    `hookbell sources --markdown > docs/sources.md`.\n";

/// Flags of `sources`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The folder of rules
    #[arg(value_name = "DIR", env = "HOOKBELL_RULES", default_value = "rules")]
    rules: PathBuf,
    /// Write JSON
    #[arg(long, conflicts_with = "markdown")]
    json: bool,
    /// Write what the files say about how to set their senders up, as Markdown
    #[arg(long)]
    markdown: bool,
}

/// One source as a row.
struct Row {
    name: String,
    place: String,
    proof: String,
    rules: usize,
    /// What would turn it on; nothing when it is.
    waits_for: Vec<String>,
}

impl Row {
    fn of(source: &Source, waits_for: &[String]) -> Self {
        let nobody = || if waits_for.is_empty() { "believes everybody".to_owned() } else { "-".to_owned() };
        Self {
            name: source.name.clone(),
            place: format!("{} {}", source.methods.join(","), source.path),
            proof: source.verifier.as_ref().map_or_else(nobody, |verifier| verifier.summary()),
            rules: source.rules.all().len(),
            waits_for: waits_for.to_vec(),
        }
    }

    fn state(&self) -> String {
        match self.waits_for.as_slice() {
            [] => "on".to_owned(),
            missing => format!("off: set {}", missing.join(", ")),
        }
    }

    fn json(&self) -> Value {
        let (methods, path) = self.place.split_once(' ').unwrap_or_default();
        json!({
            "source": self.name,
            "methods": methods.split(',').collect::<Vec<_>>(),
            "path": path,
            "verification": self.proof,
            "rules": self.rules,
            "on": self.waits_for.is_empty(),
            "waits_for": self.waits_for,
        })
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let set = match compile_folder(&arguments.rules, &ProcessEnvironment) {
        Ok(set) => set,
        Err(problems) => {
            eprint!("{}", check::report(&problems));
            return Ok(ExitCode::FAILURE);
        }
    };
    let mut rows: Vec<Row> = set.sources().iter().map(|source| Row::of(source, &[])).collect();
    rows.extend(set.off().iter().map(|off| Row::of(&off.source, &off.waits_for)));
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    if arguments.markdown {
        print!("{}", manual(&arguments.rules, &rows)?);
    } else if arguments.json {
        println!("{}", serde_json::to_string_pretty(&rows.iter().map(Row::json).collect::<Vec<_>>())?);
    } else {
        print(&rows);
    }
    Ok(ExitCode::SUCCESS)
}

/// A chapter for each source whose file begins with comments: what they say, and where the sender posts.
fn manual(folder: &Path, rows: &[Row]) -> Result<String> {
    let mut text = MANUAL_HEAD.to_owned();
    for row in rows {
        let file = folder.join(format!("{}.yaml", row.name));
        let Ok(source) = std::fs::read_to_string(&file) else { continue };
        let comments = source.lines().map_while(|line| line.strip_prefix('#'));
        let steps: Vec<&str> =
            comments.map(str::trim).filter(|line| !line.is_empty() && !line.contains("$schema=")).collect();
        writeln!(text, "\n## {}\n\n`{}`\n", row.name, row.place)?;
        steps.iter().try_for_each(|step| writeln!(text, "- {step}"))?;
    }
    Ok(text)
}

fn print(rows: &[Row]) {
    let heads = ["SOURCE", "POSTS TO", "PROVES ITSELF BY", "RULES"];
    let cells: Vec<[String; 4]> = rows
        .iter()
        .map(|row| [row.name.clone(), row.place.clone(), row.proof.clone(), row.rules.to_string()])
        .collect();
    let width = |column: usize| {
        let widest = cells.iter().map(|cells| cells[column].chars().count()).max().unwrap_or(0);
        widest.max(heads[column].len())
    };
    let [name, place, proof, rules] = [0, 1, 2, 3].map(width);
    let line = |cells: [&str; 4], state: &str| {
        let [a, b, c, d] = cells;
        println!("{a:<name$}  {b:<place$}  {c:<proof$}  {d:>rules$}  {state}");
    };
    line(heads, "STATE");
    for (row, cells) in rows.iter().zip(&cells) {
        line(cells.each_ref().map(String::as_str), &row.state());
    }
}
