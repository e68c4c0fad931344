//! From a compiled `publish` and the values of a webhook to a checked notification.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use super::trace::{RuleTrace, note_missing};
use super::values::Scope;
use crate::notification::{Action, Notification, Priority, Topic, is_http_url};
use crate::rules::source::{ActionKind, ActionTemplate, Publish, Source};
use crate::rules::template::{Engine, Notes, Template};

/// A field that could not be rendered into something ntfy takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    field: String,
    reason: String,
}

impl Failure {
    pub(super) fn new(field: impl Into<String>, reason: impl fmt::Display) -> Self {
        Self { field: field.into(), reason: reason.to_string() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.reason)
    }
}

/// Renders every field. The first failure ends it: the fallback notification takes over then.
pub(super) fn notification(
    publish: &Publish,
    scope: &Scope,
    engine: &Engine,
    trace: Option<&mut RuleTrace>,
) -> Result<Notification, Failure> {
    let mut render = Renderer { scope, engine, trace };
    let topic = render.topic(publish)?;
    let mut notification =
        Notification::new(topic, render.text("message", publish.message.as_ref())?.unwrap_or_default());
    notification.title = render.text("title", publish.title.as_ref())?;
    notification.priority = render.priority(publish)?;
    let tags = render.tags(publish)?;
    notification.set_tags(tags.iter().map(AsRef::as_ref));
    notification.click = render.text("click", publish.click.as_ref())?;
    notification.icon = render.url("icon", publish.icon.as_ref())?;
    notification.attach = render.url("attach", publish.attach.as_ref())?;
    notification.filename = render.text("filename", publish.filename.as_ref())?;
    notification.email = render.text("email", publish.email.as_ref())?;
    notification.call = render.text("call", publish.call.as_ref())?;
    notification.delay = render.text("delay", publish.delay.as_ref())?;
    notification.sequence_id = render.sequence_id(publish)?;
    notification.markdown = publish.markdown;
    notification.cache = (!publish.cache).then(|| "no".to_owned());
    notification.firebase = (!publish.firebase).then(|| "no".to_owned());
    for action in &publish.actions {
        notification.actions.extend(render.action(action)?);
    }
    notification.fit();
    Ok(notification)
}

/// What repeats of the webhook share. A key that cannot be rendered is none: rather twice than not at all.
pub(super) fn key(source: &Source, scope: &Scope, engine: &Engine) -> Option<String> {
    let template = &source.dedupe.as_ref()?.key;
    match template.render(engine, scope.values(), None) {
        Ok(key) => Some(key.trim().to_owned()).filter(|key| !key.is_empty()),
        Err(error) => {
            tracing::warn!(source = source.name, %error, "the dedupe key cannot be rendered, the webhook counts as new");
            None
        }
    }
}

struct Renderer<'a> {
    scope: &'a Scope,
    engine: &'a Engine,
    trace: Option<&'a mut RuleTrace>,
}

impl<'a> Renderer<'a> {
    fn render<'t>(&mut self, field: &str, template: &'t Template) -> Result<Cow<'t, str>, Failure> {
        let notes = self.trace.as_ref().map(|_| Notes::default());
        let text = template.render(self.engine, self.scope.values(), notes.as_ref());
        note_missing(self.trace.as_deref_mut(), field, notes);
        text.map_err(|failure| Failure::new(field, failure))
    }

    /// The trimmed text; `None` when there is none.
    fn text(&mut self, field: &str, template: Option<&Template>) -> Result<Option<String>, Failure> {
        let Some(template) = template else { return Ok(None) };
        let text = self.render(field, template)?;
        let text = text.trim();
        Ok((!text.is_empty()).then(|| text.to_owned()))
    }

    fn topic(&mut self, publish: &Publish) -> Result<Topic, Failure> {
        match self.text("topic", publish.topic.as_ref())? {
            Some(text) => Topic::parse(&text).map_err(|error| Failure::new("topic", error)),
            None => {
                publish.default_topic.clone().ok_or_else(|| Failure::new("topic", "it renders to nothing"))
            }
        }
    }

    fn priority(&mut self, publish: &Publish) -> Result<Option<Priority>, Failure> {
        for template in &publish.priority {
            if let Some(text) = self.text("priority", Some(template))? {
                return Priority::parse(&text).map(Some).map_err(|error| Failure::new("priority", error));
            }
        }
        Ok(None)
    }

    fn tags(&mut self, publish: &'a Publish) -> Result<Vec<Cow<'a, str>>, Failure> {
        publish.tags.iter().map(|tag| self.render("tags", tag)).collect()
    }

    /// A URL that ntfy will fetch. One of another kind is left out: better no picture than no notification.
    fn url(&mut self, field: &str, template: Option<&Template>) -> Result<Option<String>, Failure> {
        Ok(self.text(field, template)?.filter(|url| is_http_url(url)))
    }

    fn sequence_id(&mut self, publish: &Publish) -> Result<Option<Topic>, Failure> {
        self.text("sequence_id", publish.sequence_id.as_ref())?
            .map(|text| Topic::parse_sequence_id(&text).map_err(|error| Failure::new("sequence_id", error)))
            .transpose()
    }

    /// The button; `None` when there is nothing for it to do.
    fn action(&mut self, template: &ActionTemplate) -> Result<Option<Action>, Failure> {
        let Some(label) = self.text("actions", Some(&template.label))? else { return Ok(None) };
        let clear = template.clear;
        let action = match &template.kind {
            ActionKind::View { url } => {
                self.text("actions", Some(url))?.map(|url| Action::View { label, url, clear })
            }
            ActionKind::Copy { value } => {
                self.text("actions", Some(value))?.map(|value| Action::Copy { label, value, clear })
            }
            ActionKind::Broadcast { intent, extras } => Some(Action::Broadcast {
                label,
                intent: self.text("actions", intent.as_ref())?,
                extras: self.entries(extras)?,
                clear,
            }),
            ActionKind::Http { url, method, headers, body } => match self.text("actions", Some(url))? {
                Some(url) => Some(Action::Http {
                    label,
                    url,
                    method: self.text("actions", method.as_ref())?,
                    headers: self.entries(headers)?,
                    body: self.text("actions", body.as_ref())?,
                    clear,
                }),
                None => None,
            },
        };
        // A button ntfy would refuse would take the whole notification with it.
        Ok(action.filter(|action| action.check().is_ok()))
    }

    fn entries(&mut self, entries: &[(String, Template)]) -> Result<BTreeMap<String, String>, Failure> {
        entries
            .iter()
            .map(|(name, template)| Ok((name.clone(), self.render("actions", template)?.into_owned())))
            .collect()
    }
}
