//! Any body under any content type and encoding is read or refused, within the limit.
#![no_main]

use hookbell::payload::{decode, fields, unpack};
use libfuzzer_sys::fuzz_target;

const LIMIT: usize = 64 * 1024;
const TYPES: [&str; 14] = [
    "application/json",
    "application/x-www-form-urlencoded",
    "text/plain",
    "text/plain; charset=utf-16",
    "application/json; charset=iso-8859-1",
    "application/octet-stream",
    "",
    "multipart/form-data; boundary=b",
    "multipart/form-data; boundary=\"\"",
    "application/xml",
    "text/xml; charset=utf-16le",
    "application/x-ndjson",
    "application/cloudevents+json",
    "application/cloudevents-batch+json",
];
const ENCODINGS: [&str; 5] = ["", "gzip", "deflate", "deflate, gzip", "identity"];

fuzz_target!(|input: (u8, u8, Option<&str>, &[u8])| {
    let (kind, encoding, own, body) = input;
    let encoding = ENCODINGS[usize::from(encoding) % ENCODINGS.len()];
    let kind = own.unwrap_or(TYPES[usize::from(kind) % TYPES.len()]);
    if let Ok(unpacked) = unpack(body, Some(encoding), LIMIT) {
        assert!(unpacked.len() <= LIMIT);
        let _ = decode(&unpacked, Some(kind));
    }
    if let Ok(text) = std::str::from_utf8(body) {
        let pair = |part: &str| part.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
        let query: Vec<(String, String)> = text.split('&').filter_map(pair).collect();
        let _ = fields(&query);
    }
});
