//! Helpers for what chat programs are sent: Slack's mrkdwn, Discord's and Teams' Markdown.
//!
//! Slack's marks: <https://docs.slack.dev/messaging/formatting-message-text>. Discord's:
//! <https://docs.discord.com/developers/reference#message-formatting>.

use std::borrow::Cow;
use std::sync::LazyLock;

use jiff::Timestamp;
use regex::{Captures, Regex};
use serde_json::Value;

use super::{Arguments, Outcome, Pure};

pub(super) const HELPERS: &[Pure] = &[
    Pure { name: "plain", arity: (1, 1), call: |a| Ok(plain(&a.text(0)).into()) },
    Pure { name: "first_link", arity: (1, usize::MAX), call: first_link },
];

/// One kind of mark, and what remains of it.
struct Mark {
    pattern: LazyLock<Regex>,
    plain: fn(&Captures<'_>) -> String,
}

/// In this order: what stands inside brackets first, then what is around words.
static MARKS: [Mark; 11] = [
    // Slack's `<https://example.com|label>`; without a label the address remains.
    Mark {
        pattern: LazyLock::new(|| regex(r"<((?:https?|mailto|tel):[^|>\s]+)(?:\|([^>]*))?>")),
        plain: |found| found.get(2).unwrap_or(found.get(1).expect("group 1")).as_str().to_owned(),
    },
    // `<!here>`, `<@U1|ada>`, `<#C1|general>`, and Discord's `<@&1>`.
    Mark {
        pattern: LazyLock::new(|| regex(r"<([!@#])(&?[\w-]+(?:\^[^|>]*)?)(?:\|([^>]*))?>")),
        plain: mention,
    },
    // Discord's `<t:1787407391:R>`.
    Mark { pattern: LazyLock::new(|| regex(r"<t:(-?\d{1,12})(?::\w)?>")), plain: time },
    // Discord's own emoji, `<:name:1>`.
    Mark { pattern: LazyLock::new(|| regex(r"<a?:(\w+):\d+>")), plain: |found| format!(":{}:", &found[1]) },
    // Markdown's `[label](address)`, and images.
    Mark {
        pattern: LazyLock::new(|| regex(r#"!?\[([^\]\n]*)\]\(<?[^)\s>]+>?(?:\s+"[^"]*")?\)"#)),
        plain: |found| found[1].to_owned(),
    },
    // A fence's first line may name a language.
    Mark {
        pattern: LazyLock::new(|| regex(r"(?s)```(?:[\w+-]*\n)?(.*?)```")),
        plain: |found| found[1].trim().to_owned(),
    },
    Mark { pattern: LazyLock::new(|| regex(r"`([^`\n]+)`")), plain: |found| found[1].to_owned() },
    // A label in bold on a line of its own, as in the fields of Slack's sections: its value comes behind it.
    Mark {
        pattern: LazyLock::new(|| {
            regex(r"(?m)^([ \t]*(?:\*{1,2}[^*\n]+:\*{1,2}|\*{1,2}[^*\n]+\*{1,2}:))[ \t]*\n[ \t]*")
        }),
        plain: |found| format!("{} ", &found[1]),
    },
    // Quotes and headings.
    Mark {
        pattern: LazyLock::new(|| regex(r"(?m)^[ \t]*(?:>{1,3}|#{1,6}[ \t])[ \t]*")),
        plain: |_| String::new(),
    },
    Mark { pattern: LazyLock::new(|| regex(r":([a-z0-9_+-]+):")), plain: emoji },
    // Blanks at the ends of lines, and empty lines: a lock screen has few.
    Mark { pattern: LazyLock::new(|| regex(r"[ \t]*\n(?:[ \t]*\n)*")), plain: |_| "\n".to_owned() },
];

/// What stands around words: bold, italic, struck out. A mark within a word is none.
static AROUND: LazyLock<[Regex; 3]> = LazyLock::new(|| {
    ["*", "_", "~"].map(|mark| {
        let mark = regex::escape(mark);
        regex(&format!(r"(^|[^\w{mark}]){mark}{{1,3}}([^\s{mark}](?:[^{mark}\n]*[^\s{mark}])?){mark}{{1,3}}($|[^\w{mark}])"))
    })
});

static LINK: LazyLock<Regex> = LazyLock::new(|| regex(r#"https?://[^\s<>|)\]"'`]+"#));

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a pattern that compiles")
}

/// What a person would read where marks are not drawn.
fn plain(text: &str) -> String {
    let unmarked = MARKS.iter().fold(Cow::Borrowed(text), |text, mark| {
        match mark.pattern.replace_all(&text, mark.plain) {
            Cow::Borrowed(_) => text,
            Cow::Owned(changed) => Cow::Owned(changed),
        }
    });
    let bare = AROUND.iter().fold(unmarked.into_owned(), |text, around| {
        // Twice, since the blank between two marked words belongs to both.
        let once = around.replace_all(&text, "$1$2$3").into_owned();
        around.replace_all(&once, "$1$2$3").into_owned()
    });
    bare.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&").trim().to_owned()
}

fn mention(found: &Captures<'_>) -> String {
    let sign = if &found[1] == "#" { '#' } else { '@' };
    // Slack's dates are `<!date^1787407391^{date}|22 Aug>`: the text is made for who cannot draw them.
    let name = found.get(3).map_or_else(|| &found[2], |label| label.as_str());
    if found[2].starts_with("date^") {
        name.to_owned()
    } else {
        format!("{sign}{}", name.trim_start_matches(['&', '@', '#']))
    }
}

fn time(found: &Captures<'_>) -> String {
    let at = found[1].parse().ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
    at.map_or_else(|| found[0].to_owned(), |at| at.strftime("%Y-%m-%d %H:%M UTC").to_string())
}

/// By its short code or, as `:cross_mark:`, by its name in Unicode. What is neither stays: `12:30:45` has no `30`.
fn emoji(found: &Captures<'_>) -> String {
    let name = found[1].replace('_', " ");
    let named = || emojis::iter().find(|emoji| emoji.name() == name);
    let known = emojis::get_by_shortcode(&found[1]).or_else(named);
    known.map_or_else(|| found[0].to_owned(), |emoji| emoji.as_str().to_owned())
}

/// The first address in any of these texts.
fn first_link(arguments: &Arguments<'_>) -> Outcome {
    let mut texts = (0..arguments.values.len()).map(|index| arguments.text(index));
    let found = texts.find_map(|text| LINK.find(&text).map(|link| link.as_str().to_owned()));
    Ok(found
        .map_or(Value::Null, |link| link.trim_end_matches(['.', ',', ';', ':', '!', '?', '*', '_']).into()))
}
