//! Names of form fields that say where they belong: `a.b`, `a[b]`, `a[]`.

use serde_json::{Map, Value};

use super::looks_like_json;

/// Names nested deeper than this stay as they are.
const DEEPEST: usize = 16;

/// Fields as an object. A repeated name becomes a list. What does not fit together stays under its whole name. A field that
/// holds a JSON object or list is that, as in Uptime Kuma's `?heartbeat={…}`.
pub(super) fn fields(pairs: impl IntoIterator<Item = (String, Value)>) -> Value {
    let mut root = Map::new();
    for (name, value) in pairs {
        let value = unfold(value);
        let steps = steps(&name);
        if let Err(value) = insert(&mut root, &steps, value) {
            add(&mut root, name, value);
        }
    }
    Value::Object(root)
}

fn unfold(value: Value) -> Value {
    match value {
        Value::String(text) if looks_like_json(&text) => {
            serde_json::from_str(&text).unwrap_or(Value::String(text))
        }
        other => other,
    }
}

/// `a[b].c[]` as `a`, `b`, `c`, and whether it is one of a list.
struct Steps {
    names: Vec<String>,
    list: bool,
}

fn steps(name: &str) -> Steps {
    let whole = || Steps { names: vec![name.to_owned()], list: false };
    let (plain, list) = match name.strip_suffix("[]") {
        Some(plain) => (plain, true),
        None => (name, false),
    };
    let names: Vec<String> = plain.replace('[', ".").replace(']', "").split('.').map(str::to_owned).collect();
    let odd = names.iter().any(String::is_empty) || names.len() > DEEPEST;
    if odd { whole() } else { Steps { names, list } }
}

/// Gives the value back where its place is taken by something else.
fn insert(map: &mut Map<String, Value>, steps: &Steps, value: Value) -> Result<(), Value> {
    let Some((last, path)) = steps.names.split_last() else { return Err(value) };
    let mut map = map;
    for name in path {
        match map.entry(name.clone()).or_insert_with(|| Value::Object(Map::new())) {
            Value::Object(inner) => map = inner,
            _ => return Err(value),
        }
    }
    if steps.list && !map.contains_key(last) {
        map.insert(last.clone(), Value::Array(Vec::new()));
    }
    match map.get(last) {
        Some(Value::Object(_)) => Err(value),
        _ => {
            add(map, last.clone(), value);
            Ok(())
        }
    }
}

fn add(fields: &mut Map<String, Value>, name: String, value: Value) {
    match fields.get_mut(&name) {
        None => {
            fields.insert(name, value);
        }
        Some(Value::Array(values)) => values.push(value),
        Some(first) => {
            let values = vec![first.take(), value];
            *first = Value::Array(values);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::fields;

    fn nested(pairs: &[(&str, &str)]) -> Value {
        fields(pairs.iter().map(|(name, value)| ((*name).to_owned(), json!(value))))
    }

    #[test]
    fn dots_and_brackets_nest_and_repeated_names_are_lists() {
        let form = [
            ("user.name", "Ada"),
            ("user[mail]", "a@b.c"),
            ("tag", "x"),
            ("tag", "y"),
            ("one[]", "z"),
            ("n", "1"),
        ];
        let expected = json!({
            "user": { "name": "Ada", "mail": "a@b.c" }, "tag": ["x", "y"], "one": ["z"], "n": "1",
        });
        assert_eq!(nested(&form), expected);
    }

    #[test]
    fn a_field_of_json_is_what_it_says() {
        let form = [("heartbeat", r#"{"status":0}"#), ("tags", "[1]"), ("msg", "{no json"), ("n", "1")];
        assert_eq!(
            nested(&form),
            json!({ "heartbeat": { "status": 0 }, "tags": [1], "msg": "{no json", "n": "1" })
        );
    }

    #[test]
    fn what_does_not_fit_together_stays_under_its_whole_name() {
        assert_eq!(nested(&[("a", "1"), ("a.b", "2")]), json!({ "a": "1", "a.b": "2" }));
        assert_eq!(
            nested(&[(".", "1"), ("a..b", "2"), ("[]", "3")]),
            json!({ ".": "1", "a..b": "2", "[]": "3" })
        );
        let deep = "a.".repeat(100) + "b";
        assert_eq!(nested(&[(&deep, "1")]), json!({ deep.clone(): "1" }));
    }
}
