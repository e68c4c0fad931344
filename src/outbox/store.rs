//! The store: everything that is SQLite's. One connection writes, and one thread owns it.
//!
//! On disk a notification is waiting, delivered or dead. That it is being sent right now is known
//! in memory only: claiming costs no write, and what a crash interrupts is waiting again.

pub(super) mod browse;
mod due;
mod ledger;
mod open;
mod prune;
mod recent;
mod records;
mod schema;
mod seen;
mod wishes;

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, params};
use uuid::Uuid;

use super::webhook::{Enqueued, Outgoing, Verdict, VerdictOutcome, Webhook};
use super::work::{Claimed, Depth, Order, Settlement};
use super::{Options, Unavailable, unix_ms};
use ledger::{Change, Ledger, News};
pub use open::OpenError;
use seen::Seen;

const INSERT: &str = "INSERT INTO notification \
    (due_at, received_at, waiting_since, id, webhook, source, server, topic, rule, sequence, payload) \
    VALUES (0, ?1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
const DELIVER: &str = "UPDATE notification SET state = 1, attempts = attempts + 1, \
    settled_at = ?2, receipt = ?3, took_ms = ?4 WHERE seq = ?1";
const RETRY: &str =
    "UPDATE notification SET attempts = attempts + 1, due_at = ?2, reason = ?3 WHERE seq = ?1";
const REWRITE: &str = "UPDATE notification SET attempts = attempts + 1, due_at = 0, payload = ?2, rewritten = 1, \
    reason = ?3 WHERE seq = ?1";
const POSTPONE: &str = "UPDATE notification SET due_at = ?2 WHERE seq = ?1";
const BURY: &str = "UPDATE notification SET state = 2, attempts = attempts + 1, \
    settled_at = ?2, reason = ?3 WHERE seq = ?1";
/// Attempts of one notification that are kept.
const ATTEMPTS_KEPT: i64 = 20;
const FAILED: &str = "INSERT OR REPLACE INTO attempt (notification, n, at, took_ms, server, reason) \
    SELECT seq, attempts, ?2, ?3, server, ?4 FROM notification WHERE seq = ?1";
const FORGET_FAILED: &str = "DELETE FROM attempt WHERE notification = ?1 AND n <= (SELECT attempts FROM notification WHERE seq = ?1) - ?2";
const OLDEST: &str = "SELECT min(received_at) FROM notification WHERE state = 0";
const PROBE: &str = "INSERT INTO probe (id, at) VALUES (1, ?1) ON CONFLICT DO UPDATE SET at = excluded.at";

/// The open store. Its methods run between [`Store::begin`] and [`Store::commit`].
#[derive(Debug)]
pub(super) struct Store {
    db: Connection,
    ledger: Ledger,
    seen: Seen,
    schedule: prune::Schedule,
    /// Why the transaction under way is lost already, when it is.
    lost: Option<Unavailable>,
    /// The latest failure of the transaction, whether or not it cost the others.
    failure: Option<Unavailable>,
    _lock: File,
}

impl Store {
    pub(super) fn open(data: &Path, options: &Options) -> Result<Self, OpenError> {
        let open::Opened { db, ledger, seen, lock } = open::open(data, options.set_aside)?;
        Ok(Self {
            db,
            ledger,
            seen,
            schedule: prune::Schedule::new(options.keep, options.keep_size),
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

    /// Ends the transaction: all of it is on disk, or none of it happened. Returns who is to be told.
    pub(super) fn commit(&mut self) -> Result<News, Unavailable> {
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

    /// Without a savepoint, which would copy every page that is written: one that fails halfway is taken back row by row.
    pub(super) fn enqueue(&mut self, webhook: &Webhook) -> Result<Enqueued, Unavailable> {
        self.attempt(|store| {
            let result = store.write_webhook(webhook);
            if result.is_err() && !store.db.is_autocommit() {
                store.take_back(webhook).or_else(|_| store.execute("ROLLBACK"))?;
            }
            result
        })
    }

    fn write_webhook(&mut self, webhook: &Webhook) -> rusqlite::Result<Enqueued> {
        if let Some(first) = self.seen.first(&self.db, webhook)? {
            let verdict =
                Verdict { outcome: VerdictOutcome::Duplicate, first: Some(first), ..webhook.verdict.clone() };
            self.record(webhook, &verdict, None)?;
            return Ok(Enqueued::Duplicate(first));
        }
        let mut row = None;
        for one in &webhook.notifications {
            self.insert(webhook, one)?;
            row = row.or_else(|| Some(self.db.last_insert_rowid()));
        }
        self.record(webhook, &webhook.verdict, row)?;
        for one in &webhook.notifications {
            let server = self.ledger.shared_name(&one.server);
            self.ledger.stage(Change::Arrived(server));
        }
        Ok(Enqueued::Stored)
    }

    fn take_back(&self, webhook: &Webhook) -> rusqlite::Result<()> {
        for one in &webhook.notifications {
            self.update("DELETE FROM notification WHERE id = ?1", [one.id.as_bytes()])?;
        }
        records::forget(&self.db, webhook.id)?;
        Seen::forget(&self.db, webhook.id)
    }

    fn record(&self, webhook: &Webhook, verdict: &Verdict, first: Option<i64>) -> rusqlite::Result<()> {
        match &webhook.record {
            Some(kept) => records::insert(&self.db, webhook, kept, verdict, first),
            None => Ok(()),
        }
    }

    fn insert(&self, webhook: &Webhook, one: &Outgoing) -> rusqlite::Result<()> {
        self.update(
            INSERT,
            params![
                webhook.received_at,
                one.id.as_bytes(),
                webhook.id.as_bytes(),
                webhook.source,
                one.server,
                one.topic,
                one.rule,
                one.sequence,
                one.payload,
            ],
        )
    }

    /// Runs a command that writes several rows. One that fails halfway must leave nothing, while the others of its
    /// group stay. What it stages comes last, so that nothing is staged of what fails.
    fn all_or_nothing<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> rusqlite::Result<T>,
    ) -> Result<T, Unavailable> {
        self.attempt(|store| {
            store.execute("SAVEPOINT one")?;
            let staged = store.ledger.staged();
            let result = work(store).and_then(|done| store.execute("RELEASE one").map(|()| done));
            if result.is_err() {
                store.ledger.unstage(staged);
                if !store.db.is_autocommit() {
                    store.execute("ROLLBACK TO one")?;
                }
            }
            result
        })
    }

    pub(super) fn claim(
        &mut self,
        server: &str,
        limit: usize,
        order: Order,
        now_ms: i64,
    ) -> Result<Claimed, Unavailable> {
        let (claimed, seqs) = self.attempt(|store| {
            let (db, ledger) = (&store.db, &store.ledger);
            due::find(&due::Search { db, ledger, server, limit, order, now_ms })
        })?;
        for (pending, seq) in claimed.deliveries.iter().zip(seqs) {
            self.ledger.claim(pending.id, seq, server);
        }
        Ok(claimed)
    }

    pub(super) fn settle(
        &mut self,
        id: Uuid,
        settlement: &Settlement,
        took: Duration,
    ) -> Result<(), Unavailable> {
        let Some(seq) = self.ledger.claimed_seq(id) else { return Ok(()) };
        let took_ms = i64::try_from(took.as_millis()).unwrap_or(i64::MAX);
        if matches!(settlement, Settlement::Delivered { .. }) {
            // One statement, and by far the most frequent one.
            self.attempt(|store| store.write(seq, settlement, took_ms))?;
            self.ledger.stage(Change::Finished(id));
            return Ok(());
        }
        self.all_or_nothing(|store| {
            store.write(seq, settlement, took_ms)?;
            match settlement {
                Settlement::Dead { .. } => {
                    store.ledger.stage(Change::Finished(id));
                    store.ledger.stage(Change::Died);
                }
                _ => store.ledger.stage(Change::Released(id)),
            }
            Ok(())
        })
    }

    fn write(&self, seq: i64, settlement: &Settlement, took_ms: i64) -> rusqlite::Result<()> {
        let now = unix_ms();
        match settlement {
            Settlement::Delivered { receipt } => self.update(DELIVER, params![seq, now, receipt, took_ms]),
            Settlement::Retry { at, reason } => {
                self.update(RETRY, params![seq, at.unwrap_or(0), reason])?;
                self.note_failure(seq, now, took_ms, reason)
            }
            Settlement::Rewrite { payload, reason } => {
                self.update(REWRITE, params![seq, payload, reason])?;
                self.note_failure(seq, now, took_ms, reason)
            }
            Settlement::Dead { reason } => {
                self.update(BURY, params![seq, now, reason])?;
                self.note_failure(seq, now, took_ms, reason)
            }
            Settlement::Postpone(at) => self.update(POSTPONE, params![seq, at]),
            Settlement::Release => Ok(()),
        }
    }

    fn note_failure(&self, seq: i64, now: i64, took_ms: i64, reason: &str) -> rusqlite::Result<()> {
        self.update(FAILED, params![seq, now, took_ms, reason])?;
        self.update(FORGET_FAILED, params![seq, ATTEMPTS_KEPT])
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

#[cfg(test)]
mod properties;
#[cfg(test)]
pub(super) mod tests;
