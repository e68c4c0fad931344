//! What a condition asks of the values it finds.

use std::cmp::Ordering;
use std::fmt;

use globset::GlobMatcher;
use regex::Regex;
use serde_json::{Number, Value};

/// All parts must hold. One and the same value must pass every test; `not` and `exists` ask about all values together.
#[derive(Debug, Clone, Default)]
pub struct Matcher {
    pub(super) tests: Vec<Test>,
    pub(super) not: Option<Box<Matcher>>,
    pub(super) exists: Option<bool>,
}

/// A question to one value.
#[derive(Debug, Clone)]
pub(super) enum Test {
    Equals(Value),
    In(Vec<Value>),
    Matches(Regex),
    Glob(GlobMatcher),
    Contains(Value),
    StartsWith(String),
    EndsWith(String),
    Compare(Comparison, f64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    Gt,
    Gte,
    Lt,
    Lte,
}

impl Matcher {
    /// Whether the values found satisfy it: ANY of them for tests.
    pub fn holds(&self, found: &[&Value]) -> bool {
        let existence = self.exists.is_none_or(|wanted| wanted != found.is_empty());
        let tested =
            self.tests.is_empty() || found.iter().any(|value| self.tests.iter().all(|t| t.passes(value)));
        existence && tested && self.not.as_ref().is_none_or(|not| !not.holds(found))
    }
}

impl Matcher {
    /// The texts one of which a value must equal to pass; `None` where something else can pass too.
    pub(super) fn texts(&self) -> Option<Vec<&str>> {
        self.tests.iter().find_map(|test| match test {
            Test::Equals(value) => Some(vec![value.as_str()?]),
            Test::In(list) => list.iter().map(Value::as_str).collect(),
            _ => None,
        })
    }
}

impl Test {
    fn passes(&self, value: &Value) -> bool {
        match self {
            Self::Equals(wanted) => equal(value, wanted),
            Self::In(list) => list.iter().any(|wanted| equal(value, wanted)),
            Self::Matches(regex) => value.as_str().is_some_and(|text| regex.is_match(text)),
            Self::Glob(glob) => value.as_str().is_some_and(|text| glob.is_match(text)),
            Self::Contains(wanted) => contains(value, wanted),
            Self::StartsWith(prefix) => value.as_str().is_some_and(|text| text.starts_with(prefix)),
            Self::EndsWith(suffix) => value.as_str().is_some_and(|text| text.ends_with(suffix)),
            Self::Compare(comparison, limit) => {
                number(value).and_then(|n| n.partial_cmp(limit)).is_some_and(|order| comparison.allows(order))
            }
        }
    }
}

impl Comparison {
    fn allows(self, order: Ordering) -> bool {
        match self {
            Self::Gt => order.is_gt(),
            Self::Gte => order.is_ge(),
            Self::Lt => order.is_lt(),
            Self::Lte => order.is_le(),
        }
    }
}

/// Equality by type, numbers by value: `1` is `1.0` and is not `"1"`.
pub(crate) fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => equal_numbers(a, b),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| equal(a, b)))
        }
        _ => a == b,
    }
}

fn equal_numbers(a: &Number, b: &Number) -> bool {
    // As floats, two different large integers could look equal.
    match (a.as_i128(), b.as_i128()) {
        (Some(a), Some(b)) => a == b,
        _ => a.as_f64() == b.as_f64(),
    }
}

fn contains(value: &Value, wanted: &Value) -> bool {
    match (value, wanted) {
        (Value::String(text), Value::String(part)) => text.contains(part),
        (Value::Array(items), wanted) => items.iter().any(|item| equal(item, wanted)),
        _ => false,
    }
}

/// A number, or a text that is one: Seerr sends every leaf as a string, headers always are.
pub(crate) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

impl fmt::Display for Matcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<String> = self.tests.iter().map(ToString::to_string).collect();
        parts.extend(self.exists.map(|wanted| format!("exists: {wanted}")));
        parts.extend(self.not.as_ref().map(|not| format!("not ({not})")));
        f.write_str(&parts.join(", "))
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Equals(value) => write!(f, "equals {value}"),
            Self::In(list) => write!(f, "in {}", Value::Array(list.clone())),
            Self::Matches(regex) => write!(f, "matches {:?}", regex.as_str()),
            Self::Glob(glob) => write!(f, "glob {:?}", glob.glob().glob()),
            Self::Contains(value) => write!(f, "contains {value}"),
            Self::StartsWith(text) => write!(f, "starts_with {text:?}"),
            Self::EndsWith(text) => write!(f, "ends_with {text:?}"),
            Self::Compare(comparison, limit) => write!(f, "{} {limit}", comparison.name()),
        }
    }
}

impl Comparison {
    fn name(self) -> &'static str {
        match self {
            Self::Gt => "gt",
            Self::Gte => "gte",
            Self::Lt => "lt",
            Self::Lte => "lte",
        }
    }
}
