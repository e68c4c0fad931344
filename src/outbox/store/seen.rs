//! Keys of webhooks that came before, each remembered for its window.

use rusqlite::{Connection, OptionalExtension, params};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::outbox::webhook::{Once, Webhook};

const FIND: &str = "SELECT webhook FROM seen WHERE key = ?1 AND until > ?2";
const REMEMBER: &str = "INSERT OR REPLACE INTO seen (key, until, webhook) VALUES (?1, ?2, ?3)";
const PRUNE: &str = "DELETE FROM seen WHERE key IN (SELECT key FROM seen WHERE until <= ?1 LIMIT ?2)";

/// The first webhook that this one repeats, if it repeats one.
pub(super) fn first(db: &Connection, webhook: &Webhook) -> rusqlite::Result<Option<Uuid>> {
    let Some(once) = &webhook.once else { return Ok(None) };
    db.prepare_cached(FIND)?
        .query_row(params![digest(webhook, once), webhook.received_at], |row| row.get(0))
        .optional()
        .map(|found| found.map(Uuid::from_bytes))
}

/// Remembers this webhook as the first of its key.
pub(super) fn remember(db: &Connection, webhook: &Webhook) -> rusqlite::Result<()> {
    let Some(once) = &webhook.once else { return Ok(()) };
    let window = i64::try_from(once.window.as_millis()).unwrap_or(i64::MAX);
    let until = webhook.received_at.saturating_add(window);
    db.prepare_cached(REMEMBER)?
        .execute(params![digest(webhook, once), until, webhook.id.as_bytes()])
        .map(drop)
}

/// Forgets up to `limit` keys whose time is over; returns how many.
pub(super) fn prune(db: &Connection, now_ms: i64, limit: usize) -> rusqlite::Result<usize> {
    db.prepare_cached(PRUNE)?.execute(params![now_ms, limit as i64])
}

/// A key may be a whole body, and hold what nobody needs to read twice.
fn digest(webhook: &Webhook, once: &Once) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(webhook.source.len().to_le_bytes());
    hash.update(&webhook.source);
    hash.update(&once.key);
    hash.finalize().into()
}
