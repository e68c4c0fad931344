//! A notification drawn as a phone would show it.

use anstyle::{AnsiColor, Style};
use serde_json::Value;

const DIM: Style = Style::new().dimmed();
const BOLD: Style = Style::new().bold();

/// The card of one notification, given as ntfy's JSON. Colours are taken out where the output is no terminal.
pub(super) fn draw(notification: &Value) -> String {
    let text = |key: &str| notification[key].as_str().unwrap_or_default();
    let tags: Vec<&str> =
        notification["tags"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let icons: String = tags.iter().filter_map(|tag| icon(tag)).map(|icon| format!("{icon} ")).collect();
    let words: Vec<&str> = tags.iter().copied().filter(|tag| icon(tag).is_none()).collect();
    let bar = bar_style(notification["priority"].as_u64().unwrap_or(3));
    let title = if text("title").is_empty() { text("topic") } else { text("title") };
    let mut lines = vec![format!(
        "{icons}{BOLD}{title}{BOLD:#}  {DIM}{} · {}{DIM:#}",
        text("topic"),
        priority(notification)
    )];
    lines.extend(text("message").lines().map(str::to_owned));
    if !words.is_empty() {
        lines.push(format!("{DIM}tags: {}{DIM:#}", words.join(", ")));
    }
    for action in notification["actions"].as_array().into_iter().flatten() {
        let target = action["url"].as_str().or(action["value"].as_str()).unwrap_or_default();
        lines.push(format!("[{}] {DIM}{target}{DIM:#}", action["label"].as_str().unwrap_or_default()));
    }
    if !text("click").is_empty() {
        lines.push(format!("{DIM}→ {}{DIM:#}", text("click")));
    }
    lines.iter().map(|line| format!("{bar}▌{bar:#} {line}\n")).collect()
}

fn priority(notification: &Value) -> &'static str {
    match notification["priority"].as_u64() {
        Some(1) => "min",
        Some(2) => "low",
        Some(4) => "high",
        Some(5) => "urgent",
        _ => "default",
    }
}

fn bar_style(priority: u64) -> Style {
    let color = match priority {
        1 | 2 => AnsiColor::BrightBlack,
        4 => AnsiColor::Yellow,
        5 => AnsiColor::Red,
        _ => AnsiColor::Green,
    };
    color.on_default()
}

/// ntfy shows a tag that is an emoji's short code as that emoji, before the title.
fn icon(tag: &str) -> Option<&'static str> {
    emojis::get_by_shortcode(tag).map(emojis::Emoji::as_str)
}
