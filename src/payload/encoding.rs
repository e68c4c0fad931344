//! `Content-Encoding` (RFC 9110, 8.4).

use std::borrow::Cow;
use std::io::Read;

use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

use super::Unreadable;

/// More layers than any sender uses are an attack.
const MOST_LAYERS: usize = 3;

/// Undoes every encoding the header names. `limit` counts unpacked bytes, so a small bomb stops at it.
pub fn unpack<'a>(raw: &'a [u8], encodings: Option<&str>, limit: usize) -> Result<Cow<'a, [u8]>, Unreadable> {
    let names: Vec<String> = encodings
        .unwrap_or_default()
        .split(',')
        .map(|name| name.trim().to_ascii_lowercase())
        .filter(|name| !name.is_empty() && name != "identity")
        .collect();
    if names.len() > MOST_LAYERS {
        return Err(Unreadable::Unsupported(format!("number of content encodings: {}", names.len())));
    }
    let mut body = Cow::Borrowed(raw);
    // Listed in the order in which they were applied.
    for name in names.iter().rev() {
        body = Cow::Owned(match name.as_str() {
            "gzip" | "x-gzip" => inflate(MultiGzDecoder::new(&*body), limit)?,
            "deflate" => inflate_deflate(&body, limit)?,
            other => return Err(Unreadable::Unsupported(format!("content encoding {other:?}"))),
        });
    }
    if body.len() > limit { Err(Unreadable::TooLarge { limit }) } else { Ok(body) }
}

/// RFC 9110 means zlib by it, but some senders write raw deflate.
fn inflate_deflate(body: &[u8], limit: usize) -> Result<Vec<u8>, Unreadable> {
    match inflate(ZlibDecoder::new(body), limit) {
        Err(Unreadable::Malformed(_)) => inflate(DeflateDecoder::new(body), limit),
        done => done,
    }
}

fn inflate(decoder: impl Read, limit: usize) -> Result<Vec<u8>, Unreadable> {
    let mut body = Vec::new();
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    decoder
        .take(most)
        .read_to_end(&mut body)
        .map_err(|_| Unreadable::Malformed("its compression is broken".to_owned()))?;
    if body.len() > limit { Err(Unreadable::TooLarge { limit }) } else { Ok(body) }
}
