//! What goes when it was kept long enough, or when the store has grown too large.

use std::time::{Duration, Instant};

use rusqlite::params;

use super::{Store, records, unix_ms};

/// Rows deleted in one go: a few milliseconds, so that pruning never holds up a webhook.
const AT_ONCE: usize = 200;
const EVERY: Duration = Duration::from_secs(60);
/// Free pages that are kept for reuse, and how many go back to the disk at once.
const SPARE_PAGES: i64 = 1024;
const PAGES_AT_ONCE: i64 = 256;

// `state <> 0` looks idle but lets the planner use the partial index of that condition.
pub(super) const PRUNE: &str = "DELETE FROM notification WHERE seq IN (SELECT seq FROM notification \
    WHERE state <> 0 AND state = ?1 AND settled_at < ?2 LIMIT ?3)";

/// States that can go for want of room: delivered and dropped. Dead letters only go by age.
const DONE: [i64; 2] = [1, 3];

/// When pruning is tried next, and within what.
#[derive(Debug)]
pub(super) struct Schedule {
    keep: Duration,
    keep_size: i64,
    pub(super) by_age: Instant,
    by_size: Instant,
}

impl Schedule {
    pub(super) fn new(keep: Duration, keep_size: u64) -> Self {
        let now = Instant::now();
        Self { keep, keep_size: i64::try_from(keep_size).unwrap_or(i64::MAX), by_age: now, by_size: now }
    }
}

impl Store {
    /// Whether the store has outgrown its bound so far that pruning cannot wait for a quiet moment.
    pub(in crate::outbox) fn must_prune(&self) -> bool {
        self.excess() > self.schedule.keep_size / 8 && self.schedule.by_size <= Instant::now()
    }

    /// Deletes some of what must go, when it is time to. Whether to call again now.
    pub(in crate::outbox) fn prune_some(&mut self) -> bool {
        // Size is not a matter of time: a storm must not fill the disk within a minute.
        if self.excess() > 0 && self.schedule.by_size <= Instant::now() {
            if self.prune_by_size() > 0 {
                return true;
            }
            self.schedule.by_size = Instant::now() + Duration::from_secs(1);
        }
        if self.schedule.by_age <= Instant::now() {
            if self.prune_by_age() == AT_ONCE {
                return true;
            }
            self.schedule.by_age = Instant::now() + EVERY;
        }
        self.shrink_some()
    }

    /// The oldest records go first, then what was delivered before those that are left.
    fn prune_by_size(&mut self) -> usize {
        let gone = records::prune(&self.db, self.excess(), 0, AT_ONCE).unwrap_or(0);
        let oldest = records::oldest(&self.db).ok().flatten().unwrap_or(i64::MAX);
        gone + self.prune_done(oldest)
    }

    /// The most rows of any kind that went.
    fn prune_by_age(&mut self) -> usize {
        let now = unix_ms();
        let before = now.saturating_sub(i64::try_from(self.schedule.keep.as_millis()).unwrap_or(i64::MAX));
        let dead = self.prune_state(2, before);
        self.ledger.forget_dead(dead as u64);
        let records = records::prune(&self.db, 0, before, AT_ONCE).unwrap_or(0);
        let seen = self.seen.prune(&self.db, now, AT_ONCE).unwrap_or(0);
        self.prune_done(before).max(dead).max(records).max(seen)
    }

    fn prune_done(&self, before_ms: i64) -> usize {
        DONE.iter().map(|state| self.prune_state(*state, before_ms)).max().unwrap_or(0)
    }

    fn prune_state(&self, state: i64, before_ms: i64) -> usize {
        let run = || self.db.prepare_cached(PRUNE)?.execute(params![state, before_ms, AT_ONCE as i64]);
        run().unwrap_or(0)
    }

    /// Gives pages back to the disk that are free and many.
    fn shrink_some(&self) -> bool {
        let (free, used) = (self.pages("freelist_count"), self.pages("page_count"));
        if free <= SPARE_PAGES.max((used - free) / 4) {
            return false;
        }
        self.db.execute_batch(&format!("PRAGMA incremental_vacuum({PAGES_AT_ONCE})")).is_ok()
            && self.pages("freelist_count") < free
    }

    /// Bytes in use beyond the bound.
    fn excess(&self) -> i64 {
        let page = self.pages("page_size");
        (self.pages("page_count") - self.pages("freelist_count")) * page - self.schedule.keep_size
    }

    fn pages(&self, pragma: &str) -> i64 {
        self.db
            .prepare_cached(&format!("PRAGMA {pragma}"))
            .and_then(|mut statement| statement.query_row([], |row| row.get(0)))
            .unwrap_or(0)
    }
}
