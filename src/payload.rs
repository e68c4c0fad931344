//! From the bytes of a body to the JSON that rules see.
//!
//! What the bytes are decides more than what the sender calls them: several senders post JSON as `text/plain`, as
//! a form, or without any content type.

mod charset;
mod cloudevents;
mod encoding;
mod form;
mod multipart;
mod nest;
mod part;
mod xml;

use serde_json::Value;

pub use self::cloudevents::{
    MEMBERS as CLOUDEVENT_MEMBERS, is_binary as is_cloudevent, wrap as wrap_cloudevent,
};
pub use self::encoding::unpack;
pub use self::part::Part;

/// Why a body is refused. The texts are safe to show to a stranger: none holds anything of the body.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// 400: it is not what it claims to be.
    #[error("malformed body: {0}")]
    Malformed(String),
    /// 413: it is larger than the gateway takes, counted after unpacking.
    #[error("body too large: the limit is {limit} bytes")]
    TooLarge {
        /// In bytes.
        limit: usize,
    },
    /// 415: nobody here can read it.
    #[error("unsupported {0}")]
    Unsupported(String),
}

/// Decodes an unpacked body. An empty one is null.
pub fn decode(body: &[u8], content_type: Option<&str>) -> Result<Value, Unreadable> {
    decode_part(body, content_type, &Part::Whole)
}

/// As [`decode`]; of a JSON body at least a part.
pub fn decode_part(body: &[u8], content_type: Option<&str>, part: &Part) -> Result<Value, Unreadable> {
    let kind = Kind::of(content_type);
    if let Kind::Multipart { boundary } = &kind {
        return multipart::decode(body, boundary);
    }
    let text = charset::to_text(body, kind.charset())?;
    // A BOM is no part of JSON (RFC 8259, 8.1), but Windows senders write it.
    let text = text.trim_start_matches('\u{feff}');
    match kind {
        _ if text.trim().is_empty() => Ok(Value::Null),
        Kind::Json { .. } => parse_json(text, part),
        Kind::Lines { .. } => parse_lines(text),
        Kind::Xml { .. } => xml::decode(text),
        Kind::Form { .. } => form::decode(text),
        Kind::Text { .. } | Kind::Unknown => Ok(sniff(text)),
        Kind::Multipart { .. } => Ok(Value::Null),
        Kind::Binary(name) => looks_like_json(text)
            .then(|| parse_json(text, part).ok())
            .flatten()
            .ok_or(Unreadable::Unsupported(name)),
    }
}

/// Query parameters as a body: `a.b` and `a[b]` nest, repeated ones are lists.
pub fn fields(query: &[(String, String)]) -> Value {
    nest::fields(query.iter().map(|(name, value)| (name.clone(), Value::String(value.clone()))))
}

/// What a content type says about a body.
enum Kind {
    Json {
        charset: Option<String>,
    },
    Form {
        charset: Option<String>,
    },
    Text {
        charset: Option<String>,
    },
    /// One JSON value a line.
    Lines {
        charset: Option<String>,
    },
    Xml {
        charset: Option<String>,
    },
    Multipart {
        boundary: String,
    },
    /// None given.
    Unknown,
    Binary(String),
}

impl Kind {
    fn of(content_type: Option<&str>) -> Self {
        let Some(content_type) = content_type.map(str::trim).filter(|text| !text.is_empty()) else {
            return Self::Unknown;
        };
        let mut parts = content_type.split(';').map(str::trim);
        let essence = parts.next().unwrap_or_default().to_ascii_lowercase();
        let charset = parts
            .filter_map(|part| part.split_once('='))
            .find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"))
            .map(|(_, value)| value.trim().trim_matches('"').to_ascii_lowercase());
        match essence.as_str() {
            "application/json" | "text/json" => Self::Json { charset },
            json if json.ends_with("+json") => Self::Json { charset },
            "application/x-www-form-urlencoded" => Self::Form { charset },
            "application/x-ndjson"
            | "application/ndjson"
            | "application/jsonl"
            | "application/json-lines"
            | "application/x-jsonlines" => Self::Lines { charset },
            "application/xml" | "text/xml" => Self::Xml { charset },
            xml if xml.ends_with("+xml") => Self::Xml { charset },
            "multipart/form-data" => match multipart::parameter(content_type, "boundary") {
                Some(boundary) if !boundary.is_empty() => Self::Multipart { boundary },
                _ => Self::Binary("multipart body without a boundary".to_owned()),
            },
            text if text.starts_with("text/") => Self::Text { charset },
            _ => Self::Binary(format!("content type {essence:?}")),
        }
    }

    fn charset(&self) -> Option<&str> {
        match self {
            Self::Json { charset }
            | Self::Form { charset }
            | Self::Text { charset }
            | Self::Lines { charset }
            | Self::Xml { charset } => charset.as_deref(),
            Self::Multipart { .. } | Self::Unknown | Self::Binary(_) => None,
        }
    }
}

/// Text that turns out to be a JSON object or list is that; any other text stays text.
fn sniff(text: &str) -> Value {
    let json = looks_like_json(text).then(|| serde_json::from_str(text).ok()).flatten();
    json.unwrap_or_else(|| Value::String(text.to_owned()))
}

fn looks_like_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
}

fn parse_json(text: &str, part: &Part) -> Result<Value, Unreadable> {
    part::parse(text, part).or_else(|error| {
        // A form under the wrong content type, as some senders' "JSON" switch makes it.
        form::payload_of(text).unwrap_or_else(|| Err(Unreadable::Malformed(describe(&error))))
    })
}

/// One value a line, as a list.
fn parse_lines(text: &str) -> Result<Value, Unreadable> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let parse = |(index, line): (usize, &str)| {
        let explain = |error| Unreadable::Malformed(format!("line {}: {}", index + 1, describe(&error)));
        serde_json::from_str::<Value>(line).map_err(explain)
    };
    lines.map(parse).collect()
}

/// The parser's message without the value it may quote.
fn describe(error: &serde_json::Error) -> String {
    let place = format!("at line {} column {}", error.line(), error.column());
    match error.to_string() {
        text if text.starts_with("recursion limit") => format!("json nested deeper than 128 levels {place}"),
        _ if error.is_eof() => format!("json ends too early {place}"),
        _ => format!("invalid json {place}"),
    }
}

#[cfg(test)]
mod tests;
