//! The part of a JSON body that somebody will look at. Senders send much more than rules ask for, and most of the cost
//! of a body is the tree that is made of it; what nobody asks for is read as strictly, and not kept.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Which part of a value is needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    Whole,
    /// Of an object these members, each in part; anything else as a whole.
    Members(BTreeMap<String, Part>),
}

impl Default for Part {
    /// No member of an object.
    fn default() -> Self {
        Self::Members(BTreeMap::new())
    }
}

impl Part {
    /// Adds what is found below these names, one inside the other; without any, everything.
    pub fn add<'a>(&mut self, mut names: impl Iterator<Item = &'a str>) {
        let Self::Members(members) = self else { return };
        match names.next() {
            Some(name) => members.entry(name.to_owned()).or_default().add(names),
            None => *self = Self::Whole,
        }
    }
}

/// Parses a JSON text and keeps only a part. Refuses exactly what a parser of the whole refuses.
pub(super) fn parse(text: &str, part: &Part) -> serde_json::Result<Value> {
    let mut parser = serde_json::Deserializer::from_str(text);
    let value = part.deserialize(&mut parser)?;
    parser.end().map(|()| value)
}

impl<'de> DeserializeSeed<'de> for &Part {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        match self {
            Part::Whole => Value::deserialize(deserializer),
            Part::Members(members) => deserializer.deserialize_any(Members(members)),
        }
    }
}

struct Members<'a>(&'a BTreeMap<String, Part>);

impl<'de> Visitor<'de> for Members<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut kept = Map::new();
        while let Some(member) = entries.next_key_seed(Name(self.0))? {
            match member {
                Some((name, part)) => {
                    let value = entries.next_value_seed(part)?;
                    kept.insert(name.clone(), value);
                }
                None => entries.next_value::<Nothing>().map(drop)?,
            }
        }
        Ok(Value::Object(kept))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }
}

/// Finds a member by its name.
struct Name<'a>(&'a BTreeMap<String, Part>);

impl<'de, 'a> DeserializeSeed<'de> for Name<'a> {
    type Value = Option<(&'a String, &'a Part)>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'a> Visitor<'_> for Name<'a> {
    type Value = Option<(&'a String, &'a Part)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
        Ok(self.0.get_key_value(name))
    }
}

/// A value that is read and not kept. Not serde's `IgnoredAny`, which takes what no parser of values does: numbers beyond
/// all bounds, broken escapes, any depth.
struct Nothing;

impl<'de> Deserialize<'de> for Nothing {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for Nothing {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self, A::Error> {
        while entries.next_entry::<Self, Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self, A::Error> {
        while items.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn part(paths: &[&str]) -> Part {
        let mut part = Part::default();
        paths.iter().for_each(|path| part.add(path.split('.').filter(|name| !name.is_empty())));
        part
    }

    #[test]
    fn only_what_is_asked_for_is_kept() {
        let text = r#"{"a": {"b": 1, "c": {"d": [1, {"e": null}]}}, "f": -1.5, "g": [1], "h": {"i": {}}}"#;
        let kept = |paths: &[&str]| parse(text, &part(paths)).unwrap();
        assert_eq!(kept(&["a.b", "f", "nope"]), json!({"a": {"b": 1}, "f": -1.5}));
        assert_eq!(kept(&["a.c", "a.c.d"]), json!({"a": {"c": {"d": [1, {"e": null}]}}}));
        assert_eq!(kept(&["g.x", "a.b.x", "h.i"]), json!({"a": {"b": 1}, "g": [1], "h": {"i": {}}}));
        assert_eq!(kept(&[]), json!({}));
        assert_eq!(kept(&["a.b", ""]), serde_json::from_str::<Value>(text).unwrap());
        assert_eq!(parse(r#"{"a": 1, "a": 2}"#, &part(&["a"])).unwrap(), json!({"a": 2}));
    }

    /// Mistakes where nobody looks, too.
    #[test]
    fn what_is_refused_does_not_depend_on_what_is_asked_for() {
        let deep = |levels: usize| format!("{{\"x\": {}1{}}}", "[".repeat(levels), "]".repeat(levels));
        let mut texts = vec![deep(126), deep(127), deep(100_000)];
        let values =
            ["1e999", "01", "\"\\ud800\"", "\"\\q\"", "\"\u{1}\"", "tru", "{\"a\" 1}", "[1,]", "{1:2}", "-"];
        texts.extend(values.iter().map(|value| format!("{{\"x\": {value}}}")));
        texts.extend(["{} {}", "{\"x\": 1", "[1", "", "{\"x\": 1}x"].map(str::to_owned));
        for text in texts {
            let (whole, none) = (serde_json::from_str::<Value>(&text), parse(&text, &part(&["a"])));
            let told = |error: serde_json::Error| error.to_string();
            assert_eq!(
                none.map(drop).map_err(told),
                whole.map(drop).map_err(told),
                "{}",
                &text[..text.len().min(60)]
            );
        }
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 64, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::vec(("[a-d]", inner), 0..5)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_asked_for_is_as_in_the_whole(value in any_json(), paths in prop::collection::vec("([a-d](\\.[a-d]){0,3})?", 0..4)) {
            let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
            let kept = parse(&value.to_string(), &part(&paths)).unwrap();
            let whole: Value = serde_json::from_str(&value.to_string()).unwrap();
            for path in paths {
                let pointer = path.split('.').filter(|name| !name.is_empty()).fold(String::new(), |all, name| all + "/" + name);
                prop_assert_eq!(kept.pointer(&pointer), whole.pointer(&pointer), "{}", path);
            }
        }
    }
}
