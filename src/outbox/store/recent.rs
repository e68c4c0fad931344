//! Webhooks for people to look through: newest first, page by page.

use rusqlite::types::Value;
use rusqlite::{Connection, Row, params, params_from_iter};
use uuid::Uuid;

use super::browse::{COLUMNS, entry};
use super::records::read_json;
use crate::outbox::browse::{Arrival, Entry, Search, State};

/// Rows of notifications are found by where they stand: an index for it would cost every webhook a write.
const OF: &str = "n.seq >= w.first AND n.seq < w.first + w.notifications AND n.webhook = w.id";

/// The webhooks that `search` looks for.
pub(super) fn find(db: &Connection, search: &Search) -> rusqlite::Result<Vec<Arrival>> {
    let (conditions, values) = conditions(search);
    let text = format!(
        "SELECT w.seq, w.id, w.received_at, w.source, w.size, w.verdict, w.first, w.notifications FROM webhook w \
         WHERE {conditions} ORDER BY w.seq DESC LIMIT {}",
        search.limit
    );
    let mut statement = db.prepare(&text)?;
    let found: Vec<(Arrival, Option<(i64, i64)>)> =
        statement.query_map(params_from_iter(&values), arrival)?.collect::<Result<_, _>>()?;
    found
        .into_iter()
        .map(|(arrival, rows)| Ok(Arrival { notifications: notifications(db, arrival.id, rows)?, ..arrival }))
        .collect()
}

fn conditions(search: &Search) -> (String, Vec<Value>) {
    let (mut all, mut values) = (vec!["1".to_owned()], Vec::new());
    let mut bind = |value: Value| {
        values.push(value);
        format!("?{}", values.len())
    };
    if let Some(before) = search.before {
        all.push(format!("w.seq < {}", bind(before.into())));
    }
    if let Some(source) = &search.source {
        all.push(format!("w.source = {}", bind(source.clone().into())));
    }
    if let Some(state) = search.state {
        all.push(of_state(state));
    }
    if let Some(text) = search.text.as_deref().map(str::trim).filter(|text| !text.is_empty()) {
        let within = bind(format!("%{}%", escaped(text)).into());
        let id = bind(format!("{}%", escaped(&text.replace('-', ""))).into());
        all.push(format!(
            "(hex(w.id) LIKE {id} ESCAPE '!' OR w.source LIKE {within} ESCAPE '!' OR EXISTS (SELECT 1 FROM notification n \
             WHERE {OF} AND (n.payload LIKE {within} ESCAPE '!' OR n.rule LIKE {within} ESCAPE '!')))"
        ));
    }
    (all.join(" AND "), values)
}

fn of_state(state: State) -> String {
    // Few wait or are dead, and an index knows them; of what was delivered there is one wherever one looks.
    let among = |test: &str| format!("w.id IN (SELECT n.webhook FROM notification n WHERE {test})");
    let verdict = |outcome: &str| format!("json_extract(w.verdict, '$.outcome') = '{outcome}'");
    match state {
        State::Waiting => among("n.state = 0"),
        State::Dead => among("n.state <> 0 AND n.state = 2"),
        State::Delivered => format!("EXISTS (SELECT 1 FROM notification n WHERE {OF} AND n.state = 1)"),
        State::Dropped => {
            format!("({} OR {})", verdict("dropped"), among("n.state <> 0 AND n.state = 3"))
        }
        State::Unmatched => verdict("unmatched"),
        State::Duplicate => verdict("duplicate"),
    }
}

fn escaped(text: &str) -> String {
    text.replace('!', "!!").replace('%', "!%").replace('_', "!_")
}

fn arrival(row: &Row<'_>) -> rusqlite::Result<(Arrival, Option<(i64, i64)>)> {
    let verdict = row.get::<_, Option<String>>(5)?.map(|text| read_json(5, &text)).transpose()?;
    let first: Option<i64> = row.get(6)?;
    let arrival = Arrival {
        row: row.get(0)?,
        id: Uuid::from_bytes(row.get(1)?),
        received_at: row.get(2)?,
        source: row.get(3)?,
        size: row.get(4)?,
        verdict,
        notifications: Vec::new(),
    };
    Ok((arrival, first.zip(row.get(7)?)))
}

fn notifications(db: &Connection, webhook: Uuid, rows: Option<(i64, i64)>) -> rusqlite::Result<Vec<Entry>> {
    let Some((first, count)) = rows else { return Ok(Vec::new()) };
    let text = format!(
        "SELECT {COLUMNS} FROM notification WHERE seq >= ?1 AND seq < ?1 + ?2 AND webhook = ?3 ORDER BY seq"
    );
    let mut statement = db.prepare_cached(&text)?;
    let rows = statement.query_map(params![first, count, webhook.as_bytes()], |row| entry(row, false))?;
    rows.collect()
}

#[cfg(test)]
mod tests;
