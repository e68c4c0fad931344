//! Handlebars templates, parsed and checked once at load.
//!
//! A value is printed as a person would write it: nothing when it is missing or null, a list joined by
//! commas, a mapping as JSON. Nothing is HTML-escaped: ntfy shows plain text.

mod check;
mod helpers;
mod print;

use std::borrow::Cow;
use std::sync::{Arc, Mutex};

use handlebars::{Context, Handlebars, Output, RenderContext, Renderable};

pub use self::check::{TemplateMistake, Vocabulary};
use super::selector::Selector;
use super::table::Tables;
use crate::auth::Signature;

/// Rendered text beyond this is cut off: no field of ntfy's is longer, and a loop may be endless.
const OUTPUT_LIMIT: usize = 64 * 1024;

/// A compiled template.
#[derive(Debug, Clone)]
pub struct Template {
    text: String,
    parsed: Option<Arc<handlebars::Template>>,
}

/// The JSON a template renders from, as handlebars wants it.
pub type Values = Context;

/// Helpers and what they look up. One per rule set.
#[derive(Debug)]
pub struct Engine {
    registry: Handlebars<'static>,
}

/// What a render left unsaid: paths that led nowhere, values printed in an unusual form.
#[derive(Debug, Clone, Default)]
pub struct Notes(Arc<Mutex<Vec<Note>>>);

/// One remark of a render.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// Nothing is at this path, and the text lacks it.
    Missing(String),
    /// Nothing is at this path, but the template only asked.
    Absent(String),
    /// Something is at this path.
    Found(String),
    /// The path's value is a mapping, printed as JSON.
    PrintedAsJson(String),
    /// The path's value is a list, joined by commas.
    Joined(String),
}

/// A render that failed: a helper got what it cannot use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RenderFailure(pub String);

impl Template {
    /// Parses `text` and checks every name in it against `vocabulary`. All mistakes at once.
    pub fn parse(text: &str, vocabulary: &mut Vocabulary<'_>) -> Result<Self, Vec<TemplateMistake>> {
        let parsed = if text.contains("{{") || text.contains('\\') {
            Some(Arc::new(check::parse(text, vocabulary)?))
        } else {
            None
        };
        Ok(Self { text: text.to_owned(), parsed })
    }

    /// The text, when it holds no expression.
    pub fn literal(&self) -> Option<&str> {
        self.parsed.is_none().then_some(&self.text)
    }

    /// The template as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Renders from `values`. With `notes`, remarks are collected as well.
    pub fn render(
        &self,
        engine: &Engine,
        values: &Values,
        notes: Option<&Notes>,
    ) -> Result<Cow<'_, str>, RenderFailure> {
        let Some(parsed) = &self.parsed else { return Ok(Cow::Borrowed(&self.text)) };
        let mut context = RenderContext::new(None);
        if let Some(notes) = notes {
            print::watch(&mut context, notes);
        }
        fill(parsed, engine, values, context).map(Cow::Owned)
    }

    /// Renders an answer, which may sign by what verifies its source.
    pub fn render_answer(
        &self,
        engine: &Engine,
        values: &Values,
        signature: Option<&Signature>,
    ) -> Result<Cow<'_, str>, RenderFailure> {
        let Some(parsed) = &self.parsed else { return Ok(Cow::Borrowed(&self.text)) };
        let mut context = RenderContext::new(None);
        if let Some(signature) = signature {
            context.register_local_helper(helpers::SIGN, Box::new(helpers::Sign(signature)));
        }
        fill(parsed, engine, values, context).map(Cow::Owned)
    }
}

fn fill<'a>(
    parsed: &'a handlebars::Template,
    engine: &'a Engine,
    values: &'a Values,
    mut context: RenderContext<'a, 'a>,
) -> Result<String, RenderFailure> {
    let mut out = Bounded(String::new());
    parsed
        .render(&engine.registry, values, &mut context, &mut out)
        .map_err(|error| RenderFailure(error.reason().to_string()))?;
    Ok(out.0)
}

impl Engine {
    /// An engine whose `table` helper looks into `tables` and whose `jsonpath` helper knows `queries`.
    pub(super) fn new(tables: Tables, queries: Vec<Selector>) -> Self {
        let mut registry = Handlebars::new();
        registry.register_escape_fn(handlebars::no_escape);
        helpers::register(&mut registry, tables, queries);
        print::register(&mut registry);
        Self { registry }
    }
}

impl Notes {
    /// What was noted, in order, each once.
    pub fn take(&self) -> Vec<Note> {
        let mut notes = self.0.lock().map(|mut notes| std::mem::take(&mut *notes)).unwrap_or_default();
        let mut seen = Vec::with_capacity(notes.len());
        notes.retain(|note| {
            let new = !seen.contains(note);
            seen.push(note.clone());
            new
        });
        notes
    }

    fn add(&self, note: Note) {
        if let Ok(mut notes) = self.0.lock() {
            notes.push(note);
        }
    }
}

/// Takes at most [`OUTPUT_LIMIT`] bytes and ignores the rest.
struct Bounded(String);

impl Output for Bounded {
    fn write(&mut self, text: &str) -> std::io::Result<()> {
        let room = OUTPUT_LIMIT.saturating_sub(self.0.len());
        self.0.push_str(&text[..text.floor_char_boundary(room.min(text.len()))]);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
