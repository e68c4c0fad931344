//! ntfy's publish contract: what a request must look like, and what the server makes of it.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};

use crate::actions;
use crate::answer::{Refusal, refusal};
use crate::delay;

const BODY_LIMIT: usize = 8192;
const MESSAGE_LIMIT: usize = 4096;
const TITLE_LIMIT: usize = 1024;
const TAGS_LIMIT: usize = 512;
const RESERVED: [&str; 10] =
    ["docs", "static", "file", "app", "metrics", "account", "settings", "signup", "login", "v1"];

/// The fields of a JSON publish, by lower-case name and without nulls, as Go's decoder sees them.
pub(crate) struct Fields(Map<String, Value>);

/// Reads a publish request at the root and returns the message as ntfy would store it.
pub(crate) fn from_json(body: &[u8]) -> Result<Value, Refusal> {
    if body.len() > BODY_LIMIT {
        return Err(refusal(41303, "JSON body too large"));
    }
    let fields = Fields::parse(body)?;
    let topic = checked_topic(fields.text("topic")?)?;
    let mut message = new_message(topic);
    optional_text(&fields, &mut message)?;
    numbers_and_lists(&fields, &mut message)?;
    attachment(&fields, &mut message)?;
    schedule(&fields, &mut message)?;
    let text = message_text(&fields, message.contains_key("attachment"))?;
    message.insert("message".into(), json!(text));
    Ok(Value::Object(message))
}

/// Reads a plain publish to a topic's path: the body is the message.
pub(crate) fn from_text(topic: &str, body: &[u8]) -> Result<Value, Refusal> {
    let mut message = new_message(checked_topic(topic)?);
    let text = std::str::from_utf8(body).map_err(|_| refusal(40011, "message must be UTF-8 encoded"))?;
    message.insert("message".into(), json!(shown(checked_length(text)?)));
    Ok(Value::Object(message))
}

/// The topic a publish request names, well-formed or not; none when its JSON is not readable.
pub(crate) fn topic(path: &str, body: &[u8]) -> Option<String> {
    if !path.is_empty() {
        return Some(path.to_owned());
    }
    let fields = if body.len() > BODY_LIMIT { None } else { Fields::parse(body).ok() };
    fields?.text("topic").ok().map(str::to_owned)
}

impl Fields {
    fn parse(body: &[u8]) -> Result<Fields, Refusal> {
        let mut values = serde_json::Deserializer::from_slice(body).into_iter::<Value>();
        let object = match values.next() {
            Some(Ok(Value::Object(object))) => object,
            Some(Ok(Value::Null)) => Map::new(),
            _ => return Err(invalid("the body is not a JSON object")),
        };
        let present = object.into_iter().filter(|(_, value)| !value.is_null());
        Ok(Fields(present.map(|(name, value)| (name.to_lowercase(), value)).collect()))
    }

    /// A text field, trimmed as ntfy's header reader does; empty when absent.
    pub(crate) fn text(&self, name: &str) -> Result<&str, Refusal> {
        match self.0.get(name) {
            None => Ok(""),
            Some(Value::String(text)) => Ok(text.trim()),
            Some(_) => Err(invalid(&format!("{name} must be a string"))),
        }
    }

    fn flag(&self, name: &str) -> Result<bool, Refusal> {
        match self.0.get(name) {
            None => Ok(false),
            Some(value) => value.as_bool().ok_or_else(|| invalid(&format!("{name} must be true or false"))),
        }
    }
}

/// The refusal of a body that Go's decoder would not take.
pub(crate) fn invalid(why: &str) -> Refusal {
    refusal(40024, format!("invalid request: request body must be message JSON: {why}"))
}

/// Whether a name fits ntfy's pattern for topics and sequence ids.
fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

fn checked_topic(topic: &str) -> Result<&str, Refusal> {
    if !is_name(topic) {
        return Err(refusal(40009, "invalid request: topic invalid"));
    }
    if RESERVED.contains(&topic) {
        return Err(refusal(40010, "invalid request: topic name is not allowed"));
    }
    Ok(topic)
}

fn new_message(topic: &str) -> Map<String, Value> {
    let id: String = std::iter::repeat_with(fastrand::alphanumeric).take(12).collect();
    let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let message =
        json!({ "id": id, "time": time, "expires": time + 12 * 3600, "event": "message", "topic": topic });
    message.as_object().cloned().unwrap_or_default()
}

fn optional_text(fields: &Fields, message: &mut Map<String, Value>) -> Result<(), Refusal> {
    if fields.text("title")?.len() > TITLE_LIMIT {
        return Err(refusal(40057, "invalid request: title too long"));
    }
    let sequence = fields.text("sequence_id")?;
    if !sequence.is_empty() && !is_name(sequence) {
        return Err(refusal(40049, "invalid request: sequence ID invalid"));
    }
    let icon = fields.text("icon")?;
    if !icon.is_empty() && !is_web_address(icon) {
        return Err(refusal(40021, "invalid request: icon URL is invalid"));
    }
    fields.text("firebase")?;
    for name in ["sequence_id", "title", "click", "icon", "email", "call"] {
        let text = fields.text(name)?;
        if !text.is_empty() {
            message.insert(name.into(), json!(text));
        }
    }
    Ok(())
}

fn is_web_address(url: &str) -> bool {
    url.starts_with("http://") || url.starts_with("https://")
}

fn numbers_and_lists(fields: &Fields, message: &mut Map<String, Value>) -> Result<(), Refusal> {
    match fields.0.get("priority") {
        None => {}
        Some(value) => match value.as_i64() {
            Some(0) => {}
            Some(priority @ 1..=5) => drop(message.insert("priority".into(), json!(priority))),
            Some(_) => return Err(refusal(40007, "invalid request: priority invalid")),
            None => return Err(invalid("priority must be an integer")),
        },
    }
    let tags = tags(fields)?;
    if !tags.is_empty() {
        message.insert("tags".into(), json!(tags));
    }
    if fields.flag("markdown")? {
        message.insert("content_type".into(), json!("text/markdown"));
    }
    if let Some(given) = fields.0.get("actions") {
        message.insert("actions".into(), actions::checked(given)?);
    }
    Ok(())
}

/// Tags are joined with commas and split again, so that a comma within a tag makes two.
fn tags(fields: &Fields) -> Result<Vec<String>, Refusal> {
    let given = match fields.0.get("tags") {
        None => return Ok(Vec::new()),
        Some(value) => value.as_array().ok_or_else(|| invalid("tags must be a list"))?,
    };
    let texts: Option<Vec<&str>> = given.iter().map(Value::as_str).collect();
    let joined = texts.ok_or_else(|| invalid("every tag must be a string"))?.join(",");
    if joined.len() > TAGS_LIMIT {
        return Err(refusal(40058, "invalid request: tags too long"));
    }
    Ok(joined.split(',').map(str::trim).filter(|tag| !tag.is_empty()).map(String::from).collect())
}

fn attachment(fields: &Fields, message: &mut Map<String, Value>) -> Result<(), Refusal> {
    let (attach, filename) = (fields.text("attach")?, fields.text("filename")?);
    if attach.is_empty() {
        let file_upload = !filename.is_empty();
        return if file_upload { Err(too_large("attachments are not allowed")) } else { Ok(()) };
    }
    if !is_web_address(attach) {
        return Err(refusal(40013, "invalid request: attachment URL is invalid"));
    }
    let last = attach.split(['?', '#']).next().and_then(|path| path.rsplit('/').next()).unwrap_or_default();
    let name = [filename, last, "attachment"].into_iter().find(|name| !name.is_empty());
    message.insert("attachment".into(), json!({ "name": name, "url": attach }));
    Ok(())
}

fn schedule(fields: &Fields, message: &mut Map<String, Value>) -> Result<(), Refusal> {
    let (wish, cache) = (fields.text("delay")?, fields.text("cache")?);
    if wish.is_empty() {
        return Ok(());
    }
    if cache == "no" || cache == "false" || cache == "0" {
        return Err(refusal(40002, "invalid request: cannot use delay without caching"));
    }
    if message.contains_key("email") {
        return Err(refusal(40003, "invalid request: delayed e-mail notifications are not supported"));
    }
    if message.contains_key("call") {
        return Err(refusal(40037, "invalid request: delayed phone calls are not supported"));
    }
    let now = message["time"].as_u64().unwrap_or_default();
    message.insert("time".into(), json!(delay::due(wish, now)?));
    Ok(())
}

fn message_text(fields: &Fields, attached: bool) -> Result<&str, Refusal> {
    let text = fields.text("message")?;
    if !attached {
        return checked_length(text).map(shown);
    }
    // With an attachment ntfy cuts instead of refusing, and fails when the cut splits a character.
    let cut = text.get(..text.len().min(MESSAGE_LIMIT));
    cut.map(shown).ok_or_else(|| refusal(40011, "invalid request: message must be UTF-8 encoded"))
}

/// Without attachments enabled, the default, ntfy refuses a message that does not fit.
fn checked_length(text: &str) -> Result<&str, Refusal> {
    if text.len() < MESSAGE_LIMIT { Ok(text) } else { Err(too_large("message too long")) }
}

fn too_large(why: &str) -> Refusal {
    refusal(40014, format!("invalid request: {why}"))
}

fn shown(text: &str) -> &str {
    let text = text.trim();
    if text.is_empty() { "triggered" } else { text }
}
