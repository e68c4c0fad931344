//! Bodies: broken, odd, compressed, too large.

use std::io::Write;

use flate2::Compression;
use serde_json::json;

use super::{error, unharmed};
use crate::support::gateway::{SECRET, sign_github};
use crate::support::{Answer, Scene};

const MIB: usize = 1024 * 1024;
const LIMIT: &str = "body too large: the limit is 1048576 bytes";

type Headers<'a> = &'a [(&'a str, &'a str)];

/// Posts a signed ping.
fn ping(scene: &Scene, headers: &[(&str, &str)], body: &[u8]) -> Answer {
    let signature = sign_github(SECRET, body);
    let mut all = vec![("X-GitHub-Event", "ping"), ("X-Hub-Signature-256", &signature)];
    all.extend(headers);
    scene.gateway.post("/hooks/github", &all, body)
}

pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).expect("to compress");
    encoder.finish().expect("to compress")
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).expect("to compress");
    encoder.finish().expect("to compress")
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).expect("to compress");
    encoder.finish().expect("to compress")
}

fn nested(depth: usize) -> Vec<u8> {
    format!("{}{}", "[".repeat(depth), "]".repeat(depth)).into_bytes()
}

#[test]
fn a_body_that_cannot_be_read_is_refused() {
    let scene = Scene::shipped();
    let json = ("Content-Type", "application/json");
    let deep = nested(128);
    let deep_objects = format!("{}1{}", "{\"a\":".repeat(200), "}".repeat(200));
    let bomb = gzip(&vec![b' '; 50 * MIB]);
    let large = vec![b'1'; MIB + 1];
    let not_gzip = gzip(b"{}")[..12].to_vec();
    let cases: &[(&[u8], Headers<'_>, u16, &str)] = &[
        (b"{", &[json], 400, "malformed body: json ends too early at line 1 column 1"),
        (b"{\"a\":1}x", &[json], 400, "malformed body: invalid json at line 1 column 8"),
        (b"{'a':1}", &[json], 400, "malformed body: invalid json at line 1 column 2"),
        (b"NaN", &[json], 400, "malformed body: invalid json at line 1 column 1"),
        (b"\"\xff\"", &[json], 400, "malformed body: not utf-8 from byte 1 on"),
        (b"\xff\xfe\x00", &[json], 400, "malformed body: not utf-16"),
        (&deep, &[json], 400, "malformed body: json nested deeper than 128 levels at line 1 column 128"),
        (
            deep_objects.as_bytes(),
            &[json],
            400,
            "malformed body: json nested deeper than 128 levels at line 1 column 636",
        ),
        (
            b"payload={",
            &[("Content-Type", "application/x-www-form-urlencoded")],
            400,
            "malformed body: json ends too early at line 1 column 1",
        ),
        (b"{}", &[("Content-Encoding", "gzip"), json], 400, "malformed body: its compression is broken"),
        (&not_gzip, &[("Content-Encoding", "gzip"), json], 400, "malformed body: its compression is broken"),
        (b"{}", &[("Content-Encoding", "deflate"), json], 400, "malformed body: its compression is broken"),
        (b"{}", &[("Content-Encoding", "br"), json], 415, "unsupported content encoding \"br\""),
        (b"{}", &[("Content-Encoding", "gzip, zstd"), json], 415, "unsupported content encoding \"zstd\""),
        (
            b"{}",
            &[("Content-Type", "application/json; charset=klingon")],
            415,
            "unsupported charset \"klingon\"",
        ),
        (b"PNG", &[("Content-Type", "image/png")], 415, "unsupported content type \"image/png\""),
        (
            b"--x",
            &[("Content-Type", "multipart/form-data; boundary=x")],
            400,
            "malformed body: multipart: its last part has no end",
        ),
        (
            b"--x",
            &[("Content-Type", "multipart/form-data")],
            415,
            "unsupported multipart body without a boundary",
        ),
        (b"<a>", &[("Content-Type", "text/xml")], 400, "malformed body: xml: it ends too early"),
        (&large, &[json], 413, LIMIT),
        (&bomb, &[("Content-Encoding", "gzip"), json], 413, LIMIT),
    ];
    for (body, headers, status, text) in cases {
        let shown = String::from_utf8_lossy(&body[..body.len().min(40)]).into_owned();
        assert_eq!(error(&ping(&scene, headers, body)), (*status, (*text).to_owned()), "{shown} {headers:?}");
    }
    unharmed(&scene);
}

#[test]
fn odd_but_readable_bodies_are_taken() {
    let scene = Scene::shipped();
    let plain: &[u8] = br#"{"zen":"Keep it logically awesome."}"#;
    let bom = [b"\xef\xbb\xbf", plain].concat();
    let utf16: Vec<u8> = std::iter::once(0xfeff)
        .chain(str::from_utf8(plain).expect("text").encode_utf16())
        .flat_map(u16::to_le_bytes)
        .collect();
    let (gzipped, zlibbed, deflated) = (gzip(plain), zlib(plain), deflate(plain));
    let twice = gzip(&gzipped);
    let cases: &[(&[u8], Headers<'_>)] = &[
        (plain, &[]),
        (plain, &[("Content-Type", "")]),
        (plain, &[("Content-Type", "text/plain; charset=utf-8")]),
        (plain, &[("Content-Type", "application/vnd.github+json")]),
        (plain, &[("Content-Type", "application/octet-stream")]),
        (plain, &[("Content-Type", "application/x-www-form-urlencoded")]),
        (plain, &[("Content-Type", "image/png")]),
        (plain, &[("Content-Type", "APPLICATION/JSON;charset=\"UTF-8\"")]),
        (&bom, &[("Content-Type", "application/json")]),
        (&utf16, &[("Content-Type", "application/json")]),
        (&gzipped, &[("Content-Encoding", "gzip")]),
        (&gzipped, &[("Content-Encoding", "X-GZIP")]),
        (&zlibbed, &[("Content-Encoding", "deflate")]),
        (&deflated, &[("Content-Encoding", "deflate")]),
        (&twice, &[("Content-Encoding", "gzip, gzip")]),
        (plain, &[("Content-Encoding", "identity")]),
    ];
    for (body, headers) in cases {
        let told = scene.arrivals(|| ping(&scene, headers, body));
        assert_eq!(told.len(), 1, "{headers:?}");
        assert_eq!(told[0]["message"], "Webhook connected\nKeep it logically awesome.", "{headers:?}");
    }
    let empty = scene.arrivals(|| ping(&scene, &[("Content-Type", "application/json")], b""));
    assert_eq!(empty[0]["message"], "Webhook connected");
}

#[test]
fn json_may_be_127_levels_deep_and_a_body_one_mebibyte_long() {
    let scene = Scene::shipped();
    let told = scene.arrivals(|| ping(&scene, &[("Content-Type", "application/json")], &nested(127)));
    assert_eq!(told.len(), 1);
    let mut whole = br#"{"zen":"x"}"#.to_vec();
    whole.resize(MIB, b' ');
    let told = scene.arrivals(|| ping(&scene, &[("Content-Type", "application/json")], &whole));
    assert_eq!(told[0]["message"], "Webhook connected\nx");
    whole.truncate(MIB / 2);
    let told = scene.arrivals(|| ping(&scene, &[("Content-Type", "application/json")], &whole));
    assert_eq!(told[0]["message"], "Webhook connected\nx");
}

#[test]
fn a_body_that_is_no_message_of_coolifys_is_shown() {
    let scene = Scene::shipped();
    let path = format!("/hooks/coolify/{SECRET}");
    let headers = [("Content-Type", "application/json"), ("Content-Encoding", "gzip")];
    let told = scene.post(&path, &headers, gzip(b"{\"broken\": "));
    assert_eq!(told[0]["message"], "{\"broken\":");
    for (body, shown) in [("", "(empty body)"), ("disk\nfull\n", "disk\nfull"), ("{}", "{}"), ("7", "7")] {
        let told = scene.post(&path, &[], body);
        let expected = json!([{
            "event": "message", "topic": "coolify", "title": "Coolify", "message": shown, "priority": 3, "tags": ["warning"],
        }]);
        assert_eq!(json!(told), expected, "{body:?}");
    }
}

#[test]
fn whatever_a_title_holds_arrives_as_text_and_nothing_else() {
    let scene = Scene::with_rules(
        "sources:\n  all:\n    path: /hooks/all\n    rules:\n      - name: all\n        publish: { topic: t, title: '{{body.t}}', message: '{{body.m}}', tags: ['{{body.tag}}'] }\n",
    );
    let title = "Zażółć, \"gęślą\" 🚀; a=b\r\nX-Priority: 5\r\n\r\nX-Email: x@example.com";
    let body = json!({ "t": title, "m": "a\r\nb\n\nc\t\u{0} d <b>&amp;", "tag": "one,two" });
    let told = scene.post("/hooks/all", &[("Content-Type", "application/json")], body.to_string());
    let expected = json!([{
        "event": "message", "topic": "t", "message": "a\r\nb\n\nc\t\u{0} d <b>&amp;", "tags": ["one", "two"],
        // A title is one line.
        "title": "Zażółć, \"gęślą\" 🚀; a=b X-Priority: 5 X-Email: x@example.com",
    }]);
    assert_eq!(json!(told), expected);
}
