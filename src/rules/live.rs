//! The rules in force, while the process runs.

use std::sync::Arc;

use arc_swap::{ArcSwap, ArcSwapOption};
use tokio::sync::watch;

use super::set::RuleSet;
use super::target::Targets;
use crate::problem::Problem;

/// The set in force and, if the folder has moved on to something broken, why it was not replaced.
#[derive(Debug)]
pub struct Live {
    set: ArcSwap<RuleSet>,
    stale: ArcSwapOption<Stale>,
    targets: watch::Sender<Arc<Targets>>,
}

/// Rules on disk that are not in force.
#[derive(Debug)]
pub struct Stale {
    /// Since when, in Unix milliseconds.
    pub since: i64,
    /// All their mistakes.
    pub problems: Vec<Problem>,
}

impl Live {
    /// Starts with a valid set.
    pub fn new(set: RuleSet) -> Self {
        let (targets, _) = watch::channel(set.targets().clone());
        Self { set: ArcSwap::from_pointee(set.without_idle_rules()), stale: ArcSwapOption::empty(), targets }
    }

    /// The set in force. A request takes it once, so that a reload never changes rules under it.
    pub fn current(&self) -> Arc<RuleSet> {
        self.set.load_full()
    }

    /// Puts a new set in force, for requests that start from now on.
    pub fn replace(&self, set: RuleSet) {
        self.targets.send_replace(set.targets().clone());
        self.set.store(Arc::new(set.without_idle_rules()));
        self.stale.store(None);
    }

    /// Notes that the folder holds mistakes; the set in force stays.
    pub fn mark_stale(&self, since: i64, problems: Vec<Problem>) {
        self.stale.store(Some(Arc::new(Stale { since, problems })));
    }

    /// Why the folder is not in force, if it is not.
    pub fn stale(&self) -> Option<Arc<Stale>> {
        self.stale.load_full()
    }

    /// The servers in force, now and after each reload.
    pub fn targets(&self) -> watch::Receiver<Arc<Targets>> {
        self.targets.subscribe()
    }
}
