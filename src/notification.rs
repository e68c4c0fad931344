//! A notification as ntfy accepts it: every field checked, every limit kept.
//!
//! It is always published as JSON at the server's root, so no header ever carries payload text.
//! The limits are those of ntfy's `server/server.go` and `server/errors.go`, in bytes.

mod action;
mod limit;
mod priority;
mod topic;

use serde::Serialize;

pub(crate) use self::action::is_http_url;
pub use self::action::{Action, InvalidAction};
pub use self::limit::truncate;
pub use self::priority::{InvalidPriority, Priority};
pub use self::topic::{InvalidTopic, Topic};

/// ntfy up to 2.13 already refuses a message of exactly 4096 bytes.
pub const MESSAGE_LIMIT: usize = 4095;
/// The longest title since ntfy 2.28.
pub const TITLE_LIMIT: usize = 1024;
/// All tags together, joined by commas, since ntfy 2.28.
pub const TAGS_LIMIT: usize = 512;
/// The whole JSON document: twice ntfy's message limit, where 8192 itself is already refused up to 2.13.
pub const JSON_LIMIT: usize = 8191;
/// ntfy takes at most three actions.
pub const ACTIONS_LIMIT: usize = 3;

/// One message to one topic. Built with [`Notification::new`] and field by field; brought within
/// ntfy's limits by [`Notification::to_json`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Notification {
    /// Where it goes.
    pub topic: Topic,
    /// The line in bold; `None` shows the topic's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The text. ntfy would show `triggered` for an empty one.
    pub message: String,
    /// `None` is ntfy's default, 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// Emoji short codes and plain words. A comma would split a tag, so none holds one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// What a tap on the notification opens: any URL scheme.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub click: Option<String>,
    /// The picture beside the text: an http(s) URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icon: Option<String>,
    /// A file to attach: an http(s) URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attach: Option<String>,
    /// The attachment's name. Without `attach` ntfy would turn the message itself into a file, so it is left out then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
    /// At most [`ACTIONS_LIMIT`] buttons.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<Action>,
    /// Whether the message is Markdown.
    #[serde(skip_serializing_if = "is_false")]
    pub markdown: bool,
    /// An address the server also mails it to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// A number the server also calls, or `yes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// When to deliver: Unix seconds, a duration such as `30m`, or English such as `tomorrow, 10am`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<String>,
    /// `Some("no")`: only for who listens now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<String>,
    /// `Some("no")`: not through Firebase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub firebase: Option<String>,
    /// A later message with the same id replaces this one (ntfy 2.16 and later; earlier ones ignore it).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequence_id: Option<Topic>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes the field by reference")]
fn is_false(flag: &bool) -> bool {
    !*flag
}

impl Notification {
    /// A notification with nothing but its topic and text.
    pub fn new(topic: Topic, message: impl Into<String>) -> Self {
        Self {
            topic,
            title: None,
            message: message.into(),
            priority: None,
            tags: Vec::new(),
            click: None,
            icon: None,
            attach: None,
            filename: None,
            actions: Vec::new(),
            markdown: false,
            email: None,
            call: None,
            delay: None,
            cache: None,
            firebase: None,
            sequence_id: None,
        }
    }

    /// Sets the tags: split at commas as ntfy would, trimmed, without empty and repeated ones.
    pub fn set_tags<'a>(&mut self, tags: impl IntoIterator<Item = &'a str>) {
        self.tags.clear();
        for tag in tags.into_iter().flat_map(|tag| tag.split(',')).map(str::trim) {
            if !tag.is_empty() && !self.tags.iter().any(|t| t == tag) {
                self.tags.push(tag.to_owned());
            }
        }
    }

    /// Brings every field within ntfy's limits: texts are trimmed and cut on a character boundary,
    /// tags and actions beyond the limit left out. A message that is empty takes over the title, since
    /// ntfy would show `triggered` in its place.
    pub fn fit(&mut self) {
        self.message = truncate(self.message.trim(), MESSAGE_LIMIT).into_owned();
        self.title = self
            .title
            .take()
            .map(|title| truncate(&one_line(&title), TITLE_LIMIT).into_owned())
            .filter(|title| !title.is_empty());
        if self.message.is_empty() {
            self.message = self.title.take().unwrap_or_else(|| "(no message)".to_owned());
        }
        limit::fit_tags(&mut self.tags);
        self.actions.truncate(ACTIONS_LIMIT);
        if self.attach.is_none() {
            self.filename = None;
        }
    }

    /// The JSON document to publish, at most [`JSON_LIMIT`] bytes: the message is cut further when
    /// escapes or other fields need the room. UTF-8 stays UTF-8, since escapes would eat the budget.
    pub fn to_json(&self) -> String {
        let mut fitted = self.clone();
        fitted.fit();
        loop {
            // Every field is a string, a number, a bool or a map with string keys: this cannot fail.
            let json = serde_json::to_string(&fitted).unwrap_or_default();
            let Some(over) = json.len().checked_sub(JSON_LIMIT).filter(|over| *over > 0) else {
                return json;
            };
            if !fitted.shorten(over) {
                return json;
            }
        }
    }

    /// Takes about `over` bytes away where they are missed least; `false` when nothing is left to take.
    fn shorten(&mut self, over: usize) -> bool {
        const SHORTEST: usize = 256;
        if self.message.len() > SHORTEST {
            // An escape makes up to six bytes of one, so a cut of `over` can be far too much: go in steps.
            let step = (over / 6).clamp(16, self.message.len() - SHORTEST / 2);
            self.message = truncate(&self.message, self.message.len() - step).into_owned();
            return true;
        }
        self.actions.pop().is_some() || self.attach.take().is_some() || self.click.take().is_some()
    }
}

/// A title is one line: line breaks would vanish or break layouts on the phone.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
