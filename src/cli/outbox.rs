//! `hookbell outbox`: what waits, what is dead and why, and what to do about it. Works beside a running gateway and
//! without one.

mod change;
mod look;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand, ValueEnum};
use uuid::Uuid;

/// Flags of `outbox`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  hookbell outbox list --state dead --since 2h\n  hookbell outbox retry --dead --source github"
)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// The folder of the store
    #[arg(long, value_name = "DIR", env = "HOOKBELL_DATA", default_value = "data", global = true)]
    data: PathBuf,
    /// Write JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// What waits and what is dead, the newest first
    List(Which),
    /// Everything about one notification, or about those of one webhook
    Show {
        /// The id of a notification, or of a webhook as its sender was answered
        id: Uuid,
    },
    /// Send again now: dead and dropped notifications wait once more, waiting ones go as soon as can be
    Retry {
        /// Ids of notifications
        #[arg(required_unless_present = "dead")]
        ids: Vec<Uuid>,
        /// All dead notifications
        #[arg(long, conflicts_with = "ids")]
        dead: bool,
        /// Only those dead since: a time such as 2h ago, or 2026-12-01T08:00:00Z
        #[arg(long, value_name = "TIME", value_parser = parse_since, requires = "dead")]
        since: Option<i64>,
        /// Only those of this source
        #[arg(long, value_name = "NAME", requires = "dead")]
        source: Option<String>,
    },
    /// Give up waiting or dead notifications
    Drop {
        /// Ids of notifications
        #[arg(required = true)]
        ids: Vec<Uuid>,
    },
    /// How much there is
    Stats,
}

/// Which notifications to list.
#[derive(Debug, Args)]
struct Which {
    /// Only in this state; may be given several times [default: waiting and dead]
    #[arg(long = "state", value_enum)]
    states: Vec<State>,
    /// In every state
    #[arg(long, conflicts_with = "states")]
    all: bool,
    /// Only of this source
    #[arg(long, value_name = "NAME")]
    source: Option<String>,
    /// Only for this server
    #[arg(long, value_name = "NAME")]
    server: Option<String>,
    /// Only received since: a time such as 2h ago, or 2026-12-01T08:00:00Z
    #[arg(long, value_name = "TIME", value_parser = parse_since)]
    since: Option<i64>,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
}

/// Where a notification stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum State {
    /// To be sent
    Waiting,
    /// Taken by its server
    Delivered,
    /// Given up by the gateway
    Dead,
    /// Given up by an operator
    Dropped,
}

impl State {
    fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Delivered => "delivered",
            Self::Dead => "dead",
            Self::Dropped => "dropped",
        }
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let Arguments { command, data, json } = arguments;
    match command {
        Command::List(which) => look::list(data, which, *json),
        Command::Show { id } => look::show(data, *id, *json),
        Command::Stats => look::stats(data, *json),
        Command::Retry { dead: true, since, source, .. } => {
            change::retry_dead(data, *since, source.as_deref(), *json)
        }
        Command::Retry { ids, .. } => change::retry(data, ids, *json),
        Command::Drop { ids } => change::discard(data, ids, *json),
    }
}

/// A time, or how long ago it was, in Unix milliseconds.
fn parse_since(text: &str) -> Result<i64, String> {
    if let Some(ago) = crate::rules::parse_duration(text.trim().trim_end_matches("ago").trim()) {
        return Ok(crate::clock::unix_ms().saturating_sub(crate::clock::millis(ago)));
    }
    text.trim()
        .parse::<jiff::Timestamp>()
        .map(jiff::Timestamp::as_millisecond)
        .map_err(|_| format!("expected a time such as 2h or 2026-12-01T08:00:00Z, found {text:?}"))
}
