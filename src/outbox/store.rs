//! The store: everything that is SQLite's. One connection writes, and one thread owns it.
//!
//! On disk a notification is waiting, delivered or dead. That it is being sent right now is known
//! in memory only: claiming costs no write, and what a crash interrupts is waiting again.

mod ledger;
mod open;
mod records;
mod schema;

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::{Connection, Row, params};
use uuid::Uuid;

use super::{Claimed, Depth, Options, Outgoing, Pending, Settlement, Unavailable, Webhook, unix_ms};
use ledger::{Change, Ledger};
pub use open::OpenError;
pub(super) use records::find as find_record;

/// Rows deleted in one go: a few milliseconds, so that pruning never holds up a webhook.
const PRUNED_AT_ONCE: usize = 200;
const PRUNE_EVERY: Duration = Duration::from_secs(60);

const INSERT: &str = "INSERT INTO notification \
    (due_at, received_at, id, webhook, source, server, topic, rule, payload) \
    VALUES (?1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
const DUE: &str = "SELECT seq, due_at, id, payload, attempts, received_at, topic, rule, source \
    FROM notification WHERE state = 0 AND server = ?1 ORDER BY due_at, seq";
const DELIVER: &str = "UPDATE notification SET state = 1, attempts = attempts + 1, \
    settled_at = ?2, receipt = ?3 WHERE seq = ?1";
const RETRY: &str =
    "UPDATE notification SET attempts = attempts + 1, due_at = ?2, reason = ?3 WHERE seq = ?1";
const BURY: &str = "UPDATE notification SET state = 2, attempts = attempts + 1, \
    settled_at = ?2, reason = ?3 WHERE seq = ?1";
const OLDEST: &str = "SELECT min(received_at) FROM notification WHERE state = 0";
const PROBE: &str = "INSERT INTO probe (id, at) VALUES (1, ?1) ON CONFLICT DO UPDATE SET at = excluded.at";
// `state <> 0` looks idle but lets the planner use the partial index of that condition.
const PRUNE: &str = "DELETE FROM notification WHERE seq IN (SELECT seq FROM notification \
    WHERE state <> 0 AND state = ?1 AND settled_at < ?2 LIMIT ?3)";

/// The open store. Its methods run between [`Store::begin`] and [`Store::commit`].
#[derive(Debug)]
pub(super) struct Store {
    db: Connection,
    ledger: Ledger,
    keep: Duration,
    keep_size: i64,
    prune_from: Instant,
    /// Why the transaction under way is lost already, when it is.
    lost: Option<Unavailable>,
    /// The latest failure of the transaction, whether or not it cost the others.
    failure: Option<Unavailable>,
    _lock: File,
}

impl Store {
    pub(super) fn open(data: &Path, options: &Options) -> Result<Self, OpenError> {
        let (db, ledger, lock) = open::open(data)?;
        Ok(Self {
            db,
            ledger,
            keep: options.keep,
            keep_size: i64::try_from(options.keep_size).unwrap_or(i64::MAX),
            prune_from: Instant::now(),
            lost: None,
            failure: None,
            _lock: lock,
        })
    }

    /// Starts a transaction. Should that fail, every command until the commit fails alike.
    pub(super) fn begin(&mut self) {
        self.lost = self.execute("BEGIN").err().map(|error| failing(&error));
        self.failure.clone_from(&self.lost);
    }

    /// Ends the transaction: all of it is on disk, or none of it happened. Returns the servers
    /// that new notifications wait for.
    pub(super) fn commit(&mut self) -> Result<Vec<Arc<str>>, Unavailable> {
        let committed = self.attempt(|store| store.execute("COMMIT"));
        if let Err(failure) = committed {
            if !self.db.is_autocommit() {
                let _ = self.execute("ROLLBACK");
            }
            self.ledger.undo();
            return Err(failure);
        }
        Ok(self.ledger.apply())
    }

    /// Whether the latest transaction worked: `None` when it did but wrote nothing, which proves
    /// little about the disk.
    pub(super) fn health(&mut self, changes_before: u64) -> Option<Result<(), Unavailable>> {
        match self.failure.take() {
            Some(failure) => Some(Err(failure)),
            None => (self.changes() > changes_before).then_some(Ok(())),
        }
    }

    /// Rows written since the store was opened.
    pub(super) fn changes(&self) -> u64 {
        self.db.total_changes()
    }

    pub(super) fn enqueue(&mut self, webhook: &Webhook) -> Result<(), Unavailable> {
        self.attempt(|store| {
            let mut recorded = None;
            let rows = webhook.notifications.len() + usize::from(webhook.record.is_some());
            store.all_or_nothing(rows > 1, |store| {
                if let Some(record) = &webhook.record {
                    recorded = Some(records::insert(&store.db, webhook.id, record)?);
                }
                webhook.notifications.iter().try_for_each(|one| store.insert(webhook, one))
            })?;
            recorded.into_iter().for_each(|bytes| store.ledger.stage(Change::Recorded(bytes)));
            webhook.notifications.iter().for_each(|one| store.ledger.stage_arrival(&one.server));
            Ok(())
        })
    }

    fn insert(&self, webhook: &Webhook, one: &Outgoing) -> rusqlite::Result<()> {
        self.db
            .prepare_cached(INSERT)?
            .execute(params![
                webhook.received_at,
                one.id.as_bytes(),
                webhook.id.as_bytes(),
                webhook.source,
                one.server,
                one.topic,
                one.rule,
                one.payload,
            ])
            .map(drop)
    }

    /// A command that fails halfway must leave nothing, while the others of its group stay.
    fn all_or_nothing(
        &self,
        several: bool,
        work: impl FnOnce(&Self) -> rusqlite::Result<()>,
    ) -> rusqlite::Result<()> {
        if !several {
            return work(self);
        }
        self.execute("SAVEPOINT one")?;
        let result = work(self);
        if result.is_err() && !self.db.is_autocommit() {
            self.execute("ROLLBACK TO one")?;
        }
        result.and_then(|()| self.execute("RELEASE one"))
    }

    pub(super) fn claim(&mut self, server: &str, limit: usize, now_ms: i64) -> Result<Claimed, Unavailable> {
        let (claimed, seqs) = self.attempt(|store| store.find_due(server, limit, now_ms))?;
        for (pending, seq) in claimed.deliveries.iter().zip(seqs) {
            self.ledger.claim(pending.id, seq, server);
        }
        Ok(claimed)
    }

    /// Walks the index in order of time and stops at the first row that is not for now.
    fn find_due(&self, server: &str, limit: usize, now_ms: i64) -> rusqlite::Result<(Claimed, Vec<i64>)> {
        let (mut claimed, mut seqs) = (Claimed::default(), Vec::new());
        let mut statement = self.db.prepare_cached(DUE)?;
        let mut rows = statement.query([server])?;
        while let Some(row) = rows.next()? {
            let (seq, due_at) = (row.get(0)?, row.get(1)?);
            if self.ledger.is_claimed(seq) {
                continue;
            }
            if due_at > now_ms || seqs.len() == limit {
                claimed.next_due = Some(due_at);
                break;
            }
            claimed.deliveries.push(pending(row)?);
            seqs.push(seq);
        }
        Ok((claimed, seqs))
    }

    pub(super) fn settle(&mut self, id: Uuid, settlement: &Settlement) -> Result<(), Unavailable> {
        let Some(seq) = self.ledger.claimed_seq(id) else { return Ok(()) };
        self.attempt(|store| {
            let now = unix_ms();
            match settlement {
                Settlement::Delivered { receipt } => store.update(DELIVER, params![seq, now, receipt]),
                Settlement::Retry { at, reason } => store.update(RETRY, params![seq, at, reason]),
                Settlement::Dead { reason } => store.update(BURY, params![seq, now, reason]),
                Settlement::Release => Ok(()),
            }
        })?;
        self.ledger.stage(match settlement {
            Settlement::Delivered { .. } => Change::Delivered(id),
            Settlement::Dead { .. } => Change::Buried(id),
            Settlement::Retry { .. } | Settlement::Release => Change::Released(id),
        });
        Ok(())
    }

    /// Makes a claimed notification claimable again, outside of any transaction.
    pub(super) fn forget_claim(&mut self, id: Uuid) {
        self.ledger.forget(id);
    }

    pub(super) fn depth(&mut self) -> Result<Depth, Unavailable> {
        let oldest_ms =
            self.attempt(|store| store.db.prepare_cached(OLDEST)?.query_row([], |row| row.get(0)))?;
        Ok(Depth { waiting: self.ledger.waiting(), oldest_ms, dead: self.ledger.dead() })
    }

    pub(super) fn servers(&self) -> Vec<String> {
        self.ledger.servers()
    }

    pub(super) fn probe(&mut self) -> Result<(), Unavailable> {
        self.attempt(|store| store.update(PROBE, [unix_ms()]))
    }

    /// Whether records have outgrown their bound so far that pruning cannot wait for a quiet moment.
    pub(super) fn must_prune(&self) -> bool {
        self.ledger.recorded() > self.keep_size + self.keep_size / 8
    }

    /// Deletes some of what was kept long enough, when it is time to. Whether to call again now.
    pub(super) fn prune_some(&mut self) -> bool {
        // Size is not a matter of time: a storm must not fill the disk within a minute.
        if self.ledger.recorded() > self.keep_size {
            return self.prune_records(0) > 0;
        }
        if self.prune_from > Instant::now() {
            return false;
        }
        let keep = i64::try_from(self.keep.as_millis()).unwrap_or(i64::MAX);
        let before = unix_ms().saturating_sub(keep);
        let delivered = self.prune(1, before).unwrap_or(0);
        let dead = self.prune(2, before).unwrap_or(0);
        self.ledger.forget_dead(dead as u64);
        let records = self.prune_records(before);
        let more = delivered.max(dead).max(records) == PRUNED_AT_ONCE;
        if !more {
            self.prune_from = Instant::now() + PRUNE_EVERY;
        }
        more
    }

    fn prune_records(&mut self, before_ms: i64) -> usize {
        let excess = self.ledger.recorded() - self.keep_size;
        let (gone, bytes) = records::prune(&self.db, excess, before_ms, PRUNED_AT_ONCE).unwrap_or_default();
        self.ledger.forget_records(bytes);
        gone
    }

    fn prune(&self, state: i64, before_ms: i64) -> rusqlite::Result<usize> {
        self.db.prepare_cached(PRUNE)?.execute(params![state, before_ms, PRUNED_AT_ONCE as i64])
    }

    fn execute(&self, statement: &str) -> rusqlite::Result<()> {
        self.update(statement, [])
    }

    fn update(&self, statement: &str, values: impl rusqlite::Params) -> rusqlite::Result<()> {
        self.db.prepare_cached(statement)?.execute(values).map(drop)
    }

    /// Runs one command. Some errors (a full disk) end the whole transaction in SQLite: then the
    /// rest of the group fails too, instead of each committing on its own.
    fn attempt<T>(&mut self, work: impl FnOnce(&mut Self) -> rusqlite::Result<T>) -> Result<T, Unavailable> {
        if let Some(lost) = &self.lost {
            return Err(lost.clone());
        }
        work(self).map_err(|error| {
            let failure = failing(&error);
            self.failure = Some(failure.clone());
            if self.db.is_autocommit() {
                self.lost = Some(failure.clone());
            }
            failure
        })
    }
}

fn failing(error: &rusqlite::Error) -> Unavailable {
    Unavailable::Failing(error.to_string())
}

fn pending(row: &Row<'_>) -> rusqlite::Result<Pending> {
    Ok(Pending {
        id: Uuid::from_bytes(row.get(2)?),
        payload: row.get(3)?,
        attempts: row.get(4)?,
        enqueued_at: row.get(5)?,
        topic: row.get(6)?,
        rule: row.get(7)?,
        source: row.get(8)?,
    })
}

#[cfg(test)]
mod tests;
