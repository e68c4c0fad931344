//! The shape of the database file, and how each version becomes the next.

use rusqlite::Connection;

/// `HOOK` in ASCII: tells our files from anyone else's SQLite database.
pub(super) const APPLICATION_ID: i32 = 0x484F_4F4B;

/// Step `n` makes version `n + 1`. Released steps are never edited; a change is a new step.
const STEPS: &[&str] = &[
    "
    CREATE TABLE notification (
        seq         INTEGER PRIMARY KEY,        -- order of arrival
        state       INTEGER NOT NULL DEFAULT 0, -- 0 waiting, 1 delivered, 2 dead
        due_at      INTEGER NOT NULL,           -- Unix ms
        received_at INTEGER NOT NULL,           -- Unix ms
        settled_at  INTEGER,                    -- Unix ms, once delivered or dead
        attempts    INTEGER NOT NULL DEFAULT 0,
        id          BLOB NOT NULL UNIQUE,
        webhook     BLOB NOT NULL,
        source      TEXT NOT NULL,
        server      TEXT NOT NULL,
        topic       TEXT NOT NULL,
        rule        TEXT NOT NULL,
        reason      TEXT,                       -- of the latest failed attempt
        receipt     TEXT,
        payload     TEXT NOT NULL
    ) STRICT;
    CREATE INDEX notification_due ON notification (server, due_at) WHERE state = 0;
    CREATE INDEX notification_age ON notification (received_at) WHERE state = 0;
    CREATE INDEX notification_settled ON notification (state, settled_at) WHERE state <> 0;
    CREATE TABLE webhook (
        seq         INTEGER PRIMARY KEY,        -- order of arrival
        id          BLOB NOT NULL UNIQUE,
        received_at INTEGER NOT NULL,           -- Unix ms
        source      TEXT NOT NULL,
        size        INTEGER NOT NULL,           -- bytes of head and body
        head        TEXT NOT NULL,              -- JSON: method, path, query, headers
        body        BLOB NOT NULL
    ) STRICT;
    CREATE TABLE probe (id INTEGER PRIMARY KEY CHECK (id = 1), at INTEGER NOT NULL) STRICT;
",
    "
    -- state 3 is dropped by an operator; due_at 0 is at its place in line.
    ALTER TABLE notification ADD COLUMN waiting_since INTEGER NOT NULL DEFAULT 0; -- Unix ms
    ALTER TABLE notification ADD COLUMN sequence TEXT;     -- sent in order with others of the same
    ALTER TABLE notification ADD COLUMN rewritten INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE notification ADD COLUMN took_ms INTEGER;   -- of the attempt that delivered it
    ALTER TABLE notification ADD COLUMN first_server TEXT; -- once another took over
    UPDATE notification SET waiting_since = received_at;
    UPDATE notification SET due_at = 0 WHERE state = 0 AND attempts = 0;
    CREATE INDEX notification_sequence ON notification (server, topic, sequence)
        WHERE state = 0 AND sequence IS NOT NULL;
    CREATE TABLE attempt (
        notification INTEGER NOT NULL,          -- its seq
        n            INTEGER NOT NULL,          -- from 1
        at           INTEGER NOT NULL,          -- Unix ms, of its end
        took_ms      INTEGER NOT NULL,
        server       TEXT NOT NULL,
        reason       TEXT NOT NULL,
        PRIMARY KEY (notification, n)
    ) STRICT, WITHOUT ROWID;
    CREATE TRIGGER notification_gone AFTER DELETE ON notification
        BEGIN DELETE FROM attempt WHERE notification = old.seq; END;
    CREATE TABLE seen (
        seq     INTEGER PRIMARY KEY,            -- order of arrival
        key     BLOB NOT NULL,                  -- SHA-256 of source and key
        until   INTEGER NOT NULL,               -- Unix ms
        webhook BLOB NOT NULL                   -- the first with this key
    ) STRICT;
    ALTER TABLE webhook ADD COLUMN verdict TEXT;           -- JSON
",
    "
    ALTER TABLE webhook ADD COLUMN unpacked INTEGER;      -- bytes of the body, where it is an LZ4 block
    ALTER TABLE webhook ADD COLUMN first INTEGER;         -- seq of its first notification
    ALTER TABLE webhook ADD COLUMN notifications INTEGER; -- how many there are, one after the other
",
];

/// The version this program writes.
pub(super) const VERSION: usize = STEPS.len();

/// What a database file says about itself.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// Nothing is in it yet.
    New,
    /// Ours, of the version held.
    Ours(usize),
    /// Somebody else's.
    Foreign,
}

/// Reads where the file comes from.
pub(super) fn origin(db: &Connection) -> rusqlite::Result<Origin> {
    let application: i32 = db.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let version: i64 = db.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let objects: i64 = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    Ok(match (application, usize::try_from(version)) {
        (APPLICATION_ID, Ok(version)) => Origin::Ours(version),
        (0, Ok(0)) if objects == 0 => Origin::New,
        _ => Origin::Foreign,
    })
}

/// Brings a file from version `from` to [`VERSION`]: wholly, or not at all.
pub(super) fn migrate(db: &mut Connection, from: usize) -> rusqlite::Result<()> {
    if from == VERSION {
        return Ok(());
    }
    let change = db.transaction()?;
    STEPS.iter().skip(from).try_for_each(|step| change.execute_batch(step))?;
    change.pragma_update(None, "application_id", APPLICATION_ID)?;
    change.pragma_update(None, "user_version", VERSION as i64)?;
    change.commit()
}
