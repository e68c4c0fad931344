//! What templates and conditions see of a webhook while its rules are tried.

use serde_json::{Map, Value};

use super::render::Failure;
use super::trace::{RuleTrace, note_missing};
use crate::rules::request::{Facts, Request};
use crate::rules::selector::Root;
use crate::rules::source::{Binding, Rule, Source};
use crate::rules::template::{Engine, Notes, Values};

/// The request and the values made of it. The body is moved into the values, not copied.
pub(super) struct Scope {
    request: Request,
    values: Values,
}

impl Scope {
    pub(super) fn new(source: &Source, mut request: Request) -> Self {
        let received_at = jiff::Timestamp::from_millisecond(request.received_at).unwrap_or_default();
        let mut root = Map::new();
        root.insert("body".to_owned(), std::mem::take(&mut request.body));
        root.insert("headers".to_owned(), object(&request.headers));
        root.insert("query".to_owned(), object(&request.query));
        root.insert("path".to_owned(), object(&request.path));
        root.insert("source".to_owned(), source.name.clone().into());
        root.insert("received_at".to_owned(), received_at.to_string().into());
        let mut values = Values::null();
        *values.data_mut() = Value::Object(root);
        Self { request, values }
    }

    pub(super) fn values(&self) -> &Values {
        &self.values
    }

    pub(super) fn facts(&self) -> Facts<'_> {
        let data = self.values.data();
        Facts { request: &self.request, body: &data["body"], item: data.get("item") }
    }

    pub(super) fn set_item(&mut self, item: Value) {
        self.set("item", item);
    }

    /// Evaluates the rule's `let`, each of which can use the earlier ones.
    pub(super) fn bind(
        &mut self,
        rule: &Rule,
        engine: &Engine,
        mut trace: Option<&mut RuleTrace>,
    ) -> Result<(), Failure> {
        self.set("rule", rule.name.as_ref().into());
        self.set("let", Value::Object(Map::new()));
        for (name, binding) in &rule.bindings {
            let value = match binding {
                Binding::Select(selector) => self.select(selector),
                Binding::Render(template) => {
                    let notes = trace.as_ref().map(|_| Notes::default());
                    let text = template.render(engine, &self.values, notes.as_ref());
                    note_missing(trace.as_deref_mut(), &format!("let.{name}"), notes);
                    let text = text.map_err(|failure| Failure::new(format!("let.{name}"), failure))?;
                    Some(Value::String(text.into_owned()))
                }
            };
            if let (Some(value), Some(bound)) = (value, self.values.data_mut()["let"].as_object_mut()) {
                bound.insert(name.clone(), value);
            }
        }
        Ok(())
    }

    fn select(&self, selector: &crate::rules::selector::Selector) -> Option<Value> {
        let facts = self.facts();
        let root = match selector.root() {
            Root::Body => Some(facts.body),
            Root::Item => facts.item,
        };
        match selector.select(root?).as_slice() {
            [] => None,
            [one] => Some((*one).clone()),
            several => Some(several.iter().map(|value| (*value).clone()).collect()),
        }
    }

    fn set(&mut self, name: &str, value: Value) {
        if let Some(root) = self.values.data_mut().as_object_mut() {
            root.insert(name.to_owned(), value);
        }
    }
}

/// Names and values as an object; repeated names are joined as HTTP joins repeated headers.
fn object(entries: &[(String, String)]) -> Value {
    let mut map = Map::with_capacity(entries.len());
    for (name, value) in entries {
        match map.get_mut(name) {
            Some(Value::String(joined)) => {
                joined.push_str(", ");
                joined.push_str(value);
            }
            _ => {
                map.insert(name.clone(), Value::String(value.clone()));
            }
        }
    }
    Value::Object(map)
}
