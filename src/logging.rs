//! The log: lines on standard error, as text for people or as JSON for machines.
//!
//! A line reads alone, carries its facts as fields and appears once. Never logged: secrets, tokens, paths that hold
//! a secret, and what payloads say (their size and source are enough).

mod throttle;

use std::io::{IsTerminal, stderr};

use tracing_subscriber::filter::EnvFilter;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

use self::throttle::Throttle;

/// How lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// For people; coloured on a terminal.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// What is logged unless `RUST_LOG` says otherwise: the servers below only when something is wrong.
const FILTER: &str = "info,actix_server=warn,actix_web=warn,actix_http=warn,actix_rt=warn";

/// Starts logging for the whole process. A second call changes nothing.
pub fn init(format: Format) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(FILTER));
    let lines = tracing_subscriber::fmt::layer().with_writer(stderr).with_target(false);
    let lines = match format {
        Format::Text => lines.with_ansi(stderr().is_terminal()).boxed(),
        Format::Json => lines.json().flatten_event(true).boxed(),
    };
    let _ = tracing_subscriber::registry()
        .with(lines.with_filter(Throttle::default()).with_filter(filter))
        .try_init();
}
