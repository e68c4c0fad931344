//! Action buttons of a message.

use serde_json::{Map, Value, json};

use crate::answer::{Refusal, refusal};
use crate::publish::invalid;

const MOST: usize = 3;

/// The actions as ntfy stores them, or why it refuses them.
pub(crate) fn checked(given: &Value) -> Result<Value, Refusal> {
    let list = given.as_array().ok_or_else(|| invalid("actions must be a list"))?;
    if list.len() > MOST {
        return Err(wrong("only 3 actions allowed"));
    }
    let actions: Result<Vec<_>, _> = list.iter().map(action).collect();
    actions.map(Value::Array)
}

fn action(given: &Value) -> Result<Value, Refusal> {
    let given = given.as_object().ok_or_else(|| invalid("an action must be an object"))?;
    let fields: Map<_, _> = given.iter().map(|(name, value)| (name.to_lowercase(), value.clone())).collect();
    check_types(&fields)?;
    let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
    let kind = text("action");
    if !["view", "http", "broadcast", "copy"].contains(&kind) {
        return Err(wrong(&format!("action '{kind}' unknown")));
    }
    if text("label").is_empty() {
        return Err(wrong("parameter 'label' is required"));
    }
    if (kind == "view" || kind == "http") && text("url").is_empty() {
        return Err(wrong("parameter 'url' is required"));
    }
    if kind == "copy" && text("value").is_empty() {
        return Err(wrong("parameter 'value' is required"));
    }
    let bodiless = ["GET", "HEAD"].contains(&text("method").to_uppercase().as_str());
    if kind == "http" && bodiless && !text("body").is_empty() {
        return Err(wrong("parameter 'body' cannot be set with GET or HEAD"));
    }
    Ok(stored(fields))
}

fn check_types(fields: &Map<String, Value>) -> Result<(), Refusal> {
    for (name, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
        let fits = match name.as_str() {
            "action" | "label" | "url" | "method" | "body" | "intent" | "value" | "id" => value.is_string(),
            "clear" => value.is_boolean(),
            "headers" | "extras" => value.as_object().is_some_and(|map| map.values().all(Value::is_string)),
            _ => true,
        };
        if !fits {
            return Err(invalid(&format!("the action's {name} has the wrong type")));
        }
    }
    Ok(())
}

fn stored(mut fields: Map<String, Value>) -> Value {
    let id: String = std::iter::repeat_with(fastrand::alphanumeric).take(10).collect();
    fields.insert("id".into(), json!(id));
    fields.entry("clear").or_insert(json!(false));
    Value::Object(fields)
}

fn wrong(why: &str) -> Refusal {
    refusal(40018, format!("invalid request: actions invalid; {why}"))
}
