//! Recorded webhooks through the rules of today.

use serde::Serialize;
use uuid::Uuid;

use super::accept;
use crate::outbox::{Kept, Outbox, RecordedWebhook};
use crate::pipeline::{Decision, Reception, receive};
use crate::rules::request::Request;
use crate::rules::set::RuleSet;
use crate::rules::source::Source;

/// The largest body that is read again, in bytes: it was within the limit of its time.
const LIMIT: usize = 64 * 1024 * 1024;

/// What a replay came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Replayed {
    /// The recorded webhook.
    pub webhook: Uuid,
    /// The id under which it was stored once more.
    pub replay: Uuid,
    /// How many notifications it became.
    pub notifications: usize,
}

/// Runs a recorded webhook through the rules and stores what becomes of it. It was verified when it came, and it is
/// never taken for a repeat.
///
/// # Errors
/// In words: its source is gone, its body cannot be read any more, or the store does not take it.
pub async fn replay(rules: &RuleSet, outbox: &Outbox, recorded: RecordedWebhook) -> Result<Replayed, String> {
    let first = recorded.id;
    let (source, decision) = decide_again(rules, &recorded)?;
    let webhook = accept::replayed(source, first, decision, Kept::from(&recorded.record));
    let (replay, notifications) = (webhook.id, webhook.notifications.len());
    outbox.enqueue(webhook).await.map_err(|error| error.to_string())?;
    tracing::info!(id = %replay, %first, source = source.name, notifications, "webhook replayed");
    Ok(Replayed { webhook: first, replay, notifications })
}

/// What the rules make of a recorded webhook now. Also a source that is off decides.
///
/// # Errors
/// In words: its source is gone, is off in a running gateway, or its body cannot be read any more.
pub fn decide_again<'a>(
    rules: &'a RuleSet,
    recorded: &RecordedWebhook,
) -> Result<(&'a Source, Decision), String> {
    let record = &recorded.record;
    let source = rules
        .sources()
        .iter()
        .chain(rules.off().iter().map(|off| &off.source))
        .find(|source| source.name == record.source)
        .ok_or_else(|| format!("its source {:?} is not in the rules any more", record.source))?;
    if source.rules.all().is_empty() {
        return Err(format!("its source {:?} is off; turn it on to replay its webhooks", record.source));
    }
    let request = Request {
        method: record.method.clone(),
        headers: record.headers.clone(),
        query: record.query.clone(),
        path: record.path.clone(),
        body: serde_json::Value::Null,
        received_at: record.received_at,
        ..Request::default()
    };
    let reception = Reception { limit: LIMIT, verify: false };
    receive(rules, source, request, &record.body, reception, None)
        .map(|decision| (source, decision))
        .map_err(|refusal| refusal.to_string())
}
