//! `multipart/form-data` (RFC 7578), as Plex and Uptime Kuma post it.

use serde_json::{Value, json};

use super::{Unreadable, looks_like_json, nest};

/// Parts in one body. No sender known sends more than a few.
const MOST_PARTS: usize = 1000;
/// Fields that hold the whole webhook as JSON: Plex's, and Uptime Kuma's.
const WHOLE: [&str; 2] = ["payload", "data"];

struct Part<'a> {
    name: String,
    file: Option<String>,
    kind: Option<String>,
    content: &'a [u8],
}

/// The JSON of a part called `payload` or `data`, else all fields, and of files what is known of them.
pub(super) fn decode(body: &[u8], boundary: &str) -> Result<Value, Unreadable> {
    let parts = split(body, boundary)?;
    for whole in WHOLE {
        let part = parts.iter().find(|part| part.name == whole && part.file.is_none());
        if let Some(text) =
            part.and_then(|part| std::str::from_utf8(part.content).ok()).filter(|text| looks_like_json(text))
        {
            return super::parse_json(text, &super::Part::Whole);
        }
    }
    Ok(nest::fields(parts.iter().map(|part| (part.name.clone(), value_of(part)))))
}

/// A file's bytes are of no use to rules; its name may be.
fn value_of(part: &Part<'_>) -> Value {
    match &part.file {
        Some(file) => json!({ "filename": file, "content_type": part.kind, "bytes": part.content.len() }),
        None => String::from_utf8_lossy(part.content).into_owned().into(),
    }
}

fn split<'a>(body: &'a [u8], boundary: &str) -> Result<Vec<Part<'a>>, Unreadable> {
    let delimiter = format!("--{boundary}");
    let mut parts = Vec::new();
    let mut rest = after(body, delimiter.as_bytes()).ok_or_else(|| malformed("it has no boundary"))?;
    while !rest.starts_with(b"--") {
        let end = format!("\r\n{delimiter}");
        let at = find(rest, end.as_bytes()).ok_or_else(|| malformed("its last part has no end"))?;
        parts.extend(read_part(&rest[..at]));
        if parts.len() > MOST_PARTS {
            return Err(malformed("it has too many parts"));
        }
        rest = &rest[at + end.len()..];
    }
    Ok(parts)
}

/// A part without a name belongs to no form.
fn read_part(bytes: &[u8]) -> Option<Part<'_>> {
    let at = find(bytes, b"\r\n\r\n")?;
    let (head, content) = (String::from_utf8_lossy(&bytes[..at]).into_owned(), &bytes[at + 4..]);
    let header = |name: &str| {
        let lines = head.lines().filter_map(|line| line.split_once(':'));
        lines
            .filter(|(key, _)| key.trim().eq_ignore_ascii_case(name))
            .map(|(_, value)| value.trim().to_owned())
            .next()
    };
    let disposition = header("content-disposition")?;
    let name = parameter(&disposition, "name")?;
    Some(Part { name, file: parameter(&disposition, "filename"), kind: header("content-type"), content })
}

/// A parameter of a header's value, with or without quotes.
pub(super) fn parameter(value: &str, name: &str) -> Option<String> {
    let mut rest = value.split_once(';')?.1;
    loop {
        let (key, after) = rest.split_once('=')?;
        let after = after.trim_start();
        let (found, left) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => after.split_once(';').map_or((after, ""), |(found, _)| (found, &after[found.len()..])),
        };
        if key.trim().trim_start_matches(';').trim().eq_ignore_ascii_case(name) {
            return Some(found.trim().to_owned());
        }
        rest = left;
    }
}

fn after<'a>(bytes: &'a [u8], mark: &[u8]) -> Option<&'a [u8]> {
    find(bytes, mark).map(|at| &bytes[at + mark.len()..])
}

fn find(bytes: &[u8], mark: &[u8]) -> Option<usize> {
    bytes.windows(mark.len()).position(|window| window == mark)
}

fn malformed(why: &str) -> Unreadable {
    Unreadable::Malformed(format!("multipart: {why}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::{decode, parameter};

    fn form(parts: &[(&str, &str)]) -> Vec<u8> {
        let part = |(head, content): &(&str, &str)| {
            format!("--b1\r\nContent-Disposition: form-data; {head}\r\n\r\n{content}\r\n")
        };
        format!("preamble\r\n{}--b1--\r\n", parts.iter().map(part).collect::<String>()).into_bytes()
    }

    #[test]
    fn a_part_that_holds_the_webhook_is_the_body() {
        for name in ["payload", "data"] {
            let body = form(&[
                ("name=\"thumb\"; filename=\"t.jpg\"", "\u{1}\u{2}"),
                (&format!("name=\"{name}\""), r#"{"event":"x"}"#),
            ]);
            assert_eq!(decode(&body, "b1"), Ok(json!({ "event": "x" })), "{name}");
        }
    }

    #[test]
    fn other_forms_are_their_fields_and_files() {
        let body = form(&[
            ("name=\"user[name]\"", "Ada"),
            ("name=text", "two\r\nlines"),
            ("name=\"f\"; filename=\"a;b.txt\"\r\nContent-Type: text/plain", "12345"),
            ("filename=\"nameless\"", "x"),
        ]);
        let file = json!({ "filename": "a;b.txt", "content_type": "text/plain", "bytes": 5 });
        let expected = json!({ "user": { "name": "Ada" }, "text": "two\r\nlines", "f": file });
        assert_eq!(decode(&body, "b1"), Ok(expected));
    }

    #[test]
    fn what_is_cut_off_is_malformed() {
        let told = |body: &[u8]| decode(body, "b1").unwrap_err().to_string();
        assert_eq!(told(b"nothing"), "malformed body: multipart: it has no boundary");
        let whole = form(&[("name=\"a\"", "x")]);
        assert_eq!(told(&whole[..whole.len() - 9]), "malformed body: multipart: its last part has no end");
        assert_eq!(decode(b"--b1--", "b1"), Ok(json!({})));
    }

    #[test]
    fn parameters_are_read_with_and_without_quotes() {
        let value = "multipart/form-data; charset=utf-8;boundary=\"a b;c\"; x=y";
        assert_eq!(parameter(value, "boundary").as_deref(), Some("a b;c"));
        assert_eq!(parameter(value, "X").as_deref(), Some("y"));
        assert_eq!((parameter(value, "z"), parameter("text/plain", "x")), (None, None));
    }

    proptest! {
        #[test]
        fn no_body_panics(body in proptest::collection::vec(any::<u8>(), 0..300), boundary in "\\PC{0,20}") {
            let _ = decode(&body, &boundary);
            let mut framed = format!("--{boundary}\r\n").into_bytes();
            framed.extend(&body);
            let _ = decode(&framed, &boundary);
        }
    }
}
