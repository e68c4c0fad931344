//! Any body under any content type and encoding is read or refused, within the limit.
#![no_main]

use hookbell::payload::{decode, unpack};
use libfuzzer_sys::fuzz_target;

const LIMIT: usize = 64 * 1024;
const TYPES: [&str; 7] = [
    "application/json",
    "application/x-www-form-urlencoded",
    "text/plain",
    "text/plain; charset=utf-16",
    "application/json; charset=iso-8859-1",
    "application/octet-stream",
    "",
];
const ENCODINGS: [&str; 5] = ["", "gzip", "deflate", "deflate, gzip", "identity"];

fuzz_target!(|input: (u8, u8, &[u8])| {
    let (kind, encoding, body) = input;
    let encoding = ENCODINGS[usize::from(encoding) % ENCODINGS.len()];
    if let Ok(unpacked) = unpack(body, Some(encoding), LIMIT) {
        assert!(unpacked.len() <= LIMIT);
        let _ = decode(&unpacked, Some(TYPES[usize::from(kind) % TYPES.len()]));
    }
});
