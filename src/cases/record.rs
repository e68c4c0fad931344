//! `expect: record`: writing down what came of a case.

use std::fmt::Write;

use super::expectation::Expectation;
use super::load::Case;
use super::run::Report;

/// The text of a file of cases with every `expect: record` replaced by what came of its case.
pub fn record(text: &str, ran: &[(&Case, &Report)]) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for (case, report) in ran {
        let Expectation::Record(place) = &case.expect else { continue };
        let Some(line) = lines.get_mut(place.line as usize - 1) else { continue };
        let keep: String = line.chars().take(place.column as usize - 1).collect();
        let rest: String = line.chars().skip((place.column - 1 + place.width) as usize).collect();
        *line = if rest.trim_start().is_empty() || rest.trim_start().starts_with('#') {
            let indent = keep.len() - keep.trim_start_matches([' ', '-']).len() + 2;
            format!("{}{}", keep.trim_end(), outcome(report, indent))
        } else {
            // Something of a mapping on one line follows.
            format!("{keep}{}{rest}", outcome_in_line(report))
        };
    }
    lines.join("\n") + "\n"
}

/// YAML for one outcome, beginning after `expect:`. Texts are written as JSON, which is YAML too.
fn outcome(report: &Report, indent: usize) -> String {
    let pad = " ".repeat(indent);
    let decision = match &report.actual {
        Some(Ok(decision)) => decision,
        Some(Err(refusal)) => return format!("\n{pad}status: {}", refusal.status()),
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

/// The same on one line.
fn outcome_in_line(report: &Report) -> String {
    match &report.actual {
        Some(Ok(decision)) => serde_json::json!({
            "rules": decision.matched.iter().map(AsRef::as_ref).collect::<Vec<&str>>(),
            "notifications": decision.notifications.iter().map(|n| &n.notification).collect::<Vec<_>>(),
        })
        .to_string(),
        Some(Err(refusal)) => format!("{{ status: {} }}", refusal.status()),
        None => "record".to_owned(),
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
