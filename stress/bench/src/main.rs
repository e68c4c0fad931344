//! A load generator for the gateway and for the proxy it is compared with. It costs less than what it measures: one
//! thread, requests that are ready before the run, and no more of HTTP/1.1 than the answers need.

use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;

mod answer;
mod connection;
mod flags;
mod load;
mod mix;
mod pace;
mod report;
mod request;
mod samples;
mod sized;
mod tally;
mod usage;

use flags::Flags;
use report::Report;

fn main() -> ExitCode {
    match run(&Flags::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(e) => {
            eprintln!("stress-bench: {e:#}");
            ExitCode::from(2)
        }
    }
}

/// Whether every answer was the right one.
fn run(flags: &Flags) -> Result<bool> {
    let plan = flags.plan()?;
    let mix = flags.mix()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (tally, usage) = tokio::task::LocalSet::new().block_on(&runtime, load::run(&plan, mix));
    let report = Report::new(&tally, usage);
    print!("{report}");
    if let Some(file) = &flags.json {
        let json = serde_json::to_vec_pretty(&report)?;
        std::fs::write(file, json).with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(tally.all_right())
}
