//! Changes that no attempt made: an operator's, and those for many notifications at once.

use rusqlite::{OptionalExtension, params};
use uuid::Uuid;

use super::ledger::Change;
use super::{Store, Unavailable, unix_ms};
use crate::outbox::work::{DeadFilter, Reached};

/// Rows changed by one command: the others of its group wait for it.
const AT_ONCE: usize = 500;

const FIND: &str = "SELECT seq, state, server FROM notification WHERE id = ?1";
const RECALL: &str = "UPDATE notification SET due_at = 0 WHERE id = ?1 AND state = 0";
const REVIVE: &str = "UPDATE notification SET state = 0, due_at = 0, settled_at = NULL, \
    waiting_since = iif(state = 0, waiting_since, ?2) WHERE seq = ?1";
const DISCARD: &str = "UPDATE notification SET state = 3, settled_at = ?2 WHERE seq = ?1";
const DIVERT: &str = "UPDATE notification SET first_server = coalesce(first_server, server), server = ?2, \
    due_at = 0 WHERE seq = ?1";
const EXPIRE: &str = "UPDATE notification SET state = 2, settled_at = ?2, reason = ?3 WHERE seq = ?1";
/// Nothing waits longer than since it was received, and by that there is an index.
pub(super) const OLD: &str = "SELECT seq FROM notification INDEXED BY notification_age WHERE state = 0 AND received_at < ?2 AND server = ?1 \
    AND waiting_since < ?2 ORDER BY received_at";
const DEAD: &str = "SELECT seq, server FROM notification WHERE state <> 0 AND state = 2 \
    AND settled_at >= ?1 AND settled_at < ?2 AND (?3 IS NULL OR source = ?3) ORDER BY settled_at LIMIT ?4";

/// One notification as an operator's wish finds it.
struct Found {
    seq: i64,
    state: i64,
    server: String,
}

impl Store {
    pub(in crate::outbox) fn recall(&mut self, ids: &[Uuid]) -> Result<(), Unavailable> {
        self.attempt(|store| ids.iter().try_for_each(|id| store.update(RECALL, [id.as_bytes()])))
    }

    pub(in crate::outbox) fn revive(&mut self, ids: &[Uuid]) -> Result<Vec<Reached>, Unavailable> {
        self.for_each(ids, |store, found| match found.state {
            1 => Ok(Reached::Delivered),
            _ => store.revive_one(found).map(|()| Reached::Done),
        })
    }

    pub(in crate::outbox) fn discard(&mut self, ids: &[Uuid]) -> Result<Vec<Reached>, Unavailable> {
        self.for_each(ids, |store, found| match found.state {
            1 => Ok(Reached::Delivered),
            3 => Ok(Reached::Dropped),
            _ => store.discard_one(found).map(|()| Reached::Done),
        })
    }

    fn for_each(
        &mut self,
        ids: &[Uuid],
        wish: impl Fn(&mut Self, &Found) -> rusqlite::Result<Reached>,
    ) -> Result<Vec<Reached>, Unavailable> {
        self.all_or_nothing(|store| {
            let reach = |id: &Uuid| match store.find_one(*id)? {
                None => Ok(Reached::Unknown),
                Some(found) if store.ledger.is_claimed(found.seq) => Ok(Reached::UnderWay),
                Some(found) => wish(store, &found),
            };
            ids.iter().map(reach).collect()
        })
    }

    fn find_one(&self, id: Uuid) -> rusqlite::Result<Option<Found>> {
        self.db
            .prepare_cached(FIND)?
            .query_row([id.as_bytes()], |row| {
                Ok(Found { seq: row.get(0)?, state: row.get(1)?, server: row.get(2)? })
            })
            .optional()
    }

    fn revive_one(&mut self, found: &Found) -> rusqlite::Result<()> {
        self.update(REVIVE, params![found.seq, unix_ms()])?;
        let server = self.ledger.shared_name(&found.server);
        if found.state == 2 {
            self.ledger.stage(Change::Undied(1));
        }
        if found.state != 0 {
            self.ledger.stage(Change::Arrived(server.clone()));
        }
        self.ledger.stage(Change::Urged(server));
        Ok(())
    }

    fn discard_one(&mut self, found: &Found) -> rusqlite::Result<()> {
        self.update(DISCARD, params![found.seq, unix_ms()])?;
        let server = self.ledger.shared_name(&found.server);
        self.ledger.stage(if found.state == 2 { Change::Undied(1) } else { Change::Left(server) });
        Ok(())
    }

    pub(in crate::outbox) fn revive_dead(&mut self, filter: &DeadFilter) -> Result<usize, Unavailable> {
        self.all_or_nothing(|store| {
            let since = filter.since.unwrap_or(0);
            let dead: Vec<Found> = store
                .db
                .prepare_cached(DEAD)?
                .query_map(params![since, filter.before, filter.source, AT_ONCE as i64], |row| {
                    Ok(Found { seq: row.get(0)?, state: 2, server: row.get(1)? })
                })?
                .collect::<Result<_, _>>()?;
            dead.iter().try_for_each(|found| store.revive_one(found))?;
            Ok(dead.len())
        })
    }

    pub(in crate::outbox) fn divert(
        &mut self,
        server: &str,
        to: &str,
        before_ms: i64,
    ) -> Result<usize, Unavailable> {
        self.all_or_nothing(|store| {
            let seqs = store.old(server, before_ms)?;
            let (from, to) = (store.ledger.shared_name(server), store.ledger.shared_name(to));
            for seq in &seqs {
                store.update(DIVERT, params![seq, &*to])?;
                store.ledger.stage(Change::Left(from.clone()));
                store.ledger.stage(Change::Arrived(to.clone()));
            }
            Ok(seqs.len())
        })
    }

    pub(in crate::outbox) fn expire(
        &mut self,
        server: &str,
        before_ms: i64,
        reason: &str,
    ) -> Result<usize, Unavailable> {
        self.all_or_nothing(|store| {
            let seqs = store.old(server, before_ms)?;
            let name = store.ledger.shared_name(server);
            for seq in &seqs {
                store.update(EXPIRE, params![seq, unix_ms(), reason])?;
                store.ledger.stage(Change::Left(name.clone()));
                store.ledger.stage(Change::Died);
            }
            Ok(seqs.len())
        })
    }

    /// What has waited for the server since before then, and is not under way.
    fn old(&self, server: &str, before_ms: i64) -> rusqlite::Result<Vec<i64>> {
        let mut statement = self.db.prepare_cached(OLD)?;
        let rows = statement.query_map(params![server, before_ms], |row| row.get::<_, i64>(0))?;
        let free = rows.filter(|row| !row.as_ref().is_ok_and(|seq| self.ledger.is_claimed(*seq)));
        free.take(AT_ONCE).collect()
    }
}
