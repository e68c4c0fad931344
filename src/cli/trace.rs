//! A trace as text.

use std::fmt::Write;

use serde_json::Value;

use crate::pipeline::{Decision, RuleTrace, Trace};
use crate::rules::condition::Finding;
use crate::rules::template::Note;

/// The longest value shown beside a condition.
const VALUE_WIDTH: usize = 80;
/// The most values shown beside a condition.
const VALUES: usize = 3;

/// The whole story of a decision.
pub(super) fn render(trace: &Trace, decision: &Decision) -> String {
    let mut text = String::new();
    for item in &trace.items {
        if let Some(index) = item.index {
            let _ = writeln!(text, "item {index}");
        }
        for rule in &item.rules {
            write_rule(&mut text, rule);
        }
    }
    if trace.items.is_empty() {
        text.push_str("no item: `split` selects nothing in this body\n");
    }
    if let Some(key) = &decision.key {
        let _ = writeln!(text, "\nrepeats are known by {key:?}");
    }
    if let Some(answer) = &decision.response {
        let _ = writeln!(
            text,
            "\nthe sender is answered {} ({}): {:?}",
            answer.status, answer.content_type, answer.body
        );
    }
    match (decision.notifications.len(), decision.matched.is_empty()) {
        (0, true) => text.push_str("\nno rule matched: nothing is sent\n"),
        (0, false) => text.push_str("\ndropped by rule: nothing is sent\n"),
        (1, _) => text.push_str("\n1 notification\n"),
        (count, _) => {
            let _ = writeln!(text, "\n{count} notifications");
        }
    }
    for planned in &decision.notifications {
        let json = serde_json::to_string_pretty(&planned.notification).unwrap_or_default();
        let _ = writeln!(text, "{json}");
    }
    text
}

fn write_rule(text: &mut String, rule: &RuleTrace) {
    let mark = if rule.matched { "✓" } else { "✗" };
    let _ = writeln!(text, "{mark} rule \"{}\" ({})", rule.name, rule.place);
    for finding in &rule.findings {
        write_finding(text, finding);
    }
    if rule.findings.is_empty() {
        text.push_str("    matches always\n");
    }
    for note in &rule.notes {
        let field = &note.field;
        let _ = match &note.note {
            Note::Missing(path) => writeln!(text, "    ! {field}: nothing at {path}"),
            Note::Found(_) | Note::Absent(_) => Ok(()),
            Note::PrintedAsJson(path) => {
                writeln!(text, "    ! {field}: {path} is a mapping, printed as json")
            }
            Note::Joined(path) => writeln!(text, "    ! {field}: {path} is a list, joined by commas"),
        };
    }
    for failure in &rule.failures {
        let _ = writeln!(text, "    ! failed: {failure}; a fallback notification takes its place");
    }
}

fn write_finding(text: &mut String, finding: &Finding) {
    let mark = if finding.held { "✓" } else { "✗" };
    let indent = "  ".repeat(finding.depth);
    let combinator = matches!(finding.condition.as_str(), "any" | "all" | "not");
    let found = if combinator { String::new() } else { format!("   found {}", values(&finding.found)) };
    let _ = writeln!(text, "    {indent}{mark} {}{found}", finding.condition);
}

fn values(found: &[Value]) -> String {
    let shorten = |value: &Value| {
        let text = value.to_string();
        if text.chars().count() <= VALUE_WIDTH {
            return text;
        }
        format!("{}…", text.chars().take(VALUE_WIDTH).collect::<String>())
    };
    match found {
        [] => "nothing".to_owned(),
        few if few.len() <= VALUES => few.iter().map(shorten).collect::<Vec<_>>().join(", "),
        many => {
            let first: Vec<String> = many[..VALUES].iter().map(shorten).collect();
            format!("{} and {} more", first.join(", "), many.len() - VALUES)
        }
    }
}
