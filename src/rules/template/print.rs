//! How values become text, and how what is missing gets noticed.
//!
//! The check at load rewrites every `{{path}}` into `{{print path}}` and every path given to a text helper
//! into `(seen path)`, and puts a silent `{{probe path}}` before whatever only asks about a path. All are ordinary
//! helpers; while somebody watches, local ones that take notes stand
//! in for them. So production and traces render by the very same templates.

use handlebars::{
    Context, Handlebars, Helper, HelperDef, HelperResult, Output, RenderContext, RenderError, ScopedJson,
};
use serde_json::Value;

use super::{Note, Notes};

/// The helper behind `{{path}}`.
pub(super) const PRINT: &str = "print";
/// The helper around a path that is handed to a text helper.
pub(super) const SEEN: &str = "seen";
/// The helper that only looks.
pub(super) const PROBE: &str = "probe";

/// The value as a person would write it.
pub(crate) fn text_of(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(text_of).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

pub(super) fn register(registry: &mut Handlebars<'static>) {
    registry.register_helper(PRINT, Box::new(Print(None)));
    registry.register_helper(SEEN, Box::new(Seen(None)));
    registry.register_helper(PROBE, Box::new(Probe(None)));
}

/// Makes this one render take notes.
pub(super) fn watch(context: &mut RenderContext<'_, '_>, notes: &Notes) {
    context.register_local_helper(PRINT, Box::new(Print(Some(notes.clone()))));
    context.register_local_helper(SEEN, Box::new(Seen(Some(notes.clone()))));
    context.register_local_helper(PROBE, Box::new(Probe(Some(notes.clone()))));
}

struct Print(Option<Notes>);

impl HelperDef for Print {
    fn call<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        _: &'reg Handlebars<'reg>,
        _: &'rc Context,
        context: &mut RenderContext<'reg, 'rc>,
        out: &mut dyn Output,
    ) -> HelperResult {
        let Some(param) = helper.param(0) else { return Ok(()) };
        if let Some(notes) = &self.0 {
            take_note(notes, helper);
        }
        match param.value() {
            Value::String(text) => write(text, context, out),
            other => write(&text_of(other), context, out),
        }
    }
}

fn write<'reg: 'rc, 'rc>(
    text: &str,
    context: &mut RenderContext<'reg, 'rc>,
    out: &mut dyn Output,
) -> HelperResult {
    if !text.is_empty() {
        context.set_content_produced(true);
        out.write(text)?;
    }
    Ok(())
}

struct Seen(Option<Notes>);

impl HelperDef for Seen {
    fn call_inner<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        _: &'reg Handlebars<'reg>,
        _: &'rc Context,
        _: &mut RenderContext<'reg, 'rc>,
    ) -> Result<ScopedJson<'rc>, RenderError> {
        if let Some(notes) = &self.0 {
            take_note(notes, helper);
        }
        match helper.param(0) {
            Some(param) if !param.is_value_missing() => Ok(ScopedJson::Derived(param.value().clone())),
            _ => Ok(ScopedJson::Missing),
        }
    }
}

struct Probe(Option<Notes>);

impl HelperDef for Probe {
    fn call<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        _: &'reg Handlebars<'reg>,
        _: &'rc Context,
        _: &mut RenderContext<'reg, 'rc>,
        _: &mut dyn Output,
    ) -> HelperResult {
        if let Some(notes) = &self.0 {
            take_note(notes, helper);
        }
        Ok(())
    }
}

fn take_note(notes: &Notes, helper: &Helper<'_>) {
    // The result of a helper comes from no path.
    let Some((param, path)) = helper.param(0).and_then(|param| Some((param, param.relative_path()?.clone())))
    else {
        return;
    };
    let printed = helper.name() == PRINT;
    match param.value() {
        _ if param.is_value_missing() && helper.name() == PROBE => notes.add(Note::Absent(path)),
        _ if param.is_value_missing() => notes.add(Note::Missing(path)),
        value => {
            notes.add(Note::Found(path.clone()));
            match value {
                Value::Object(_) if printed => notes.add(Note::PrintedAsJson(path)),
                Value::Array(_) if printed => notes.add(Note::Joined(path)),
                _ => {}
            }
        }
    }
}
