//! `outbox list`, `show` and `stats`: reading only.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Error, Result, bail};
use bytesize::ByteSize;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{State, Which};
use crate::clock::unix_ms;
use crate::outbox::{Browser, Entry, Filter, Overview, RecordedWebhook};

pub(super) fn list(data: &Path, which: &Which, json: bool) -> Result<ExitCode> {
    let page = Browser::open(data)?.list(&filter(which)).map_err(Error::msg)?;
    if json {
        println!("{}", serde_json::to_string_pretty(&page)?);
        return Ok(ExitCode::SUCCESS);
    }
    if page.notifications.is_empty() {
        println!("nothing");
    }
    for entry in &page.notifications {
        println!("{}", line(entry));
    }
    if page.more {
        println!("… and older ones; raise --limit to see them");
    }
    Ok(ExitCode::SUCCESS)
}

fn filter(which: &Which) -> Filter {
    let states = match (which.all, which.states.as_slice()) {
        (true, _) => vec![State::Waiting, State::Delivered, State::Dead, State::Dropped],
        (false, []) => vec![State::Waiting, State::Dead],
        (false, states) => states.to_vec(),
    };
    Filter {
        states: states.into_iter().map(State::name).collect(),
        source: which.source.clone(),
        server: which.server.clone(),
        since: which.since,
        limit: which.limit,
    }
}

fn line(entry: &Entry) -> String {
    let Entry { id, state, source, server, topic, text, attempts, .. } = entry;
    let head =
        format!("{id}  {}  {state:<9}  {source} → {server}/{topic}  {text:?}", time(entry.received_at));
    let tries = match attempts {
        0 => String::new(),
        1 => "  after 1 attempt".to_owned(),
        n => format!("  after {n} attempts"),
    };
    let why = match (&entry.reason, *state) {
        (Some(reason), "waiting" | "dead") => format!(": {reason}"),
        _ => String::new(),
    };
    format!("{head}{tries}{why}")
}

pub(super) fn show(data: &Path, id: Uuid, json: bool) -> Result<ExitCode> {
    let browser = Browser::open(data)?;
    let notifications = browser.find(id).map_err(Error::msg)?;
    let webhook = notifications.first().map_or(id, |entry| entry.webhook);
    let webhook = browser.webhook(webhook).map_err(Error::msg)?;
    if notifications.is_empty() && webhook.is_none() {
        bail!("neither a notification nor a webhook has the id {id} in {:?}", data.display().to_string());
    }
    if json {
        let told = json!({ "webhook": webhook.as_ref().map(record), "notifications": notifications });
        println!("{}", serde_json::to_string_pretty(&told)?);
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(webhook) = &webhook {
        print_webhook(webhook);
    }
    notifications.iter().try_for_each(print_notification)?;
    Ok(ExitCode::SUCCESS)
}

/// A recorded webhook as JSON. A body that is no text is told in base64.
fn record(webhook: &RecordedWebhook) -> Value {
    let record = &webhook.record;
    let mut told = json!({
        "id": webhook.id,
        "source": record.source,
        "received_at": record.received_at,
        "method": record.method,
        "path": record.path,
        "query": record.query,
        "headers": record.headers,
        "verdict": webhook.verdict,
    });
    match std::str::from_utf8(&record.body) {
        Ok(text) => told["body"] = text.into(),
        Err(_) => told["body_base64"] = data_encoding::BASE64.encode(&record.body).into(),
    }
    told
}

fn print_webhook(webhook: &RecordedWebhook) {
    let record = &webhook.record;
    println!("webhook {}", webhook.id);
    println!("  received  {} by source {:?}", time(record.received_at), record.source);
    if let Some(verdict) = &webhook.verdict {
        let outcome = serde_json::to_value(verdict.outcome).unwrap_or_default();
        let rules = if verdict.rules.is_empty() { "no rule".to_owned() } else { verdict.rules.join(", ") };
        println!("  decided   {} ({rules})", outcome.as_str().unwrap_or_default());
        if let Some(first) = verdict.first {
            println!("  repeats   {first}");
        }
    }
    println!("  request   {}", record.method);
    for (name, value) in &record.headers {
        println!("    {name}: {value}");
    }
    let body = String::from_utf8_lossy(&record.body);
    println!("  body      {} bytes", record.body.len());
    body.lines().for_each(|line| println!("    {line}"));
    println!("  why       hookbell explain --id {}", webhook.id);
}

fn print_notification(entry: &Entry) -> Result<()> {
    println!("\nnotification {}", entry.id);
    println!("  state     {}{}", entry.state, settled(entry));
    println!("  made by   rule {:?} of source {:?}", entry.rule, entry.source);
    let moved =
        entry.first_server.as_ref().map(|first| format!(", first meant for {first:?}")).unwrap_or_default();
    println!("  for       topic {:?} on server {:?}{moved}", entry.topic, entry.server);
    if let Some(receipt) = &entry.receipt {
        println!("  receipt   {receipt}, after {} ms", entry.took_ms.unwrap_or(0));
    }
    println!("  attempts  {}", entry.attempts);
    for failure in &entry.failures {
        println!(
            "    {}  {} ms  {:?}: {}",
            time(failure.at),
            failure.took_ms,
            failure.server,
            failure.reason
        );
    }
    let payload = entry.payload.clone().unwrap_or_default();
    println!("{}", serde_json::to_string_pretty(&payload)?);
    Ok(())
}

fn settled(entry: &Entry) -> String {
    match entry.settled_at {
        Some(at) if entry.state != "waiting" => format!(" since {}", time(at)),
        _ if entry.due_at > unix_ms() => format!(", next attempt {}", time(entry.due_at)),
        _ => String::new(),
    }
}

pub(super) fn stats(data: &Path, json: bool) -> Result<ExitCode> {
    let overview = Browser::open(data)?.overview().map_err(Error::msg)?;
    if json {
        println!("{}", serde_json::to_string_pretty(&overview)?);
    } else {
        print_overview(&overview);
    }
    Ok(ExitCode::SUCCESS)
}

fn print_overview(overview: &Overview) {
    println!("waiting    {}", overview.waiting);
    println!("dead       {}", overview.dead);
    println!("delivered  {}", overview.delivered);
    println!("dropped    {}", overview.dropped);
    println!("webhooks   {}", overview.webhooks);
    if let Some(oldest) = overview.oldest_waiting_at {
        println!("oldest     {}", time(oldest));
    }
    println!("size       {} in use of {}", ByteSize(overview.used_bytes), ByteSize(overview.file_bytes));
    for server in &overview.servers {
        println!("server {:?}: {} waiting, {} dead", server.server, server.waiting, server.dead);
    }
}

/// In the zone of whoever reads it.
fn time(at: i64) -> String {
    let moment = Timestamp::from_millisecond(at).unwrap_or_default();
    moment.to_zoned_datetime(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string()
}
