//! `expect: record`: writing down what came of a case.

use std::fmt::Write;

use super::expectation::Expectation;
use super::load::Case;
use super::run::Report;
use crate::pipeline::Refusal;

/// The text of a file of cases with every `expect: record` replaced by what came of its case.
pub fn record(text: &str, ran: &[(&Case, &Report)]) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for (case, report) in ran {
        let Expectation::Record(place) = &case.expect else { continue };
        let Some(line) = lines.get_mut(place.line as usize - 1) else { continue };
        let keep: String = line.chars().take(place.column as usize - 1).collect();
        let indent = keep.len() - keep.trim_start_matches([' ', '-']).len() + 2;
        *line = format!("{}{}", keep.trim_end(), outcome(report, indent));
    }
    lines.join("\n") + "\n"
}

/// YAML for one outcome, beginning after `expect:`. Texts are written as JSON, which is YAML too.
fn outcome(report: &Report, indent: usize) -> String {
    let pad = " ".repeat(indent);
    let decision = match &report.actual {
        Some(Ok(decision)) => decision,
        Some(Err(refusal)) => return format!("\n{pad}status: {}", Refusal::status(refusal)),
        None => return " record".to_owned(),
    };
    if decision.matched.is_empty() && decision.notifications.is_empty() {
        return " nothing".to_owned();
    }
    let mut text = String::new();
    let rules: Vec<String> = decision.matched.iter().map(|rule| quoted(rule)).collect();
    let _ = write!(text, "\n{pad}rules: [{}]", rules.join(", "));
    if decision.notifications.is_empty() {
        let _ = write!(text, "\n{pad}notifications: []");
        return text;
    }
    let _ = write!(text, "\n{pad}notifications:");
    for planned in &decision.notifications {
        let json = serde_json::to_value(&planned.notification).unwrap_or_default();
        for (index, (name, value)) in json.as_object().into_iter().flatten().enumerate() {
            let lead = if index == 0 { "- " } else { "  " };
            let _ = write!(text, "\n{pad}  {lead}{name}: {value}");
        }
    }
    text
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
