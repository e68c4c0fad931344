//! From a decision to what the outbox keeps.

use uuid::Uuid;

use crate::notification::Topic;
use crate::outbox::{Kept, Once, Outgoing, Verdict, VerdictOutcome, Webhook, new_id, unix_ms};
use crate::pipeline::{Decision, Planned};
use crate::rules::source::Source;

/// A received webhook with everything that was decided of it.
pub(super) fn webhook(source: &Source, decision: Decision, record: Kept) -> Webhook {
    let id = new_id();
    let window = source.dedupe.as_ref().map(|dedupe| dedupe.window);
    let once = decision.key.clone().zip(window).map(|(key, window)| Once { key, window });
    Webhook { id, once, ..assemble(source, id, decision, record, Order::Free) }
}

/// A recorded webhook that runs through the rules once more. Its notifications replace those of the first time on the
/// phone, so a replay of one webhook follows the other; it is never taken for a repeat.
pub(super) fn replayed(source: &Source, first: Uuid, decision: Decision, record: Kept) -> Webhook {
    // What is replayed waits from now on, however old its webhook is.
    Webhook { received_at: unix_ms(), ..assemble(source, first, decision, record, Order::Strict) }
}

/// Whether notifications with an id of our own must stay in order with others of the same.
#[derive(Clone, Copy, PartialEq)]
enum Order {
    Free,
    Strict,
}

fn assemble(source: &Source, sequences_of: Uuid, decision: Decision, record: Kept, order: Order) -> Webhook {
    let verdict = verdict(&decision);
    let outgoing = |(index, planned)| outgoing(planned, &sequence_id(sequences_of, index), order);
    Webhook {
        id: new_id(),
        source: source.name.clone(),
        received_at: record.received_at(),
        record: Some(record),
        verdict,
        once: None,
        notifications: decision.notifications.into_iter().enumerate().map(outgoing).collect(),
    }
}

fn verdict(decision: &Decision) -> Verdict {
    let outcome = match (decision.notifications.is_empty(), decision.matched.is_empty()) {
        (false, _) => VerdictOutcome::Published,
        (true, false) => VerdictOutcome::Dropped,
        (true, true) => VerdictOutcome::Unmatched,
    };
    let rules = decision.matched.iter().map(ToString::to_string).collect();
    Verdict { outcome, rules, first: None }
}

/// The same for the same notification of a webhook, however often it is sent: a repeat replaces it on the phone
/// instead of doubling it (ntfy 2.16 and later; earlier ones ignore the key).
fn sequence_id(webhook: Uuid, index: usize) -> String {
    match index {
        0 => webhook.simple().to_string(),
        n => format!("{}-{n}", webhook.simple()),
    }
}

fn outgoing(planned: Planned, own_id: &str, order: Order) -> Outgoing {
    let mut notification = planned.notification;
    let shared = notification.sequence_id.as_ref().map(|id| id.as_str().to_owned());
    if notification.sequence_id.is_none() {
        notification.sequence_id = Topic::parse_sequence_id(own_id).ok();
    }
    Outgoing {
        id: new_id(),
        server: planned.server.to_string(),
        topic: notification.topic.as_str().to_owned(),
        rule: planned.rule.to_string(),
        sequence: shared.or_else(|| (order == Order::Strict).then(|| own_id.to_owned())),
        payload: notification.to_json(),
    }
}
