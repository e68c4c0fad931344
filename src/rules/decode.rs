//! From tree to raw types, reporting every mistake instead of the first: serde stops at one.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::json;

use super::node::{Key, Node, Value};
use super::schema::{Text, or_external};
use crate::problem::{Place, Problem, Problems, suggestion};
use crate::secret::Secret;

/// Reads a value of this type from a [`Node`]. `None` means that a problem was reported.
pub(crate) trait Decode: Sized {
    /// Whether a key of this type may be left out.
    const OPTIONAL: bool = false;

    /// Whether a key with nothing behind it is as good as absent.
    const NULL_IS_ABSENT: bool = true;

    /// What an editor should know of it.
    fn schema(generator: &mut SchemaGenerator) -> Schema;

    /// Reads `node`.
    fn decode(node: &Node, problems: &mut Problems) -> Option<Self>;

    /// What an absent key means; a mistake unless the type has a way to be absent.
    fn absent(parent: &Place, key: &str, problems: &mut Problems) -> Option<Self> {
        problems.push(
            Problem::at(parent, format!("missing key {key:?}")).help(format!("add `{key}:` to this mapping")),
        );
        None
    }
}

/// A value with its place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct At<T> {
    pub(crate) place: Place,
    pub(crate) value: T,
}

impl<T: Decode> Decode for At<T> {
    const OPTIONAL: bool = T::OPTIONAL;

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        T::schema(generator)
    }

    fn decode(node: &Node, problems: &mut Problems) -> Option<Self> {
        Some(Self { place: node.place.clone(), value: T::decode(node, problems)? })
    }
}

impl<T: Decode> Decode for Option<T> {
    const OPTIONAL: bool = true;

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        T::schema(generator)
    }

    fn decode(node: &Node, problems: &mut Problems) -> Option<Self> {
        // Also `Some` after a mistake: it is reported, and what surrounds it can be checked further.
        let absent = node.value == Value::Null && T::NULL_IS_ABSENT;
        Some(if absent { None } else { T::decode(node, problems) })
    }

    fn absent(_: &Place, _: &str, _: &mut Problems) -> Option<Self> {
        Some(None)
    }
}

/// What was given, even where it cannot be read: its mistakes are reported, and it is not as if it were absent.
#[derive(Debug, Clone)]
pub(crate) struct Given<T> {
    pub(crate) place: Place,
    pub(crate) value: Option<T>,
}

impl<T: Decode> Decode for Given<T> {
    const NULL_IS_ABSENT: bool = false;

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        T::schema(generator)
    }

    fn decode(node: &Node, problems: &mut Problems) -> Option<Self> {
        Some(Self { place: node.place.clone(), value: T::decode(node, problems) })
    }
}

/// A list, or a single value that stands for a list of one.
impl<T: Decode> Decode for Vec<T> {
    const OPTIONAL: bool = true;

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        let one = T::schema(generator);
        json_schema!({ "anyOf": [one, { "type": "array", "items": one }] })
    }

    fn decode(node: &Node, problems: &mut Problems) -> Option<Self> {
        Some(match &node.value {
            Value::List(items) => items.iter().filter_map(|item| T::decode(item, problems)).collect(),
            Value::Null => Vec::new(),
            _ => T::decode(node, problems).into_iter().collect(),
        })
    }

    fn absent(_: &Place, _: &str, _: &mut Problems) -> Option<Self> {
        Some(Vec::new())
    }
}

/// A mapping whose keys are the user's own names, in their order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entries<T>(pub(crate) Vec<(Key, T)>);

impl<T> Default for Entries<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Decode> Decode for Entries<T> {
    const OPTIONAL: bool = true;

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["object", "null"], "additionalProperties": T::schema(generator) })
    }

    fn decode(node: &Node, problems: &mut Problems) -> Option<Self> {
        let entries = match &node.value {
            Value::Null => return Some(Self::default()),
            Value::Map(entries) => entries,
            _ => return mismatch(node, "a mapping", problems),
        };
        let decode = |(key, value): &(Key, Node)| Some((key.clone(), T::decode(value, problems)?));
        Some(Self(entries.iter().filter_map(decode).collect()))
    }

    fn absent(_: &Place, _: &str, _: &mut Problems) -> Option<Self> {
        Some(Self::default())
    }
}

impl Decode for Node {
    fn schema(_: &mut SchemaGenerator) -> Schema {
        Schema::default()
    }

    fn decode(node: &Node, _: &mut Problems) -> Option<Self> {
        Some(node.clone())
    }
}

/// Any scalar: a number or a boolean is taken as it was written.
impl Decode for String {
    fn schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<Text>()
    }

    fn decode(node: &Node, problems: &mut Problems) -> Option<Self> {
        match node.scalar_text() {
            Some(text) => Some(text),
            None => mismatch(node, "a text", problems),
        }
    }
}

impl Decode for bool {
    fn schema(generator: &mut SchemaGenerator) -> Schema {
        or_external(generator, json!({ "type": "boolean" }))
    }

    fn decode(node: &Node, problems: &mut Problems) -> Option<Self> {
        match node.scalar_text().as_deref() {
            Some("true") => Some(true),
            Some("false") => Some(false),
            _ => mismatch(node, "true or false", problems),
        }
    }
}

impl Decode for u64 {
    fn schema(generator: &mut SchemaGenerator) -> Schema {
        or_external(generator, json!({ "type": "integer", "minimum": 0 }))
    }

    fn decode(node: &Node, problems: &mut Problems) -> Option<Self> {
        match node.scalar_text().and_then(|text| text.parse().ok()) {
            Some(number) => Some(number),
            None => mismatch(node, "a whole number", problems),
        }
    }
}

impl Decode for std::time::Duration {
    fn schema(generator: &mut SchemaGenerator) -> Schema {
        or_external(generator, json!({ "type": "string", "pattern": "[0-9]" }))
    }

    fn decode(node: &Node, problems: &mut Problems) -> Option<Self> {
        match node.scalar_text().and_then(|text| parse_duration(&text)) {
            Some(duration) => Some(duration),
            None => mismatch(node, "a duration such as 10s, 5m or 24h", problems),
        }
    }
}

/// Reads `500ms`, `10s`, `5m`, `24h`, `7d` and sums such as `1h 30m`; a day is 24 hours.
pub(crate) fn parse_duration(text: &str) -> Option<std::time::Duration> {
    let span: jiff::Span = text.trim().parse().ok()?;
    let duration = span.to_duration(jiff::SpanRelativeTo::days_are_24_hours()).ok()?;
    duration.try_into().ok()
}

/// A secret, or the name of the variable that would hold it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RawSecret {
    Known(Secret),
    Unset(String),
}

impl Decode for RawSecret {
    fn schema(generator: &mut SchemaGenerator) -> Schema {
        or_external(generator, json!({ "type": ["string", "number"], "minLength": 1 }))
    }

    fn decode(node: &Node, problems: &mut Problems) -> Option<Self> {
        if let Value::Unset(name) = &node.value {
            return Some(Self::Unset(name.clone()));
        }
        String::decode(node, problems).map(|text| Self::Known(Secret::new(text)))
    }
}

impl Node {
    /// The value as JSON.
    pub(crate) fn to_json(&self, problems: &mut Problems) -> Option<serde_json::Value> {
        use serde_json::Value as Json;
        match &self.value {
            Value::Null => Some(Json::Null),
            Value::Bool(flag) => Some(Json::Bool(*flag)),
            Value::Number(number) => Some(Json::Number(number.clone())),
            Value::Text(text) => Some(Json::String(text.clone())),
            Value::List(items) => {
                items.iter().map(|item| item.to_json(problems)).collect::<Option<Vec<_>>>().map(Json::Array)
            }
            Value::Map(entries) => entries
                .iter()
                .map(|(key, value)| Some((key.name.clone(), value.to_json(problems)?)))
                .collect::<Option<serde_json::Map<_, _>>>()
                .map(Json::Object),
            Value::Unset(_) => mismatch(self, "a value", problems),
        }
    }
}

/// Reports that `node` is not `expected`.
pub(crate) fn mismatch<T>(node: &Node, expected: &str, problems: &mut Problems) -> Option<T> {
    let problem = match &node.value {
        Value::Unset(name) => Problem::at(&node.place, format!("environment variable {name:?} is not set"))
            .help("set it, or add `default:` beside `env:`"),
        _ => Problem::at(&node.place, format!("expected {expected}, found {}", describe(node))),
    };
    problems.push(problem);
    None
}

fn describe(node: &Node) -> String {
    match node.scalar_text() {
        Some(text) => format!("{} ({text:?})", node.kind()),
        None => node.kind().to_owned(),
    }
}

/// The entries of a mapping, while a record is being read from it.
pub(crate) struct Fields<'a> {
    pub(crate) place: &'a Place,
    entries: &'a [(Key, Node)],
}

impl<'a> Fields<'a> {
    /// The mapping's entries. Reports what is not a mapping, and every key that is not `known`.
    pub(crate) fn of(node: &'a Node, known: &[&'static str], problems: &mut Problems) -> Option<Self> {
        let entries: &[(Key, Node)] = match &node.value {
            Value::Map(entries) => entries,
            Value::Null => &[],
            _ => return mismatch(node, "a mapping", problems),
        };
        for (key, _) in entries.iter().filter(|(key, _)| !known.contains(&key.name.as_str())) {
            problems.push(unknown_key(key, known));
        }
        Some(Self { place: entries.first().map_or(&node.place, |(key, _)| &key.place), entries })
    }

    /// Reads one key.
    pub(crate) fn take<T: Decode>(&self, name: &str, problems: &mut Problems) -> Option<T> {
        match self.entries.iter().find(|(key, _)| key.name == name) {
            Some((_, node)) => T::decode(node, problems),
            None => T::absent(self.place, name, problems),
        }
    }
}

/// The report of a key that nobody knows.
pub(crate) fn unknown_key(key: &Key, known: &[&'static str]) -> Problem {
    Problem::at(&key.place, format!("unknown key {:?}", key.name))
        .help(suggestion(&key.name, known.iter().copied()))
}

/// Declares a raw type: a struct, how it is read from a mapping with exactly these keys, and its schema. A doc
/// comment may end in ``Example: `yaml` ``; a key may be followed by the words it takes, or by `where` and a JSON Schema
/// that must hold as well, as may the record's name.
macro_rules! record {
    (
        $(#[doc = $about:literal])* $name:ident as $schema_name:literal $(where $rule:tt and)? {
            $($(#[doc = $doc:literal])* $field:ident: $type:ty = $key:literal
                $([$($choice:literal),*])? $(where $constraint:tt)?,)*
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Debug, Clone)]
        pub(crate) struct $name { $($(#[doc = $doc])* pub(crate) $field: $type,)* }

        impl $name {
            const KEYS: &[&'static str] = &[$($key),*];
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                $schema_name.into()
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let fields = vec![$($crate::rules::schema::Field {
                    name: $key,
                    doc: &[$($doc),*],
                    choices: &[$($($choice),*)?],
                    constraint: [$(serde_json::json!($constraint))?].into_iter().next(),
                    optional: <$type as $crate::rules::decode::Decode>::OPTIONAL,
                    schema: <$type as $crate::rules::decode::Decode>::schema(generator),
                }),*];
                let rule: Option<serde_json::Value> = [$(serde_json::json!($rule))?].into_iter().next();
                $crate::rules::schema::record(generator, &[$($about),*], rule, fields)
            }
        }

        impl $crate::rules::decode::Decode for $name {
            fn schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                generator.subschema_for::<Self>()
            }

            fn decode(
                node: &$crate::rules::node::Node,
                problems: &mut $crate::problem::Problems,
            ) -> Option<Self> {
                let fields = $crate::rules::decode::Fields::of(node, Self::KEYS, problems)?;
                // All are read before the first `?`, so that one mistake hides no other.
                $(let $field = fields.take($key, problems);)*
                Some(Self { $($field: $field?,)* })
            }
        }
    };
}
pub(crate) use record;
