//! Helpers on texts.

use serde_json::Value;

use super::{Arguments, Outcome, Pure};
use crate::rules::matcher::number;

pub(super) const HELPERS: &[Pure] = &[
    Pure { name: "truncate", arity: (2, 2), call: truncate },
    Pure { name: "upper", arity: (1, 1), call: |a| Ok(a.text(0).to_uppercase().into()) },
    Pure { name: "lower", arity: (1, 1), call: |a| Ok(a.text(0).to_lowercase().into()) },
    Pure { name: "capitalize", arity: (1, 1), call: |a| Ok(capitalize(&a.text(0)).into()) },
    Pure { name: "trim", arity: (1, 1), call: |a| Ok(a.text(0).trim().into()) },
    Pure { name: "replace", arity: (3, 3), call: |a| Ok(a.text(0).replace(&a.text(1), &a.text(2)).into()) },
    Pure { name: "slug", arity: (1, 1), call: |a| Ok(slug(&a.text(0)).into()) },
    Pure { name: "first_line", arity: (1, 1), call: |a| Ok(first_line(&a.text(0)).into()) },
    Pure {
        name: "short_sha",
        arity: (1, 1),
        call: |a| Ok(a.text(0).chars().take(7).collect::<String>().into()),
    },
    Pure { name: "strip_html", arity: (1, 1), call: |a| Ok(strip_html(&a.text(0)).into()) },
    Pure { name: "markdown_escape", arity: (1, 1), call: |a| Ok(markdown_escape(&a.text(0)).into()) },
    Pure { name: "starts_with", arity: (2, 2), call: |a| Ok(a.text(0).starts_with(&a.text(1)).into()) },
    Pure { name: "ends_with", arity: (2, 2), call: |a| Ok(a.text(0).ends_with(&a.text(1)).into()) },
];

/// At most so many characters, the last one `…` where something was cut.
fn truncate(arguments: &Arguments<'_>) -> Outcome {
    let Some(limit) = number(arguments.value(1)).filter(|limit| *limit >= 1.0) else {
        return Err(format!("expected a number of characters, found {}", arguments.value(1)));
    };
    let text = arguments.text(0);
    let limit = limit as usize;
    if text.chars().count() <= limit {
        return Ok(Value::String(text));
    }
    let kept: String = text.chars().take(limit - 1).collect();
    Ok(Value::String(format!("{}…", kept.trim_end())))
}

fn capitalize(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// Lower-case ASCII letters, digits and single dashes: a text that fits into a topic.
fn slug(text: &str) -> String {
    let legal = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    let letters: String = text.to_lowercase().chars().map(legal).collect();
    letters.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}

fn first_line(text: &str) -> &str {
    text.trim_start().lines().next().unwrap_or_default().trim_end()
}

/// Without tags; `<br>` and the ends of blocks become line breaks, the usual entities are decoded.
fn strip_html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        out.push_str(&rest[..start]);
        rest = &rest[start..];
        let Some(end) = rest.find('>') else { break };
        let tag = rest[1..end].trim_matches('/').to_ascii_lowercase();
        let name = tag.split_whitespace().next().unwrap_or_default();
        if matches!(name, "br" | "p" | "div" | "li" | "tr") && !out.is_empty() && !out.ends_with('\n') {
            out.push('\n');
        }
        rest = &rest[end + 1..];
    }
    out.push_str(rest);
    const ENTITIES: [(&str, &str); 6] =
        [("&nbsp;", " "), ("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
    ENTITIES.iter().fold(out, |text, (entity, plain)| text.replace(entity, plain)).trim().to_owned()
}

fn markdown_escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if "\\`*_{}[]()#+-!|<>~".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}
