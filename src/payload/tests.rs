use std::io::Write;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn malformed(reason: &str) -> Result<Value, Unreadable> {
    Err(Unreadable::Malformed(reason.to_owned()))
}

#[test]
fn json_is_read_whatever_it_is_called() {
    let body = r#"{"a":"é","n":12345678901234567890}"#;
    let expected = json!({"a": "é", "n": 12_345_678_901_234_567_890_u64});
    for content_type in [
        None,
        Some(""),
        Some("application/json"),
        Some("APPLICATION/JSON; charset=utf-8"),
        Some("application/vnd.github+json"),
        Some("text/plain; charset=utf-8"),
        Some("application/octet-stream"),
        Some("application/x-www-form-urlencoded"),
    ] {
        assert_eq!(decode(body.as_bytes(), content_type), Ok(expected.clone()), "{content_type:?}");
    }
    assert_eq!(decode(format!("\u{feff}{body}").as_bytes(), Some("application/json")), Ok(expected));
    assert_eq!(decode(b"[1]", None), Ok(json!([1])));
    assert_eq!(decode(b"", Some("application/json")), Ok(Value::Null));
    assert_eq!(decode(b" \r\n", None), Ok(Value::Null));
}

#[test]
fn broken_json_is_malformed_and_its_text_is_not_repeated() {
    let json = Some("application/json");
    assert_eq!(decode(b"{\"secret\":", json), malformed("json ends too early at line 1 column 10"));
    assert_eq!(decode(b"{\"secret\" x}", json), malformed("invalid json at line 1 column 11"));
    assert_eq!(decode(b"hello", json), malformed("invalid json at line 1 column 1"));
    assert_eq!(decode(b"\xff{}", json), malformed("not utf-8 from byte 0 on"));
    let deep = "[".repeat(200) + &"]".repeat(200);
    assert_eq!(
        decode(deep.as_bytes(), json),
        malformed("json nested deeper than 128 levels at line 1 column 128")
    );
    let within = "[".repeat(127) + &"]".repeat(127);
    assert!(decode(within.as_bytes(), json).is_ok());
}

#[test]
fn a_form_is_its_payload_or_its_fields() {
    let form = Some("application/x-www-form-urlencoded");
    assert_eq!(decode(b"payload=%7B%22a%22%3A1%7D", form), Ok(json!({"a": 1})));
    assert_eq!(decode(b"token=x&payload=%7B%22a%22%3A1%7D", form), Ok(json!({"a": 1})));
    assert_eq!(decode(b"a=1&b=two+words&a=%C3%A9", form), Ok(json!({"a": ["1", "é"], "b": "two words"})));
    assert_eq!(decode(b"payload=plain", form), Ok(json!({"payload": "plain"})));
    assert_eq!(decode(b"payload=%7B%22a%22", form), malformed("json ends too early at line 1 column 4"));
    assert_eq!(decode(b"payload=%7B%7D", Some("application/json")), Ok(json!({})));
}

#[test]
fn a_value_a_line_is_a_list_and_xml_and_multipart_are_read() {
    for content_type in ["application/x-ndjson", "application/jsonl; charset=utf-8"] {
        assert_eq!(decode(b"{\"a\":1}\n\n[2]\r\n", Some(content_type)), Ok(json!([{"a": 1}, [2]])));
    }
    let broken = malformed("line 2: json ends too early at line 1 column 1");
    assert_eq!(decode(b"1\n{", Some("application/x-ndjson")), broken);
    for content_type in ["text/xml", "application/xml; charset=utf-8", "application/atom+xml"] {
        assert_eq!(decode(b"<a>1</a>", Some(content_type)), Ok(json!({"a": "1"})), "{content_type}");
    }
    let form = b"--x\r\nContent-Disposition: form-data; name=\"a.b\"\r\n\r\n1\r\n--x--\r\n";
    assert_eq!(decode(form, Some("multipart/form-data; boundary=x")), Ok(json!({"a": {"b": "1"}})));
    let without = Err(Unreadable::Unsupported("multipart body without a boundary".to_owned()));
    assert_eq!(decode(form, Some("multipart/form-data")), without);
}

#[test]
fn text_stays_text_and_binary_is_refused() {
    assert_eq!(decode("Ünit 1 ist da\n".as_bytes(), Some("text/plain")), Ok(json!("Ünit 1 ist da\n")));
    assert_eq!(decode(b"{ not json", Some("text/plain")), Ok(json!("{ not json")));
    assert_eq!(decode(b"disk full", None), Ok(json!("disk full")));
    assert_eq!(
        decode(b"PNG", Some("image/png")),
        Err(Unreadable::Unsupported("content type \"image/png\"".to_owned()))
    );
    assert_eq!(
        decode(b"x", Some("text/plain; charset=koi8-r")),
        Err(Unreadable::Unsupported("charset \"koi8-r\"".to_owned()))
    );
}

#[test]
fn other_charsets_are_read() {
    assert_eq!(
        decode(b"{\"a\":\"\xe9\"}", Some("application/json; charset=ISO-8859-1")),
        Ok(json!({"a": "é"}))
    );
    let utf16: Vec<u8> =
        [0xff, 0xfe].into_iter().chain("{\"a\":1}".encode_utf16().flat_map(u16::to_le_bytes)).collect();
    assert_eq!(decode(&utf16, Some("application/json")), Ok(json!({"a": 1})));
}

fn packed(name: &str, body: &[u8]) -> Vec<u8> {
    let finish = |result: std::io::Result<Vec<u8>>| result.expect("packing into memory");
    macro_rules! pack {
        ($encoder:ident) => {{
            let mut encoder = $encoder::new(Vec::new(), Compression::best());
            encoder.write_all(body).expect("packing into memory");
            finish(encoder.finish())
        }};
    }
    match name {
        "gzip" => pack!(GzEncoder),
        "zlib" => pack!(ZlibEncoder),
        _ => pack!(DeflateEncoder),
    }
}

#[test]
fn packed_bodies_are_unpacked_up_to_the_limit() {
    let body = b"{\"a\":1}".repeat(10);
    for (header, packing) in [("gzip", "gzip"), ("X-GZip", "gzip"), ("deflate", "zlib"), ("deflate", "raw")] {
        let raw = packed(packing, &body);
        assert_eq!(unpack(&raw, Some(header), 70).as_deref(), Ok(body.as_slice()), "{header} {packing}");
        assert_eq!(unpack(&raw, Some(header), 69), Err(Unreadable::TooLarge { limit: 69 }));
    }
    let twice = packed("gzip", &packed("zlib", &body));
    assert_eq!(unpack(&twice, Some("deflate, gzip"), 1000).as_deref(), Ok(body.as_slice()));
    assert_eq!(unpack(&body, Some("identity"), 1000).as_deref(), Ok(body.as_slice()));
    assert_eq!(unpack(&body, None, 10), Err(Unreadable::TooLarge { limit: 10 }));
    let bomb = packed("gzip", &vec![0; 10_000_000]);
    assert!(bomb.len() < 20_000);
    assert_eq!(unpack(&bomb, Some("gzip"), 1 << 20), Err(Unreadable::TooLarge { limit: 1 << 20 }));
}

#[test]
fn broken_and_unknown_packings_are_refused() {
    let broken = Unreadable::Malformed("its compression is broken".to_owned());
    assert_eq!(unpack(b"nonsense", Some("gzip"), 100), Err(broken.clone()));
    assert_eq!(unpack(&packed("gzip", b"abcdef")[..12], Some("gzip"), 100), Err(broken));
    assert_eq!(
        unpack(b"x", Some("br"), 100),
        Err(Unreadable::Unsupported("content encoding \"br\"".to_owned()))
    );
    assert_eq!(
        unpack(b"x", Some("gzip, gzip, gzip, gzip"), 100),
        Err(Unreadable::Unsupported("number of content encodings: 4".to_owned()))
    );
}

proptest! {
    #[test]
    fn no_body_and_no_content_type_panics(body in proptest::collection::vec(any::<u8>(), 0..300), content_type in ".{0,60}") {
        let _ = decode(&body, Some(&content_type));
        for known in [
            "application/json",
            "application/x-www-form-urlencoded",
            "text/plain; charset=utf-16",
            "text/xml",
            "application/x-ndjson",
            "multipart/form-data; boundary=a",
        ] {
            let _ = decode(&body, Some(known));
        }
    }

    #[test]
    fn unpacking_never_exceeds_its_limit(body in proptest::collection::vec(any::<u8>(), 0..300), limit in 0usize..200) {
        for (header, raw) in [("gzip", packed("gzip", &body)), ("gzip", body.clone()), ("deflate", body.clone())] {
            if let Ok(unpacked) = unpack(&raw, Some(header), limit) {
                prop_assert!(unpacked.len() <= limit);
            }
        }
    }
}
