//! `hookbell schema`: what editors need to complete and explain rules.

use std::process::ExitCode;

use anyhow::Result;
use clap::ValueEnum;

/// Which schema.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum Of {
    /// Files of rules
    Rules,
    /// Files of test cases
    Tests,
}

pub(super) fn run(of: Of) -> Result<ExitCode> {
    let schema = match of {
        Of::Rules => crate::rules::schema::rules(),
        Of::Tests => crate::cases::schema(),
    };
    println!("{}", serde_json::to_string_pretty(&schema)?);
    Ok(ExitCode::SUCCESS)
}
