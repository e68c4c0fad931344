//! What the store knows without asking the disk: how much waits, and what is claimed. Changes
//! wait for the commit, so that memory and disk never disagree.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use rusqlite::Connection;
use uuid::Uuid;

/// A change that holds once its transaction is committed.
#[derive(Debug)]
pub(super) enum Change {
    /// One more waits for the server.
    Arrived(Arc<str>),
    /// An operator wants something sent to the server now.
    Urged(Arc<str>),
    /// One less waits for the server.
    Left(Arc<str>),
    /// A claimed one does not wait any more.
    Finished(Uuid),
    /// A claimed one can be claimed again.
    Released(Uuid),
    /// One more is dead.
    Died,
    /// So many less are dead.
    Undied(u64),
}

/// Who is to be told of a commit, each server once.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::outbox) struct News {
    /// Notifications arrived for these.
    pub(in crate::outbox) arrived: Vec<Arc<str>>,
    /// An operator urged these.
    pub(in crate::outbox) urged: Vec<Arc<str>>,
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
        Ok(Self { waiting, dead, ..Self::default() })
    }

    pub(super) fn waiting(&self) -> u64 {
        self.waiting.values().sum()
    }

    pub(super) fn dead(&self) -> u64 {
        self.dead
    }

    pub(super) fn servers(&self) -> Vec<String> {
        self.waiting.iter().filter(|(_, count)| **count > 0).map(|(name, _)| name.to_string()).collect()
    }

    pub(super) fn stage(&mut self, change: Change) {
        self.staged.push(change);
    }

    /// How many changes are staged, to come back to with [`Ledger::unstage`].
    pub(super) fn staged(&self) -> usize {
        self.staged.len()
    }

    /// Forgets the changes staged since there were so many.
    pub(super) fn unstage(&mut self, staged: usize) {
        self.staged.truncate(staged);
    }

    /// One allocation a name, not one a notification.
    pub(super) fn shared_name(&self, server: &str) -> Arc<str> {
        self.waiting.get_key_value(server).map_or_else(|| Arc::from(server), |(name, _)| Arc::clone(name))
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

    /// The transaction is committed.
    pub(super) fn apply(&mut self) -> News {
        self.fresh.clear();
        let mut news = News::default();
        for change in std::mem::take(&mut self.staged) {
            match change {
                Change::Arrived(server) => {
                    *self.waiting.entry(Arc::clone(&server)).or_default() += 1;
                    tell(&mut news.arrived, server);
                }
                Change::Urged(server) => tell(&mut news.urged, server),
                Change::Left(server) => self.leave(&server),
                Change::Finished(id) => {
                    if let Some(server) = self.forget(id) {
                        self.leave(&server);
                    }
                }
                Change::Released(id) => drop(self.forget(id)),
                Change::Died => self.dead += 1,
                Change::Undied(count) => self.forget_dead(count),
            }
        }
        news
    }

    /// The transaction is lost.
    pub(super) fn undo(&mut self) {
        self.staged.clear();
        for id in std::mem::take(&mut self.fresh) {
            self.forget(id);
        }
    }

    fn leave(&mut self, server: &str) {
        if let Some(count) = self.waiting.get_mut(server) {
            *count = count.saturating_sub(1);
        }
    }
}

fn tell(servers: &mut Vec<Arc<str>>, server: Arc<str>) {
    if !servers.contains(&server) {
        servers.push(server);
    }
}
