//! The records of received webhooks: bounded by size and by age, oldest out first.

use std::path::Path;

use rusqlite::{Connection, OpenFlags, OptionalExtension, params};
use uuid::Uuid;

use super::open::{OpenError, explain};
use crate::outbox::record::Record;

const INSERT: &str =
    "INSERT INTO webhook (id, received_at, source, size, head, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
const FIND: &str = "SELECT source, received_at, head, body FROM webhook WHERE id = ?1";
const PRUNE: &str = "DELETE FROM webhook WHERE seq IN (SELECT seq FROM \
    (SELECT seq, received_at, sum(size) OVER (ORDER BY seq) - size AS before FROM \
        (SELECT seq, received_at, size FROM webhook ORDER BY seq LIMIT ?3)) \
    WHERE before < ?1 OR received_at < ?2) RETURNING size";

type Pairs = Vec<(String, String)>;

/// Writes one record and returns its size in bytes, as it counts against the bound.
pub(super) fn insert(db: &Connection, id: Uuid, record: &Record) -> rusqlite::Result<i64> {
    let head = serde_json::json!([record.method, record.path, record.query, record.headers]).to_string();
    let size = i64::try_from(head.len() + record.body.len()).unwrap_or(i64::MAX);
    db.prepare_cached(INSERT)?.execute(params![
        id.as_bytes(),
        record.received_at,
        record.source,
        size,
        head,
        record.body
    ])?;
    Ok(size)
}

/// Bytes of all records.
pub(super) fn size(db: &Connection) -> rusqlite::Result<i64> {
    db.query_row("SELECT coalesce(sum(size), 0) FROM webhook", [], |row| row.get(0))
}

/// Deletes up to `limit` of the oldest records: all that are too old, or any when there is `excess` (bytes
/// beyond the bound), but then no more than make up for it.
/// Returns how many went and their bytes.
pub(super) fn prune(
    db: &Connection,
    excess: i64,
    before: i64,
    limit: usize,
) -> rusqlite::Result<(usize, i64)> {
    let mut statement = db.prepare_cached(PRUNE)?;
    let sizes = statement.query_map(params![excess, before, limit as i64], |row| row.get::<_, i64>(0))?;
    sizes.collect::<Result<Vec<_>, _>>().map(|sizes| (sizes.len(), sizes.iter().sum()))
}

/// Looks one up, beside a running gateway or without one.
pub(in crate::outbox) fn find(data: &Path, id: Uuid) -> Result<Option<Record>, OpenError> {
    let path = data.join("hookbell.db");
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let find = || -> rusqlite::Result<Option<Record>> {
        let db = Connection::open_with_flags(&path, flags)?;
        db.busy_timeout(std::time::Duration::from_secs(5))?;
        db.pragma_update(None, "query_only", true)?;
        db.query_row(FIND, [id.as_bytes()], record).optional()
    };
    find().map_err(|error| explain(&path, &error))
}

fn record(row: &rusqlite::Row<'_>) -> rusqlite::Result<Record> {
    let head: String = row.get(2)?;
    let (method, path, query, headers): (String, Pairs, Pairs, Pairs) =
        serde_json::from_str(&head).map_err(|error| {
            rusqlite::Error::FromSqlConversionFailure(2, rusqlite::types::Type::Text, Box::new(error))
        })?;
    Ok(Record {
        source: row.get(0)?,
        method,
        path,
        query,
        headers,
        body: row.get(3)?,
        received_at: row.get(1)?,
    })
}
