//! Values that live outside of the rules: `{env: NAME, default: …}` and `{file: /run/secrets/…}`.

use std::path::{Path, PathBuf};

use super::node::{Key, Node, Value};
use crate::problem::{Problem, Problems};

/// Where `{env: NAME}` looks. A trait, so that the demo and test cases can bring their own.
pub trait Environment {
    /// The variable's value; an empty one counts as unset, as Compose passes unset variables on.
    fn variable(&self, name: &str) -> Option<String>;

    /// The value of a variable that has no default; `None` leaves it unset.
    fn required(&self, name: &str) -> Option<String> {
        self.variable(name)
    }
}

/// The environment of the process.
#[derive(Debug, Clone, Copy, Default)]
pub struct ProcessEnvironment;

impl Environment for ProcessEnvironment {
    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok().filter(|value| !value.is_empty())
    }
}

/// Replaces every external value in `node` by what it stands for.
pub(super) fn resolve(node: &mut Node, environment: &dyn Environment, problems: &mut Problems) {
    let replacement = match &node.value {
        Value::Map(entries) => match external(entries) {
            Some(External::Variable { name, default }) => Some(variable(name, default, environment)),
            Some(External::File(path)) => read_file(node, path, problems),
            None => None,
        },
        _ => None,
    };
    match replacement {
        Some(value) => node.value = value,
        None => resolve_children(node, environment, problems),
    }
}

fn resolve_children(node: &mut Node, environment: &dyn Environment, problems: &mut Problems) {
    match &mut node.value {
        Value::List(items) => items.iter_mut().for_each(|item| resolve(item, environment, problems)),
        Value::Map(entries) => {
            entries.iter_mut().for_each(|(_, value)| resolve(value, environment, problems))
        }
        _ => {}
    }
}

enum External<'a> {
    Variable { name: &'a str, default: Option<&'a Node> },
    File(&'a str),
}

fn external(entries: &[(Key, Node)]) -> Option<External<'_>> {
    let entry = |(key, node): &'_ (Key, Node)| (key.name.clone(), node.scalar_text());
    match entries {
        [(key, Node { value: Value::Text(name), .. })] if key.name == "env" => {
            Some(External::Variable { name, default: None })
        }
        [(key, Node { value: Value::Text(path), .. })] if key.name == "file" => Some(External::File(path)),
        [a, b] => {
            let (first, second) = if entry(a).0 == "env" { (a, b) } else { (b, a) };
            match (&first.1.value, first.0.name.as_str(), second.0.name.as_str()) {
                (Value::Text(name), "env", "default") => {
                    Some(External::Variable { name, default: Some(&second.1) })
                }
                _ => None,
            }
        }
        _ => None,
    }
}

fn variable(name: &str, default: Option<&Node>, environment: &dyn Environment) -> Value {
    match default {
        Some(default) => environment.variable(name).map_or_else(|| default.value.clone(), Value::Text),
        None => environment.required(name).map_or_else(|| Value::Unset(name.to_owned()), Value::Text),
    }
}

fn read_file(node: &Node, path: &str, problems: &mut Problems) -> Option<Value> {
    match std::fs::read_to_string(beside(&node.place.file.path, path)) {
        Ok(text) => Some(Value::Text(text.trim_end_matches(['\r', '\n']).to_owned())),
        Err(error) => {
            let message = format!("cannot read file {path:?}: {}", error.kind());
            problems.push(Problem::at(&node.place, message).help("create the file, or use {env: NAME}"));
            // Unset rather than nothing: what depends on the file then reports no second mistake.
            Some(Value::Unset(path.to_owned()))
        }
    }
}

/// A relative path counts from the rules file that names it.
fn beside(rules_file: &str, path: &str) -> PathBuf {
    Path::new(rules_file).parent().unwrap_or(Path::new("")).join(path)
}
