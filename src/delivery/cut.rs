//! A payload without what was too much for its server.

use serde_json::{Map, Value};

use crate::notification::truncate;
use crate::ntfy::Part;

/// Bytes that are left of each part: a fraction of ntfy's own defaults, as this server takes less than those.
const MESSAGE: usize = 1000;
const TITLE: usize = 120;
const TAGS: usize = 100;
/// The whole document above which buttons go too.
const DOCUMENT: usize = 2000;

/// The payload with less in it; `None` when there is nothing to take away.
pub(super) fn without(payload: &str, part: Part) -> Option<String> {
    let mut fields: Map<String, Value> = serde_json::from_str(payload).ok()?;
    match part {
        Part::Message => {
            cut(&mut fields, "message", MESSAGE);
            if serde_json::to_string(&fields).is_ok_and(|json| json.len() > DOCUMENT) {
                cut(&mut fields, "title", TITLE);
                fields.shift_remove("actions");
            }
        }
        Part::Title => cut(&mut fields, "title", TITLE),
        Part::Tags => cut_tags(&mut fields),
        Part::EmailAndCall => {
            fields.shift_remove("email");
            fields.shift_remove("call");
        }
    }
    let less = serde_json::to_string(&fields).ok()?;
    (less.len() < payload.len()).then_some(less)
}

fn cut(fields: &mut Map<String, Value>, name: &str, limit: usize) {
    if let Some(Value::String(text)) = fields.get_mut(name) {
        *text = truncate(text, limit).into_owned();
    }
}

fn cut_tags(fields: &mut Map<String, Value>) {
    let Some(Value::Array(tags)) = fields.get_mut("tags") else { return };
    let mut room = TAGS;
    tags.retain(|tag| {
        let length = tag.as_str().unwrap_or_default().len() + 1;
        let fits = length <= room;
        room -= if fits { length } else { 0 };
        fits
    });
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::without;
    use crate::ntfy::Part;

    fn cut(payload: &Value, part: Part) -> Option<Value> {
        without(&payload.to_string(), part).map(|less| serde_json::from_str(&less).unwrap())
    }

    #[test]
    fn a_message_is_cut_on_a_character_boundary_and_the_rest_stays() {
        let less = cut(&json!({ "topic": "t", "message": "ü".repeat(2000), "click": "x" }), Part::Message);
        let expected = json!({ "topic": "t", "message": format!("{}…", "ü".repeat(498)), "click": "x" });
        assert_eq!(less, Some(expected));
    }

    #[test]
    fn titles_tags_email_and_call_go_each_alone() {
        let tags = json!(["x".repeat(60), "y".repeat(60), "z"]);
        let payload = json!({ "message": "m", "title": "t".repeat(500), "tags": tags, "email": "a@b.c", "call": "yes" });
        let field = |part, name: &str| cut(&payload, part).unwrap().get(name).cloned();
        assert_eq!(field(Part::Title, "title").unwrap().as_str().unwrap().len(), 120);
        assert_eq!(field(Part::Tags, "tags"), Some(json!(["x".repeat(60), "z"])));
        assert_eq!((field(Part::EmailAndCall, "email"), field(Part::EmailAndCall, "call")), (None, None));
        assert_eq!(field(Part::EmailAndCall, "title"), Some(json!("t".repeat(500))));
    }

    #[test]
    fn a_document_that_is_too_large_loses_its_buttons_too() {
        let actions = json!([{ "action": "view", "label": "l", "url": "u".repeat(1500) }]);
        let less = cut(&json!({ "message": "m".repeat(1500), "actions": actions }), Part::Message).unwrap();
        assert_eq!(less.get("actions"), None);
    }

    #[test]
    fn nothing_to_take_away_is_told() {
        assert_eq!(cut(&json!({ "message": "short" }), Part::Message), None);
        assert_eq!(cut(&json!({ "message": "short" }), Part::EmailAndCall), None);
        assert_eq!(without("no json", Part::Title), None);
    }
}
