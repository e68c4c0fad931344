//! Bytes to text.

use std::borrow::Cow;

use super::Unreadable;

/// The text in the charset named, or by its byte order mark; UTF-8 unless something else is said.
pub(super) fn to_text<'a>(body: &'a [u8], charset: Option<&str>) -> Result<Cow<'a, str>, Unreadable> {
    match (charset, body) {
        (_, [0xff, 0xfe, rest @ ..]) => utf16(rest, u16::from_le_bytes),
        (_, [0xfe, 0xff, rest @ ..]) => utf16(rest, u16::from_be_bytes),
        (Some("utf-16" | "utf-16be"), _) => utf16(body, u16::from_be_bytes),
        (Some("utf-16le"), _) => utf16(body, u16::from_le_bytes),
        // The first 256 characters of Unicode are Latin-1; windows-1252 differs in rare quotes only.
        (Some("iso-8859-1" | "latin1" | "windows-1252"), _) => {
            Ok(Cow::Owned(body.iter().copied().map(char::from).collect()))
        }
        (None | Some("utf-8" | "utf8" | "us-ascii" | ""), _) => match std::str::from_utf8(body) {
            Ok(text) => Ok(Cow::Borrowed(text)),
            Err(error) => {
                Err(Unreadable::Malformed(format!("not utf-8 from byte {} on", error.valid_up_to())))
            }
        },
        (Some(other), _) => Err(Unreadable::Unsupported(format!("charset {other:?}"))),
    }
}

fn utf16(body: &[u8], unit: fn([u8; 2]) -> u16) -> Result<Cow<'static, str>, Unreadable> {
    let malformed = || Unreadable::Malformed("not utf-16".to_owned());
    if !body.len().is_multiple_of(2) {
        return Err(malformed());
    }
    let units: Vec<u16> = body.chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
    String::from_utf16(&units).map(Cow::Owned).map_err(|_| malformed())
}
