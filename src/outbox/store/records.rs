//! The records of received webhooks: bounded by size and by age, oldest out first.

use rusqlite::{Connection, OptionalExtension, params};
use uuid::Uuid;

use crate::outbox::browse::RecordedWebhook;
use crate::outbox::record::{Kept, Record, unpack};
use crate::outbox::webhook::{Verdict, Webhook};

const INSERT: &str = "INSERT INTO webhook (id, received_at, source, size, head, body, unpacked, verdict, first, notifications) \
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
const FIND: &str = "SELECT source, received_at, head, body, verdict, unpacked FROM webhook WHERE id = ?1";
const PRUNE: &str = "DELETE FROM webhook WHERE seq IN (SELECT seq FROM \
    (SELECT seq, received_at, sum(size) OVER (ORDER BY seq) - size AS before FROM \
        (SELECT seq, received_at, size FROM webhook ORDER BY seq LIMIT ?3)) \
    WHERE before < ?1 OR received_at < ?2)";

type Pairs = Vec<(String, String)>;

/// Writes one record. `first` is the row of the webhook's first notification; the others follow it.
pub(super) fn insert(
    db: &Connection,
    webhook: &Webhook,
    kept: &Kept,
    verdict: &Verdict,
    first: Option<i64>,
) -> rusqlite::Result<()> {
    let Kept { received_at, head, body, unpacked } = kept;
    let (size, unpacked) = (signed(head.len() + body.len()), unpacked.map(signed));
    let verdict = serde_json::to_string(verdict).unwrap_or_default();
    let Webhook { id, source, notifications, .. } = webhook;
    let count = first.map(|_| signed(notifications.len()));
    db.prepare_cached(INSERT)?
        .execute(params![
            id.as_bytes(),
            received_at,
            source,
            size,
            head,
            &body[..],
            unpacked,
            verdict,
            first,
            count
        ])
        .map(drop)
}

fn signed(size: usize) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}

/// Deletes the record with this id, if there is one.
pub(super) fn forget(db: &Connection, id: Uuid) -> rusqlite::Result<()> {
    db.execute("DELETE FROM webhook WHERE id = ?1", [id.as_bytes()]).map(drop)
}

/// Deletes up to `limit` of the oldest records: all that are too old, or any when there is `excess` (bytes
/// beyond the bound), but then no more than make up for it.
/// Returns how many went.
pub(super) fn prune(db: &Connection, excess: i64, before: i64, limit: usize) -> rusqlite::Result<usize> {
    db.prepare_cached(PRUNE)?.execute(params![excess, before, limit as i64])
}

/// When the oldest record was received, in Unix milliseconds.
pub(super) fn oldest(db: &Connection) -> rusqlite::Result<Option<i64>> {
    db.prepare_cached("SELECT received_at FROM webhook ORDER BY seq LIMIT 1")?
        .query_row([], |row| row.get(0))
        .optional()
}

/// The record with this id.
pub(super) fn find(db: &Connection, id: Uuid) -> rusqlite::Result<Option<RecordedWebhook>> {
    db.query_row(FIND, [id.as_bytes()], |row| recorded(id, row)).optional()
}

fn recorded(id: Uuid, row: &rusqlite::Row<'_>) -> rusqlite::Result<RecordedWebhook> {
    let (method, path, query, headers): (String, Pairs, Pairs, Pairs) =
        read_json(2, &row.get::<_, String>(2)?)?;
    let unpacked = row.get::<_, Option<i64>>(5)?.and_then(|size| usize::try_from(size).ok());
    let body = unpack(row.get(3)?, unpacked).map_err(|error| unreadable(3, error))?;
    let verdict = row.get::<_, Option<String>>(4)?.map(|text| read_json(4, &text)).transpose()?;
    let record = Record { source: row.get(0)?, method, path, query, headers, body, received_at: row.get(1)? };
    Ok(RecordedWebhook { id, record, verdict })
}

pub(super) fn read_json<T: serde::de::DeserializeOwned>(column: usize, text: &str) -> rusqlite::Result<T> {
    serde_json::from_str(text).map_err(|error| unreadable(column, error))
}

fn unreadable(column: usize, error: impl std::error::Error + Send + Sync + 'static) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Blob, Box::new(error))
}
