//! Keeps a repeated complaint of the accept loop from flooding the log: without file descriptors it would
//! otherwise fill the disk.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use tracing::callsite::Identifier;
use tracing::{Event, Level, Metadata};
use tracing_subscriber::layer::{Context, Filter};

/// How long a complaint stays quiet after it was heard.
const QUIET: Duration = Duration::from_secs(10);

/// Lets each warning of actix-server through once in [`QUIET`].
#[derive(Debug, Default)]
pub(super) struct Throttle {
    heard: Mutex<HashMap<Identifier, Instant>>,
}

impl Throttle {
    fn lets_through(&self, metadata: &Metadata<'_>, now: Instant) -> bool {
        if !metadata.target().starts_with("actix_server") || *metadata.level() > Level::WARN {
            return true;
        }
        let Ok(mut heard) = self.heard.lock() else { return true };
        match heard.get(&metadata.callsite()) {
            Some(last) if now.duration_since(*last) < QUIET => false,
            _ => {
                heard.insert(metadata.callsite(), now);
                true
            }
        }
    }
}

impl<S> Filter<S> for Throttle {
    fn enabled(&self, _: &Metadata<'_>, _: &Context<'_, S>) -> bool {
        true
    }

    fn event_enabled(&self, event: &Event<'_>, _: &Context<'_, S>) -> bool {
        self.lets_through(event.metadata(), Instant::now())
    }
}
