//! Notifications that no template made: nothing is dropped silently.

use super::Planned;
use super::render::Failure;
use crate::notification::{Notification, Priority, truncate};
use crate::rules::source::{Publish, Rule, Source};

/// How much of a payload a fallback shows, in bytes.
const EXCERPT: usize = 1000;

/// The raw body as a notification: for what is malformed or unmatched. `None` without a default topic,
/// which the check at load refuses where it matters.
pub(super) fn raw_body(source: &Source, rule: &str, raw: &[u8]) -> Option<Planned> {
    let fallback = source.fallback.as_ref()?;
    let mut notification = Notification::new(fallback.topic.clone(), readable(raw));
    notification.title = Some(fallback.title.clone().unwrap_or_else(|| source.name.clone()));
    notification.set_tags(["warning"]);
    notification.fit();
    Some(Planned { server: fallback.server.clone(), rule: rule.into(), notification })
}

/// What takes the place of a notification whose rendering failed.
pub(super) fn rule_failed(
    source: &Source,
    rule: &Rule,
    publish: &Publish,
    failure: &Failure,
    raw: &[u8],
) -> Option<Notification> {
    let own =
        publish.topic.as_ref().and_then(|topic| crate::notification::Topic::parse(topic.literal()?).ok());
    let topic = own.or_else(|| publish.default_topic.clone())?;
    let message = format!(
        "Rule \"{}\" of source \"{}\" failed\n{failure}\n\n{}",
        rule.name,
        source.name,
        truncate(&readable(raw), EXCERPT)
    );
    let mut notification = Notification::new(topic, message);
    notification.title = Some("Hookbell: a rule failed".to_owned());
    notification.priority = Some(Priority::High);
    notification.set_tags(["warning"]);
    notification.fit();
    Some(notification)
}

/// The body as text. Control characters other than line breaks and tabs would only garble the phone.
fn readable(raw: &[u8]) -> String {
    let shown = &raw[..raw.len().min(2 * crate::notification::MESSAGE_LIMIT)];
    let keep = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
    let text: String = String::from_utf8_lossy(shown).chars().filter(keep).collect();
    if text.trim().is_empty() { "(empty body)".to_owned() } else { text }
}
