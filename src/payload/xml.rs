//! XML as JSON, so that JSONPath reaches it: an element is an object of its attributes (`@name`) and children, one that
//! holds nothing but text is that text, and repeated children are a list.

use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};
use serde_json::{Map, Value};

use super::Unreadable;

/// As deep as JSON may be.
const DEEPEST: usize = 128;

struct Element {
    name: String,
    fields: Map<String, Value>,
    text: String,
}

/// The document as an object with one field, the root element. Entities that a document defines itself are not read:
/// a few of them can stand for gigabytes.
pub(super) fn decode(text: &str) -> Result<Value, Unreadable> {
    let mut reader = Reader::from_str(text);
    let mut open: Vec<Element> = Vec::new();
    loop {
        match reader.read_event().map_err(|error| broken(&error))? {
            Event::Start(start) if open.len() == DEEPEST => {
                let name = String::from_utf8_lossy(start.name().as_ref()).into_owned();
                return Err(malformed(&format!("nested deeper than {DEEPEST} levels at element {name:?}")));
            }
            Event::Start(start) => open.push(element(&start)?),
            Event::Empty(start) => {
                let element = element(&start)?;
                if let Some(document) = close(&mut open, element) {
                    return Ok(document);
                }
            }
            Event::End(_) => {
                let Some(element) = open.pop() else {
                    return Err(malformed("an element ends that never began"));
                };
                if let Some(document) = close(&mut open, element) {
                    return Ok(document);
                }
            }
            Event::Text(text) => push(&mut open, &text.decode().map_err(|error| broken(&error))?),
            Event::CData(data) => push(&mut open, &data.decode().map_err(|error| broken(&error))?),
            Event::GeneralRef(entity) => {
                let name = entity.decode().map_err(|error| broken(&error))?;
                let character = entity.resolve_char_ref().map_err(|error| broken(&error))?;
                match (character, resolve_predefined_entity(&name)) {
                    (Some(character), _) => push(&mut open, character.encode_utf8(&mut [0; 4])),
                    (None, Some(text)) => push(&mut open, text),
                    (None, None) => return Err(malformed("an unknown entity")),
                }
            }
            Event::Eof => return Err(malformed("it ends too early")),
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
        }
    }
}

fn element(start: &BytesStart<'_>) -> Result<Element, Unreadable> {
    let name = String::from_utf8_lossy(start.name().as_ref()).into_owned();
    let mut fields = Map::new();
    for attribute in start.attributes() {
        let attribute = attribute.map_err(|error| broken(&error))?;
        let key = String::from_utf8_lossy(attribute.key.as_ref()).into_owned();
        let value = attribute.unescape_value().map_err(|error| broken(&error))?;
        fields.insert(format!("@{key}"), value.into_owned().into());
    }
    Ok(Element { name, fields, text: String::new() })
}

fn push(open: &mut [Element], text: &str) {
    if let Some(element) = open.last_mut() {
        element.text.push_str(text);
    }
}

/// Hands a finished element to its parent; the document, when it has none.
fn close(open: &mut [Element], element: Element) -> Option<Value> {
    let Element { name, mut fields, text } = element;
    let text = text.trim();
    let value = if fields.is_empty() {
        Value::String(text.to_owned())
    } else {
        if !text.is_empty() {
            fields.insert("#text".to_owned(), text.into());
        }
        Value::Object(fields)
    };
    let Some(parent) = open.last_mut() else { return Some(Value::Object(Map::from_iter([(name, value)]))) };
    match parent.fields.get_mut(&name) {
        None => {
            parent.fields.insert(name, value);
        }
        Some(Value::Array(values)) => values.push(value),
        Some(first) => {
            let values = vec![first.take(), value];
            *first = Value::Array(values);
        }
    }
    None
}

/// Without what the parser quotes: the texts are shown to strangers.
fn broken(_: &impl std::error::Error) -> Unreadable {
    malformed("it is not well-formed")
}

fn malformed(why: &str) -> Unreadable {
    Unreadable::Malformed(format!("xml: {why}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::decode;

    #[test]
    fn elements_attributes_texts_and_lists_are_reached_by_name() {
        let text = r#"<?xml version="1.0"?><!DOCTYPE job><!-- note -->
            <job id="7"><name>a &amp; b &#x263a;</name><step ok="true"/><step>two</step><raw><![CDATA[<x>]]></raw> tail </job>"#;
        let expected = json!({ "job": {
            "@id": "7", "name": "a & b ☺", "step": [{ "@ok": "true" }, "two"], "raw": "<x>", "#text": "tail",
        } });
        assert_eq!(decode(text), Ok(expected));
        assert_eq!(decode("<a/>"), Ok(json!({ "a": "" })));
    }

    #[test]
    fn what_is_broken_deep_or_dangerous_is_malformed() {
        let told = |text: &str| decode(text).unwrap_err().to_string();
        assert_eq!(told("<a><b></a>"), "malformed body: xml: it is not well-formed");
        assert_eq!(told("<a>"), "malformed body: xml: it ends too early");
        let bomb = r#"<!DOCTYPE a [<!ENTITY x "xxxxxxxxxx">]><a>&x;&x;</a>"#;
        assert_eq!(told(bomb), "malformed body: xml: an unknown entity");
        let deep = "<a>".repeat(129);
        assert_eq!(told(&deep), "malformed body: xml: nested deeper than 128 levels at element \"a\"");
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[<>/a-c &;#\"'=!\\[\\]-]{0,200}") {
            let _ = decode(&text);
        }
    }
}
