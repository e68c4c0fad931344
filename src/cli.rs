//! The command line: what a person types, wired to what does it.

mod card;
mod check;
mod demo;
mod explain;
mod healthcheck;
mod init;
mod outbox;
mod reach;
mod replay;
mod schema;
mod serve;
mod sources;
mod test;
mod trace;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use crate::settings::Settings;

/// Turns webhooks into ntfy notifications by rules kept in git.
#[derive(Debug, Parser)]
#[command(version, args_conflicts_with_subcommands = true, after_help = "Without a command, `serve` runs.")]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    settings: Settings,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Take webhooks and deliver notifications
    Serve(Box<Settings>),
    /// Show what the shipped rules make of the shipped samples: posts them to a gateway of its own
    Demo(demo::Arguments),
    /// Write a small rules folder to start from
    Init {
        /// The folder
        #[arg(value_name = "DIR", default_value = "rules")]
        rules: PathBuf,
    },
    /// Look for mistakes in the rules
    Check(check::Arguments),
    /// Run the test cases beside the rules
    Test(test::Arguments),
    /// Show what the rules make of one webhook, and why; sends nothing
    Explain(explain::Arguments),
    /// Look at what waits and what is dead, and send it again
    Outbox(outbox::Arguments),
    /// Run recorded webhooks through the rules of today
    Replay(replay::Arguments),
    /// List who may send, where to, and what keeps the others off
    Sources(sources::Arguments),
    /// Print the JSON Schema of rules or of test cases, for editors
    Schema {
        /// Which
        #[arg(value_enum, default_value = "rules")]
        of: schema::Of,
    },
    /// Ask a running gateway whether it is ready: for images without a shell
    Healthcheck(healthcheck::Arguments),
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// Runs the command line of this process.
pub fn run() -> ExitCode {
    let cli = Cli::parse();
    let result = match cli.command {
        None => serve::run(&cli.settings),
        Some(Command::Serve(settings)) => serve::run(&settings),
        Some(Command::Demo(arguments)) => demo::run(&arguments),
        Some(Command::Init { rules }) => init::run(&rules),
        Some(Command::Check(arguments)) => check::run(&arguments),
        Some(Command::Test(arguments)) => test::run(&arguments),
        Some(Command::Explain(arguments)) => explain::run(&arguments),
        Some(Command::Outbox(arguments)) => outbox::run(&arguments),
        Some(Command::Replay(arguments)) => replay::run(&arguments),
        Some(Command::Sources(arguments)) => sources::run(&arguments),
        Some(Command::Schema { of }) => schema::run(of),
        Some(Command::Healthcheck(arguments)) => healthcheck::run(&arguments),
        Some(Command::Completions { shell }) => {
            // Through a buffer: the generator panics when whoever reads it has seen enough.
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "hookbell", &mut script);
            let _ = std::io::stdout().write_all(&script);
            Ok(ExitCode::SUCCESS)
        }
    };
    result.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}
