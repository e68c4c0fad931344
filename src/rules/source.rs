//! Compiled sources: everything a request needs, with nothing left to parse.

use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;

use super::condition::Condition;
use super::index::Rules;
use super::selector::Selector;
use super::template::Template;
use crate::auth::Verifier;
use crate::notification::Topic;
use crate::payload::Part;

/// A sender of webhooks.
#[derive(Debug)]
pub struct Source {
    /// Its key under `sources`.
    pub name: String,
    /// The path as written, such as `/hooks/{team}/github`.
    pub path: String,
    /// Upper-case.
    pub methods: Vec<String>,
    /// Networks its webhooks may come from; none at all allows everybody.
    pub allow: Vec<IpNet>,
    /// How it proves who it is; `None` believes everybody.
    pub verifier: Option<Verifier>,
    /// The path segment that holds its secret: never shown to rules, traces or the log.
    pub secret_segment: Option<String>,
    /// The query parameter that holds its secret.
    pub secret_parameter: Option<String>,
    /// The header that holds its secret, in lower case.
    pub secret_header: Option<String>,
    /// Tells a repeated webhook.
    pub dedupe: Option<Dedupe>,
    /// What becomes of a body that cannot be read.
    pub malformed: Otherwise,
    /// What becomes of a webhook that no rule matches.
    pub unmatched: Otherwise,
    /// What its webhooks are answered.
    pub respond: Option<Respond>,
    /// Cuts the body into items.
    pub split: Option<Selector>,
    /// The part of the body that anything here looks at.
    pub reads: Part,
    /// Where notifications go that no rule makes: fallbacks, malformed and unmatched webhooks.
    pub fallback: Option<Fallback>,
    /// Tried in order.
    pub rules: Rules,
}

/// The plainest destination of a source.
#[derive(Debug, Clone)]
pub struct Fallback {
    /// The server's name.
    pub server: Arc<str>,
    /// The topic.
    pub topic: Topic,
    /// The title, when `defaults` has one without expressions.
    pub title: Option<String>,
}

/// `dedupe`.
#[derive(Debug)]
pub struct Dedupe {
    /// Renders to the key.
    pub key: Template,
    /// How long a key is remembered.
    pub window: Duration,
}

/// What happens to what the rules do not cover.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Otherwise {
    /// Nothing is sent: a malformed body is refused, an unmatched webhook dropped.
    #[default]
    Quiet,
    /// The raw body becomes a notification.
    Notify,
}

/// A rule.
#[derive(Debug)]
pub struct Rule {
    /// Its phrase.
    pub name: Arc<str>,
    /// Where it stands, as `file:line`.
    pub place: String,
    /// `None` matches always.
    pub when: Option<Condition>,
    /// `let`, in order.
    pub bindings: Vec<(String, Binding)>,
    /// What a match does.
    pub then: Then,
    /// What the sender is answered.
    pub respond: Option<Respond>,
    /// Whether later rules are tried after a match.
    pub go_on: bool,
}

/// An answer in the making.
#[derive(Debug)]
pub struct Respond {
    /// 200 to 299 or 400 to 499.
    pub status: u16,
    /// A media type.
    pub content_type: String,
    /// Renders to the body.
    pub body: Option<Template>,
}

/// What a match does.
#[derive(Debug)]
pub enum Then {
    /// One notification or several. Empty with `continue` alone.
    Publish(Vec<Publish>),
    /// Nothing, on purpose.
    Drop,
}

/// The value of a `let`.
#[derive(Debug)]
pub enum Binding {
    /// The nodes a JSONPath selects: one stays what it is, several become a list.
    Select(Selector),
    /// A text.
    Render(Template),
}

/// A notification in the making, defaults already merged in.
#[derive(Debug, Clone)]
pub struct Publish {
    /// The server's name.
    pub server: Arc<str>,
    /// Renders to the topic.
    pub topic: Option<Template>,
    /// Used when `topic` renders to nothing, and for what goes wrong.
    pub default_topic: Option<Topic>,
    /// Renders to the title.
    pub title: Option<Template>,
    /// Renders to the text.
    pub message: Option<Template>,
    /// Render to the priority; the first that is not empty counts: the rule's own, then the default's.
    pub priority: Vec<Template>,
    /// Each renders to a tag or several.
    pub tags: Vec<Template>,
    /// Renders to the link.
    pub click: Option<Template>,
    /// Renders to a URL.
    pub icon: Option<Template>,
    /// Renders to a URL.
    pub attach: Option<Template>,
    /// Renders to a name.
    pub filename: Option<Template>,
    /// The buttons.
    pub actions: Vec<ActionTemplate>,
    /// Whether the text is Markdown.
    pub markdown: bool,
    /// Renders to an address.
    pub email: Option<Template>,
    /// Renders to a number.
    pub call: Option<Template>,
    /// Renders to a time.
    pub delay: Option<Template>,
    /// `false`: not kept by the server.
    pub cache: bool,
    /// `false`: not through Firebase.
    pub firebase: bool,
    /// Renders to an id.
    pub sequence_id: Option<Template>,
}

/// A button in the making. One whose url or value renders to nothing is left out.
#[derive(Debug, Clone)]
pub struct ActionTemplate {
    /// Which of ntfy's actions.
    pub kind: ActionKind,
    /// Renders to the button's text.
    pub label: Template,
    /// Whether a tap also clears the notification.
    pub clear: bool,
}

/// The parts of a button by kind.
#[derive(Debug, Clone)]
pub enum ActionKind {
    /// Opens a page.
    View {
        /// Renders to the link.
        url: Template,
    },
    /// Makes the phone send a request.
    Http {
        /// Renders to the URL.
        url: Template,
        /// Renders to the method.
        method: Option<Template>,
        /// Names and what renders to their values.
        headers: Vec<(String, Template)>,
        /// Renders to the body.
        body: Option<Template>,
    },
    /// Sends an Android broadcast.
    Broadcast {
        /// Renders to the intent.
        intent: Option<Template>,
        /// Names and what renders to their values.
        extras: Vec<(String, Template)>,
    },
    /// Copies a text.
    Copy {
        /// Renders to the text.
        value: Template,
    },
}

/// Headers that carry credentials whatever the source's scheme is.
const CREDENTIALS: [&str; 3] = ["authorization", "proxy-authorization", "cookie"];

impl Source {
    /// Takes out of a request what no rule, template or trace may see.
    pub fn hide_secrets(&self, request: &mut super::request::Request) {
        request.headers.retain(|(name, _)| self.shows_header(name));
        request.query.retain(|(name, _)| self.shows_parameter(name));
        request.path.retain(|(name, _)| self.shows_segment(name));
    }

    /// Whether a header, named in lower case, holds no secret.
    pub fn shows_header(&self, name: &str) -> bool {
        !CREDENTIALS.contains(&name) && self.secret_header.as_deref() != Some(name)
    }

    /// Whether a query parameter holds no secret.
    pub fn shows_parameter(&self, name: &str) -> bool {
        self.secret_parameter.as_deref() != Some(name)
    }

    /// Whether a named segment of the path holds no secret.
    pub fn shows_segment(&self, name: &str) -> bool {
        self.secret_segment.as_deref() != Some(name)
    }
}
