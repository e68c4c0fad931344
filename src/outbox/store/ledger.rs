//! What the store knows without asking the disk: how much waits, and what is claimed. Changes
//! wait for the commit, so that memory and disk never disagree.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use rusqlite::Connection;
use uuid::Uuid;

/// A change that holds once its transaction is committed.
#[derive(Debug)]
pub(super) enum Change {
    Arrived(Arc<str>),
    Delivered(Uuid),
    Buried(Uuid),
    Released(Uuid),
    Recorded(i64),
}

#[derive(Debug)]
struct Claim {
    seq: i64,
    server: Arc<str>,
}

#[derive(Debug, Default)]
pub(super) struct Ledger {
    waiting: HashMap<Arc<str>, u64>,
    dead: u64,
    /// Bytes of the records of webhooks.
    recorded: i64,
    claims: HashMap<Uuid, Claim>,
    claimed_seqs: HashSet<i64>,
    staged: Vec<Change>,
    /// Claimed in the transaction under way: undone if that fails, as their rows may be its own.
    fresh: Vec<Uuid>,
}

impl Ledger {
    /// Counts what a store holds.
    pub(super) fn read(db: &Connection) -> rusqlite::Result<Self> {
        let mut waiting = HashMap::new();
        let mut statement =
            db.prepare("SELECT server, count(*) FROM notification WHERE state = 0 GROUP BY server")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            waiting.insert(Arc::from(row.get::<_, String>(0)?), row.get::<_, i64>(1)?.unsigned_abs());
        }
        let dead = db
            .query_row("SELECT count(*) FROM notification WHERE state <> 0 AND state = 2", [], |row| {
                row.get::<_, i64>(0)
            })?
            .unsigned_abs();
        Ok(Self { waiting, dead, recorded: super::records::size(db)?, ..Self::default() })
    }

    pub(super) fn waiting(&self) -> u64 {
        self.waiting.values().sum()
    }

    pub(super) fn dead(&self) -> u64 {
        self.dead
    }

    pub(super) fn recorded(&self) -> i64 {
        self.recorded
    }

    pub(super) fn forget_records(&mut self, bytes: i64) {
        self.recorded -= bytes;
    }

    pub(super) fn servers(&self) -> Vec<String> {
        self.waiting.iter().filter(|(_, count)| **count > 0).map(|(name, _)| name.to_string()).collect()
    }

    pub(super) fn stage(&mut self, change: Change) {
        self.staged.push(change);
    }

    pub(super) fn stage_arrival(&mut self, server: &str) {
        let server = self.shared_name(server);
        self.stage(Change::Arrived(server));
    }

    /// Takes effect at once: a later claim of the same transaction must not find it again.
    pub(super) fn claim(&mut self, id: Uuid, seq: i64, server: &str) {
        let server = self.shared_name(server);
        self.claims.insert(id, Claim { seq, server });
        self.claimed_seqs.insert(seq);
        self.fresh.push(id);
    }

    pub(super) fn is_claimed(&self, seq: i64) -> bool {
        self.claimed_seqs.contains(&seq)
    }

    pub(super) fn claimed_seq(&self, id: Uuid) -> Option<i64> {
        self.claims.get(&id).map(|claim| claim.seq)
    }

    pub(super) fn forget(&mut self, id: Uuid) -> Option<Arc<str>> {
        let claim = self.claims.remove(&id)?;
        self.claimed_seqs.remove(&claim.seq);
        Some(claim.server)
    }

    pub(super) fn forget_dead(&mut self, count: u64) {
        self.dead = self.dead.saturating_sub(count);
    }

    /// The transaction is committed. Returns the servers with arrivals, each once.
    pub(super) fn apply(&mut self) -> Vec<Arc<str>> {
        self.fresh.clear();
        let mut arrived = Vec::new();
        for change in std::mem::take(&mut self.staged) {
            match change {
                Change::Arrived(server) => {
                    *self.waiting.entry(Arc::clone(&server)).or_default() += 1;
                    if !arrived.contains(&server) {
                        arrived.push(server);
                    }
                }
                Change::Delivered(id) => self.finish(id),
                Change::Buried(id) => {
                    self.finish(id);
                    self.dead += 1;
                }
                Change::Released(id) => drop(self.forget(id)),
                Change::Recorded(bytes) => self.recorded += bytes,
            }
        }
        arrived
    }

    /// The transaction is lost.
    pub(super) fn undo(&mut self) {
        self.staged.clear();
        for id in std::mem::take(&mut self.fresh) {
            self.forget(id);
        }
    }

    fn finish(&mut self, id: Uuid) {
        if let Some(count) = self.forget(id).and_then(|server| self.waiting.get_mut(&server)) {
            *count = count.saturating_sub(1);
        }
    }

    /// One allocation a name, not one a notification.
    fn shared_name(&self, server: &str) -> Arc<str> {
        self.waiting.get_key_value(server).map_or_else(|| Arc::from(server), |(name, _)| Arc::clone(name))
    }
}
