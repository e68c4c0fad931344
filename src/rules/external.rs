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

/// Replaces every external value in `node` by what it stands for, and tells what was found.
pub(super) fn resolve(
    node: &mut Node,
    environment: &dyn Environment,
    problems: &mut Problems,
    found: &mut Vec<String>,
) {
    let replacement = match &node.value {
        Value::Map(entries) => match external(entries) {
            Some(External::Variable { name, default }) => Some(variable(name, default, environment)),
            Some(External::File(path)) => read_file(node, path, problems),
            None => None,
        },
        _ => None,
    };
    match replacement {
        Some((value, from_outside)) => {
            found.extend(from_outside);
            node.value = value;
        }
        None => resolve_children(node, environment, problems, found),
    }
}

fn resolve_children(
    node: &mut Node,
    environment: &dyn Environment,
    problems: &mut Problems,
    found: &mut Vec<String>,
) {
    match &mut node.value {
        Value::List(items) => items.iter_mut().for_each(|item| resolve(item, environment, problems, found)),
        Value::Map(entries) => {
            entries.iter_mut().for_each(|(_, value)| resolve(value, environment, problems, found))
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

/// A value, and its text if it comes from outside.
type Resolved = (Value, Option<String>);

fn variable(name: &str, default: Option<&Node>, environment: &dyn Environment) -> Resolved {
    let value = match default {
        Some(_) => environment.variable(name),
        None => environment.required(name),
    };
    match (value, default) {
        (Some(text), _) => (Value::Text(text.clone()), Some(text)),
        (None, Some(default)) => (default.value.clone(), None),
        (None, None) => (Value::Unset(name.to_owned()), None),
    }
}

fn read_file(node: &Node, path: &str, problems: &mut Problems) -> Option<Resolved> {
    match std::fs::read_to_string(beside(&node.place.file.path, path)) {
        Ok(text) => {
            let text = text.trim_end_matches(['\r', '\n']).to_owned();
            Some((Value::Text(text.clone()), Some(text)))
        }
        Err(error) => {
            let message = format!("cannot read file {path:?}: {}", error.kind());
            problems.push(Problem::at(&node.place, message).help("create the file, or use {env: NAME}"));
            // Unset rather than nothing: what depends on the file then reports no second mistake.
            Some((Value::Unset(path.to_owned()), None))
        }
    }
}

/// A relative path counts from the rules file that names it.
fn beside(rules_file: &str, path: &str) -> PathBuf {
    Path::new(rules_file).parent().unwrap_or(Path::new("")).join(path)
}
