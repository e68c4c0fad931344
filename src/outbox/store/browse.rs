//! Looking into a store without writing to it, beside a running gateway or without one.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, params_from_iter};
use uuid::Uuid;

use super::open::{OpenError, explain};
use super::{recent, records};
use crate::outbox::browse::{
    Arrival, Attempt, Entry, Filter, Overview, Page, RecordedWebhook, Search, ServerCount,
};

/// By number on disk.
const STATES: [&str; 4] = ["waiting", "delivered", "dead", "dropped"];
/// Characters of a title or message in a list.
const TEXT: usize = 60;

pub(super) const COLUMNS: &str = "seq, id, state, webhook, source, rule, server, first_server, topic, received_at, due_at, \
    settled_at, attempts, reason, receipt, payload, took_ms";
const FAILURES: &str = "SELECT at, took_ms, server, reason FROM attempt WHERE notification = ?1 ORDER BY n";
const COUNTS: &str = "SELECT server, state, count(*) FROM notification WHERE state = 0 GROUP BY server \
    UNION ALL SELECT server, state, count(*) FROM notification WHERE state <> 0 AND state = 2 GROUP BY server";

const HITS: &str = "SELECT w.source, rule.value, count(*) FROM webhook w, json_each(w.verdict, '$.rules') rule \
    WHERE w.received_at >= ?1 GROUP BY 1, 2";
const BY_MINUTE: &str = "SELECT settled_at / 60000, count(*) FROM notification \
    WHERE state <> 0 AND state = 1 AND settled_at >= ?1 GROUP BY 1 ORDER BY 1";

/// A view of one store.
#[derive(Debug)]
pub struct Browser {
    db: Connection,
}

impl Browser {
    /// Opens the store of `data` to look into.
    ///
    /// # Errors
    /// [`OpenError`] when there is none, it is not ours or of another version, or it cannot be read.
    pub fn open(data: &Path) -> Result<Self, OpenError> {
        let path = data.join("hookbell.db");
        if !path.exists() {
            return Err(OpenError::Missing { path: data.to_owned() });
        }
        // Not read-only: that could not read a log which a crash left behind.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let db = Connection::open_with_flags(&path, flags)
            .and_then(|db| {
                db.busy_timeout(Duration::from_secs(5))?;
                db.pragma_update(None, "query_only", true)?;
                Ok(db)
            })
            .map_err(|error| explain(&path, &error))?;
        super::open::check_version(&db, &path)?;
        Ok(Self { db })
    }

    /// The newest notifications that `filter` selects.
    ///
    /// # Errors
    /// What the store said.
    pub fn list(&self, filter: &Filter) -> Result<Page, String> {
        self.page(filter).map_err(|error| error.to_string())
    }

    fn page(&self, filter: &Filter) -> rusqlite::Result<Page> {
        let query = Query::of(filter);
        let mut statement = self.db.prepare(&query.text)?;
        let rows = statement.query_map(params_from_iter(&query.values), |row| entry(row, false))?;
        let mut notifications: Vec<Entry> = rows.collect::<Result<_, _>>()?;
        let more = notifications.len() > filter.limit;
        notifications.truncate(filter.limit);
        Ok(Page { notifications, more })
    }

    /// The notification with this id, or those of the webhook with this id, with everything known of them.
    ///
    /// # Errors
    /// What the store said.
    pub fn find(&self, id: Uuid) -> Result<Vec<Entry>, String> {
        let found = self.find_by("id", id).and_then(|found| match found.is_empty() {
            true => self.find_by("webhook", id),
            false => Ok(found),
        });
        found.map_err(|error| error.to_string())
    }

    /// By webhook it reads the whole table: an index for that would cost every webhook a write.
    fn find_by(&self, column: &str, id: Uuid) -> rusqlite::Result<Vec<Entry>> {
        let text = format!("SELECT {COLUMNS} FROM notification WHERE {column} = ?1 ORDER BY seq");
        let mut statement = self.db.prepare(&text)?;
        let rows = statement.query_map([id.as_bytes()], |row| {
            Ok(Entry { failures: self.failures(row.get(0)?)?, ..entry(row, true)? })
        })?;
        rows.collect()
    }

    fn failures(&self, seq: i64) -> rusqlite::Result<Vec<Attempt>> {
        let mut statement = self.db.prepare_cached(FAILURES)?;
        let rows = statement.query_map([seq], |row| {
            Ok(Attempt { at: row.get(0)?, took_ms: row.get(1)?, server: row.get(2)?, reason: row.get(3)? })
        })?;
        rows.collect()
    }

    /// The recorded webhook with this id.
    ///
    /// # Errors
    /// What the store said.
    pub fn webhook(&self, id: Uuid) -> Result<Option<RecordedWebhook>, String> {
        records::find(&self.db, id).map_err(|error| error.to_string())
    }

    /// The newest webhooks that `search` looks for.
    ///
    /// # Errors
    /// What the store said.
    pub fn arrivals(&self, search: &Search) -> Result<Vec<Arrival>, String> {
        recent::find(&self.db, search).map_err(|error| error.to_string())
    }

    /// How many webhooks each rule took since then, in Unix milliseconds: source, rule, count.
    ///
    /// # Errors
    /// What the store said.
    pub fn hits(&self, since: i64) -> Result<Vec<(String, String, u64)>, String> {
        let count = || -> rusqlite::Result<Vec<(String, String, u64)>> {
            let mut statement = self.db.prepare(HITS)?;
            let rows = statement.query_map([since], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get::<_, i64>(2)?.unsigned_abs()))
            })?;
            rows.collect()
        };
        count().map_err(|error| error.to_string())
    }

    /// How many notifications were delivered in each minute since then, in Unix milliseconds: minute since 1970, count.
    ///
    /// # Errors
    /// What the store said.
    pub fn delivered_by_minute(&self, since: i64) -> Result<Vec<(i64, u64)>, String> {
        let count = || -> rusqlite::Result<Vec<(i64, u64)>> {
            let mut statement = self.db.prepare(BY_MINUTE)?;
            let rows = statement
                .query_map([since], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs())))?;
            rows.collect()
        };
        count().map_err(|error| error.to_string())
    }

    /// How much there is.
    ///
    /// # Errors
    /// What the store said.
    pub fn overview(&self) -> Result<Overview, String> {
        self.count().map_err(|error| error.to_string())
    }

    fn count(&self) -> rusqlite::Result<Overview> {
        let servers = self.servers()?;
        let number = |query: &str| self.db.query_row(query, [], |row| row.get::<_, i64>(0));
        let settled = |state: i64| {
            number(&format!("SELECT count(*) FROM notification WHERE state <> 0 AND state = {state}"))
        };
        let (page, free) = (number("PRAGMA page_size")?, number("PRAGMA freelist_count")?);
        let pages = number("PRAGMA page_count")?;
        let oldest_waiting_at = self.db.query_row(super::OLDEST, [], |row| row.get(0)).optional()?.flatten();
        Ok(Overview {
            waiting: servers.iter().map(|server| server.waiting).sum(),
            delivered: settled(1)?.unsigned_abs(),
            dead: servers.iter().map(|server| server.dead).sum(),
            dropped: settled(3)?.unsigned_abs(),
            oldest_waiting_at,
            servers,
            webhooks: number("SELECT count(*) FROM webhook")?.unsigned_abs(),
            used_bytes: ((pages - free) * page).unsigned_abs(),
            file_bytes: (pages * page).unsigned_abs(),
        })
    }

    fn servers(&self) -> rusqlite::Result<Vec<ServerCount>> {
        let mut counts = std::collections::BTreeMap::<String, ServerCount>::new();
        let mut statement = self.db.prepare(COUNTS)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (server, state, count): (String, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
            let empty = ServerCount { server: server.clone(), waiting: 0, dead: 0 };
            let entry = counts.entry(server).or_insert(empty);
            let field = if state == 0 { &mut entry.waiting } else { &mut entry.dead };
            *field = count.unsigned_abs();
        }
        Ok(counts.into_values().collect())
    }
}

/// A list's SQL and what it is given.
struct Query {
    text: String,
    values: Vec<rusqlite::types::Value>,
}

impl Query {
    fn of(filter: &Filter) -> Self {
        let number = |name: &&str| STATES.iter().position(|state| state == name).map(|n| n.to_string());
        let states: Vec<String> = filter.states.iter().filter_map(number).collect();
        let mut query = Self { text: String::new(), values: Vec::new() };
        let mut conditions = vec![format!("state IN ({})", states.join(", "))];
        if let Some(source) = &filter.source {
            conditions.push(query.bind("source =", source.clone().into()));
        }
        if let Some(server) = &filter.server {
            conditions.push(query.bind("server =", server.clone().into()));
        }
        if let Some(since) = filter.since {
            conditions.push(query.bind("received_at >=", since.into()));
        }
        let limit = i64::try_from(filter.limit).unwrap_or(i64::MAX).saturating_add(1);
        let limit = query.bind("LIMIT", limit.into());
        // Indexes by state hold what is newest last, but for few rows only: the table itself is read from its end.
        query.text = format!(
            "SELECT {COLUMNS} FROM notification NOT INDEXED WHERE {} ORDER BY seq DESC {limit}",
            conditions.join(" AND ")
        );
        query
    }

    fn bind(&mut self, before: &str, value: rusqlite::types::Value) -> String {
        self.values.push(value);
        format!("{before} ?{}", self.values.len())
    }
}

pub(super) fn entry(row: &Row<'_>, whole: bool) -> rusqlite::Result<Entry> {
    let state = usize::try_from(row.get::<_, i64>(2)?).unwrap_or(usize::MAX);
    let payload: serde_json::Value = serde_json::from_str(&row.get::<_, String>(15)?).unwrap_or_default();
    Ok(Entry {
        id: Uuid::from_bytes(row.get(1)?),
        state: STATES.get(state).copied().unwrap_or("unknown"),
        webhook: Uuid::from_bytes(row.get(3)?),
        source: row.get(4)?,
        rule: row.get(5)?,
        server: row.get(6)?,
        first_server: row.get(7)?,
        topic: row.get(8)?,
        text: text_of(&payload),
        received_at: row.get(9)?,
        due_at: row.get(10)?,
        settled_at: row.get(11)?,
        attempts: row.get(12)?,
        reason: row.get(13)?,
        receipt: row.get(14)?,
        took_ms: row.get(16)?,
        payload: whole.then_some(payload),
        failures: Vec::new(),
    })
}

/// What a person would know the notification by.
fn text_of(payload: &serde_json::Value) -> String {
    let text = |name: &str| payload[name].as_str().filter(|text| !text.is_empty());
    let line = text("title").or_else(|| text("message")).unwrap_or_default();
    line.lines().next().unwrap_or_default().chars().take(TEXT).collect()
}
