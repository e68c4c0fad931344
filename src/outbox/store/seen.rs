//! Keys of webhooks that came before, each remembered for its window.
//!
//! Keys are as good as random. An index of them on disk would make every webhook touch a page of its own, so the index
//! is in memory, and the table is only ever written at its end.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, params};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::outbox::webhook::{Once, Webhook};

const ALL: &str = "SELECT seq, key FROM seen ORDER BY seq";
const FIND: &str = "SELECT webhook FROM seen WHERE seq = ?1 AND key = ?2 AND until > ?3";
const REMEMBER: &str = "INSERT INTO seen (key, until, webhook) VALUES (?1, ?2, ?3)";
const FORGET: &str = "DELETE FROM seen WHERE seq = (SELECT max(seq) FROM seen) AND webhook = ?1";
const PRUNE: &str = "DELETE FROM seen WHERE seq IN (SELECT seq FROM seen ORDER BY seq LIMIT ?2) AND until <= ?1 \
    RETURNING seq, key";

type Key = [u8; 32];

/// Fewer keys than this are not worth moving.
const ROOMY: usize = 1 << 14;

/// Where the latest row of each key stands. A hint: the row itself decides, so that one which a lost transaction took
/// back does no harm.
#[derive(Debug, Default)]
pub(super) struct Seen(HashMap<u64, i64>);

impl Seen {
    pub(super) fn read(db: &Connection) -> rusqlite::Result<Self> {
        let mut statement = db.prepare(ALL)?;
        let rows = statement.query_map([], |row| Ok((short(&row.get(1)?), row.get(0)?)))?;
        rows.collect::<Result<_, _>>().map(Self)
    }

    /// The first webhook that this one repeats, if it repeats one; else this one is the first of its key from now on.
    pub(super) fn first(&mut self, db: &Connection, webhook: &Webhook) -> rusqlite::Result<Option<Uuid>> {
        let Some(once) = &webhook.once else { return Ok(None) };
        let key = digest(webhook, once);
        if let Some(seq) = self.0.get(&short(&key)) {
            let found = db
                .prepare_cached(FIND)?
                .query_row(params![seq, key, webhook.received_at], |row| row.get(0))
                .optional()?;
            if let Some(first) = found {
                return Ok(Some(Uuid::from_bytes(first)));
            }
        }
        let window = i64::try_from(once.window.as_millis()).unwrap_or(i64::MAX);
        let until = webhook.received_at.saturating_add(window);
        let seq = db.prepare_cached(REMEMBER)?.insert(params![key, until, webhook.id.as_bytes()])?;
        self.0.insert(short(&key), seq);
        Ok(None)
    }

    /// Takes back the latest key, if this webhook was its first.
    pub(super) fn forget(db: &Connection, webhook: Uuid) -> rusqlite::Result<()> {
        db.execute(FORGET, [webhook.as_bytes()]).map(drop)
    }

    /// Forgets keys whose time is over among the `limit` oldest; returns how many.
    pub(super) fn prune(&mut self, db: &Connection, now_ms: i64, limit: usize) -> rusqlite::Result<usize> {
        let mut statement = db.prepare_cached(PRUNE)?;
        let rows = statement
            .query_map(params![now_ms, limit as i64], |row| Ok((row.get(0)?, short(&row.get(1)?))))?;
        let gone: Vec<(i64, u64)> = rows.collect::<Result<_, _>>()?;
        for (seq, key) in &gone {
            if self.0.get(key) == Some(seq) {
                self.0.remove(key);
            }
        }
        // A map keeps the room of its fullest hour for ever.
        if self.0.capacity() > ROOMY.max(4 * self.0.len()) {
            self.0.shrink_to(2 * self.0.len());
        }
        Ok(gone.len())
    }
}

/// A key may be a whole body, and hold what nobody needs to read twice.
fn digest(webhook: &Webhook, once: &Once) -> Key {
    let mut hash = Sha256::new();
    hash.update(webhook.source.len().to_le_bytes());
    hash.update(&webhook.source);
    hash.update(&once.key);
    hash.finalize().into()
}

/// Enough of a key to find its row by.
fn short(key: &Key) -> u64 {
    key.first_chunk().map_or(0, |start| u64::from_le_bytes(*start))
}
