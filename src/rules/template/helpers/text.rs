//! Helpers on texts.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use super::{Arguments, Outcome, Pure};
use crate::rules::matcher::number;

pub(super) const HELPERS: &[Pure] = &[
    Pure { name: "truncate", arity: (2, 2), call: truncate },
    Pure { name: "upper", arity: (1, 1), call: |a| Ok(a.text(0).to_uppercase().into()) },
    Pure { name: "lower", arity: (1, 1), call: |a| Ok(a.text(0).to_lowercase().into()) },
    Pure { name: "capitalize", arity: (1, 1), call: |a| Ok(capitalize(&a.text(0)).into()) },
    Pure { name: "trim", arity: (1, 1), call: |a| Ok(a.text(0).trim().into()) },
    Pure { name: "squeeze", arity: (1, 1), call: |a| Ok(squeeze(&a.text(0)).into()) },
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
    Pure { name: "url_encode", arity: (1, 1), call: |a| Ok(url_encode(&a.text(0)).into()) },
    Pure { name: "pad", arity: (2, 2), call: pad },
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

/// What RFC 3986 lets stand in any part of an address.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

fn url_encode(text: &str) -> String {
    utf8_percent_encode(text, UNRESERVED).to_string()
}

/// Without empty lines and without blanks at the ends of lines: a lock screen has few lines.
fn squeeze(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    lines.join("\n")
}

/// Zeros before a number, up to so many digits: an episode's `05`. What is missing stays missing.
fn pad(arguments: &Arguments<'_>) -> Outcome {
    const MOST: f64 = 20.0;
    let Some(width) = number(arguments.value(1)).filter(|width| (0.0..=MOST).contains(width)) else {
        return Err(format!("expected 0 to {MOST} digits, found {}", arguments.value(1)));
    };
    let text = arguments.text(0);
    Ok(if text.is_empty() { Value::Null } else { format!("{text:0>width$}", width = width as usize).into() })
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
