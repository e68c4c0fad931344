//! A YAML document as a tree in which every value knows its place.

use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Location, Spanned};

use crate::problem::{Place, Problem, SourceFile};

/// One value with its place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub(crate) place: Place,
    pub(crate) value: Value,
}

/// What a YAML value can be. Mappings keep their order; their keys are text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Number(serde_json::Number),
    Text(String),
    List(Vec<Node>),
    Map(Vec<(Key, Node)>),
    /// `{env: NAME}` whose variable is not set and that has no default.
    Unset(String),
}

/// A mapping's key.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Key {
    pub(crate) place: Place,
    pub(crate) name: String,
}

impl Node {
    /// Parses one file. An empty file is an empty mapping.
    pub(crate) fn parse(file: &Arc<SourceFile>) -> Result<Self, Problem> {
        // `on`, `yes` and `no` are words here: a rule that waits for the event `on` must match it.
        let options = serde_saphyr::options! { strict_booleans: true, with_snippet: false };
        match serde_saphyr::from_str_with_options::<Spanned<Tree>>(&file.text, options) {
            Ok(tree) => Ok(place_tree(file, tree)),
            Err(error) => Err(syntax_problem(file, &error)),
        }
    }

    /// The kind of the value, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self.value {
            Value::Null => "nothing",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::Text(_) => "a text",
            Value::List(_) => "a list",
            Value::Map(_) => "a mapping",
            Value::Unset(_) => "an unset variable",
        }
    }

    /// The text of a scalar as it was written: `1.10` stays `1.10`.
    pub(crate) fn scalar_text(&self) -> Option<String> {
        match &self.value {
            Value::Text(text) => Some(text.clone()),
            Value::Bool(flag) => Some(flag.to_string()),
            Value::Number(number) => Some(self.written().unwrap_or_else(|| number.to_string())),
            _ => None,
        }
    }

    fn written(&self) -> Option<String> {
        let line = self.place.file.text.lines().nth(self.place.line as usize - 1)?;
        let text: String =
            line.chars().skip(self.place.column as usize - 1).take(self.place.width as usize).collect();
        text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)).then_some(text)
    }
}

fn syntax_problem(file: &Arc<SourceFile>, error: &serde_saphyr::Error) -> Problem {
    let text = error.to_string();
    let message = text.split(" at line ").next().unwrap_or(&text).to_owned();
    let place =
        error.location().map_or_else(|| Place::start_of(file.clone()), |location| place_of(file, location));
    let line = file.text.lines().nth(place.line as usize - 1).unwrap_or_default();
    let problem = Problem::at(&place, format!("invalid yaml: {message}"));
    if line.contains(": {{") {
        return problem.help("a value that begins with `{{` needs quotes: \"{{…}}\"");
    }
    if message.starts_with("duplicate mapping key") {
        let message = message.replace(", set DuplicateKeyPolicy in Options if acceptable", "");
        return Problem::at(&place, format!("invalid yaml: {message}")).help("keep one of the two");
    }
    problem
}

fn place_of(file: &Arc<SourceFile>, location: Location) -> Place {
    let span = location.span();
    let length = span.byte_len().unwrap_or_default() as usize;
    let start = span.byte_offset().unwrap_or_default() as usize;
    let text = file.text.get(start..start + length).unwrap_or_default();
    let width = text.lines().next().unwrap_or_default().trim_end().chars().count();
    Place {
        file: file.clone(),
        line: u32::try_from(location.line()).unwrap_or(u32::MAX).max(1),
        column: u32::try_from(location.column()).unwrap_or(u32::MAX).max(1),
        width: u32::try_from(width).unwrap_or(u32::MAX),
    }
}

fn place_tree(file: &Arc<SourceFile>, tree: Spanned<Tree>) -> Node {
    let place = place_of(file, tree.referenced);
    let value = match tree.value {
        Tree::Null => Value::Null,
        Tree::Bool(flag) => Value::Bool(flag),
        Tree::Number(number) => Value::Number(number),
        Tree::Text(text) => Value::Text(text),
        Tree::List(items) => Value::List(items.into_iter().map(|item| place_tree(file, item)).collect()),
        Tree::Map(entries) => Value::Map(
            entries
                .into_iter()
                .map(|(key, value)| {
                    let key = Key { place: place_of(file, key.referenced), name: key.value };
                    (key, place_tree(file, value))
                })
                .collect(),
        ),
    };
    Node { place, value }
}

/// The shape serde-saphyr fills; [`Node`] is the same with places of ours.
enum Tree {
    Null,
    Bool(bool),
    Number(serde_json::Number),
    Text(String),
    List(Vec<Spanned<Tree>>),
    Map(Vec<(Spanned<String>, Spanned<Tree>)>),
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a yaml value")
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_none<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Tree, D::Error> {
        Tree::deserialize(deserializer)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Tree, E> {
        Ok(Tree::Bool(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Tree, E> {
        Ok(Tree::Number(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Tree, E> {
        Ok(Tree::Number(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Tree, E> {
        Ok(serde_json::Number::from_f64(number).map_or_else(|| Tree::Text(number.to_string()), Tree::Number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Tree, E> {
        Ok(Tree::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Tree, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Tree::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Tree, A::Error> {
        let mut map = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            map.push(entry);
        }
        Ok(Tree::Map(map))
    }
}
