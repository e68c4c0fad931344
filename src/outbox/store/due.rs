//! Which notifications are to be sent next: first what was postponed until now, then in order of arrival.

use std::collections::HashSet;

use rusqlite::{Connection, Row, params};
use uuid::Uuid;

use super::ledger::Ledger;
use crate::outbox::work::{Claimed, Order, Pending};

/// How many rows in line are passed over for one claim because others hold them. More would hold up the store.
const MOST_PASSED: usize = 1000;

pub(super) const POSTPONED: &str = "SELECT seq, sequence, id, payload, attempts, received_at, waiting_since, topic, rule, \
    source, rewritten FROM notification \
    WHERE state = 0 AND server = ?1 AND due_at > 0 AND due_at <= ?2 ORDER BY due_at, seq";
pub(super) const IN_LINE: &str = "SELECT seq, sequence, id, payload, attempts, received_at, waiting_since, topic, rule, \
    source, rewritten FROM notification WHERE state = 0 AND server = ?1 AND due_at = 0 ORDER BY seq";
pub(super) const LATER: &str =
    "SELECT min(due_at) FROM notification WHERE state = 0 AND server = ?1 AND due_at > ?2";
pub(super) const EARLIEST: &str = "SELECT min(seq) FROM notification WHERE state = 0 AND server = ?1 \
    AND topic = ?2 AND sequence = ?3 AND seq < ?4";

/// What [`find`] looks for.
pub(super) struct Search<'a> {
    pub(super) db: &'a Connection,
    pub(super) ledger: &'a Ledger,
    pub(super) server: &'a str,
    pub(super) limit: usize,
    pub(super) order: Order,
    pub(super) now_ms: i64,
}

/// What a claim would get, and the rows of it.
pub(super) fn find(search: &Search<'_>) -> rusqlite::Result<(Claimed, Vec<i64>)> {
    let (mut claimed, mut seqs) = (Claimed::default(), Vec::new());
    let mut postponed = search.db.prepare_cached(POSTPONED)?;
    search.collect(postponed.query(params![search.server, search.now_ms])?, &mut claimed, &mut seqs)?;
    if claimed.next_due.is_none() {
        let mut in_line = search.db.prepare_cached(IN_LINE)?;
        search.collect(in_line.query([search.server])?, &mut claimed, &mut seqs)?;
    }
    if claimed.next_due.is_none() {
        claimed.next_due = search
            .db
            .prepare_cached(LATER)?
            .query_row(params![search.server, search.now_ms], |row| row.get(0))?;
    }
    Ok((claimed, seqs))
}

impl Search<'_> {
    fn collect(
        &self,
        mut rows: rusqlite::Rows<'_>,
        claimed: &mut Claimed,
        seqs: &mut Vec<i64>,
    ) -> rusqlite::Result<()> {
        let (mut passed, mut held) = (0, HashSet::new());
        while let Some(row) = rows.next()? {
            let seq = row.get(0)?;
            if self.ledger.is_claimed(seq) || self.has_to_wait(seq, row, seqs, &mut held)? {
                claimed.blocked |= !self.ledger.is_claimed(seq);
                passed += 1;
                if passed == MOST_PASSED {
                    return Ok(());
                }
                continue;
            }
            if seqs.len() == self.limit {
                claimed.next_due = Some(self.now_ms);
                return Ok(());
            }
            claimed.deliveries.push(pending(row)?);
            seqs.push(seq);
        }
        Ok(())
    }

    /// Whether an earlier one of its sequence waits or is under way, which must not be overtaken, or its topic is held.
    /// One that waits for a claimed one holds its topic: soon it goes, and those behind it go after it.
    fn has_to_wait(
        &self,
        seq: i64,
        row: &Row<'_>,
        found: &[i64],
        held: &mut HashSet<String>,
    ) -> rusqlite::Result<bool> {
        let topic: String = row.get(7)?;
        if held.contains(&topic) {
            return Ok(true);
        }
        let Some(earlier) = self.earliest_of_sequence(seq, &topic, row)? else { return Ok(false) };
        if self.order == Order::Topic && (self.ledger.is_claimed(earlier) || found.contains(&earlier)) {
            held.insert(topic);
        }
        Ok(true)
    }

    fn earliest_of_sequence(&self, seq: i64, topic: &str, row: &Row<'_>) -> rusqlite::Result<Option<i64>> {
        let Some(sequence) = row.get::<_, Option<String>>(1)? else { return Ok(None) };
        let mut earliest = self.db.prepare_cached(EARLIEST)?;
        earliest.query_row(params![self.server, topic, sequence, seq], |row| row.get(0))
    }
}

fn pending(row: &Row<'_>) -> rusqlite::Result<Pending> {
    Ok(Pending {
        id: Uuid::from_bytes(row.get(2)?),
        payload: row.get(3)?,
        attempts: row.get(4)?,
        enqueued_at: row.get(5)?,
        waiting_since: row.get(6)?,
        topic: row.get(7)?,
        rule: row.get(8)?,
        source: row.get(9)?,
        rewritten: row.get(10)?,
    })
}
