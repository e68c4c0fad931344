//! Which notifications are to be sent next: first what was postponed until now, then in order of arrival.

use rusqlite::{Connection, Row, params};
use uuid::Uuid;

use super::ledger::Ledger;
use crate::outbox::work::{Claimed, Pending};

/// How many rows in line are passed over for one claim because others hold them. More would hold up the store.
const MOST_PASSED: usize = 1000;

pub(super) const POSTPONED: &str = "SELECT seq, sequence, id, payload, attempts, received_at, waiting_since, topic, rule, \
    source, rewritten FROM notification \
    WHERE state = 0 AND server = ?1 AND due_at > 0 AND due_at <= ?2 ORDER BY due_at, seq";
pub(super) const IN_LINE: &str = "SELECT seq, sequence, id, payload, attempts, received_at, waiting_since, topic, rule, \
    source, rewritten FROM notification WHERE state = 0 AND server = ?1 AND due_at = 0 ORDER BY seq";
pub(super) const LATER: &str =
    "SELECT min(due_at) FROM notification WHERE state = 0 AND server = ?1 AND due_at > ?2";
pub(super) const EARLIER: &str = "SELECT EXISTS (SELECT 1 FROM notification WHERE state = 0 AND server = ?1 \
    AND topic = ?2 AND sequence = ?3 AND seq < ?4)";

/// What [`find`] looks for.
pub(super) struct Search<'a> {
    pub(super) db: &'a Connection,
    pub(super) ledger: &'a Ledger,
    pub(super) server: &'a str,
    pub(super) limit: usize,
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
        let mut passed = 0;
        while let Some(row) = rows.next()? {
            let seq = row.get(0)?;
            if self.ledger.is_claimed(seq) || self.follows_another(seq, row)? {
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

    /// Whether an earlier one of its sequence waits or is under way: it must not be overtaken.
    fn follows_another(&self, seq: i64, row: &Row<'_>) -> rusqlite::Result<bool> {
        let Some(sequence) = row.get::<_, Option<String>>(1)? else { return Ok(false) };
        let topic: String = row.get(7)?;
        self.db
            .prepare_cached(EARLIER)?
            .query_row(params![self.server, topic, sequence, seq], |row| row.get(0))
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
