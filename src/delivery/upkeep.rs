//! What has waited too long for a server that takes nothing: it goes to another one, or is given up.

use std::time::Duration;

use super::route::Route;
use crate::clock::millis;
use crate::outbox::Outbox;
use crate::rules::target::{Fallback, Target};

/// What one round came to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Upkeep {
    /// Notifications that the fallback has now, and its name.
    pub(super) diverted: (usize, String),
    /// Notifications that were given up.
    pub(super) expired: usize,
}

impl Upkeep {
    /// How long a notification waits before it is given up.
    pub(super) fn expire(route: Option<&Route>) -> Duration {
        match route {
            Some(Route::Ntfy(target)) => target.expire,
            _ => Target::EXPIRE,
        }
    }

    /// The time between two rounds.
    pub(super) fn interval(route: Option<&Route>) -> Duration {
        let first = fallback(route).map_or(Self::expire(route), |fallback| fallback.after);
        (first / 10).clamp(Duration::from_millis(50), Duration::from_secs(30))
    }
}

fn fallback(route: Option<&Route>) -> Option<&Fallback> {
    match route {
        Some(Route::Ntfy(target)) => target.fallback.as_ref(),
        _ => None,
    }
}

/// Goes one round. A store that fails is asked again in the next.
pub(super) async fn keep_up(outbox: Outbox, server: String, route: Option<Route>, now: i64) -> Upkeep {
    let mut done = Upkeep::default();
    if let Some(fallback) = fallback(route.as_ref()) {
        let before = now - millis(fallback.after);
        done.diverted.1.clone_from(&fallback.server);
        while let Ok(count @ 1..) = outbox.divert(&server, &fallback.server, before).await {
            done.diverted.0 += count;
        }
    }
    let expire = Upkeep::expire(route.as_ref());
    let reason = format!("waited longer than {}h for the server", expire.as_secs().div_ceil(3600));
    while let Ok(count @ 1..) = outbox.expire(&server, now - millis(expire), &reason).await {
        done.expired += count;
    }
    done
}
