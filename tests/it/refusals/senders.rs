//! Every way to prove who sends, over real HTTP.

use data_encoding::{BASE64, HEXLOWER};
use hmac::{KeyInit, Mac};

use crate::support::{Answer, Scene};

const BODY: &[u8] = b"{\"a\":  \"b\" }";

/// One source for each way to prove, all with two secrets: the one in use and the one before.
const RULES: &str = "
sources:
  sha1: { path: /sha1, verify: { hmac: { header: X-Sign, algorithm: sha1, secrets: [new, old] } }, rules: &rules [{ name: all, publish: { topic: t, message: told } }] }
  sha256: { path: /sha256, verify: { hmac: { header: X-Sign, prefix: 'v1=', secrets: [new, old] } }, rules: *rules }
  sha512: { path: /sha512, verify: { hmac: { header: X-Sign, algorithm: sha512, encoding: base64, secrets: [new, old] } }, rules: *rules }
  header: { path: /header, verify: { token: { header: X-Gitlab-Token, secrets: [new, old] } }, rules: *rules }
  query: { path: /query, verify: { token: { query: key, secrets: [new, old] } }, rules: *rules }
  basic: { path: /basic, verify: { basic: { username: arr, passwords: [new, 'old:er'] } }, rules: *rules }
  bearer: { path: /bearer, verify: { bearer: { secrets: [new, old] } }, rules: *rules }
  path: { path: '/path/{key}/{team}', verify: { path_secret: { segment: key, secrets: [new, 'o/ld'] } }, rules: *rules }
";

fn mac<M: Mac + KeyInit>(key: &str) -> Vec<u8> {
    <M as KeyInit>::new_from_slice(key.as_bytes())
        .expect("a key")
        .chain_update(BODY)
        .finalize()
        .into_bytes()
        .to_vec()
}

fn post(scene: &Scene, path: &str, headers: &[(&str, &str)]) -> Answer {
    scene.gateway.post(path, headers, BODY)
}

#[test]
fn every_way_to_prove_takes_both_secrets_and_nothing_else() {
    let scene = Scene::with_rules(RULES);
    let sha1 = |key| HEXLOWER.encode(&mac::<hmac::Hmac<sha1::Sha1>>(key));
    let sha256 = |key| format!("v1={}", HEXLOWER.encode(&mac::<hmac::Hmac<sha2::Sha256>>(key)));
    let sha512 = |key| BASE64.encode(&mac::<hmac::Hmac<sha2::Sha512>>(key));
    let basic = |pair: &str| format!("Basic {}", BASE64.encode(pair.as_bytes()));
    let cases: Vec<(&str, &str, String, u16)> = vec![
        ("/sha1", "X-Sign", sha1("new"), 200),
        ("/sha1", "X-Sign", sha1("old").to_uppercase(), 200),
        ("/sha1", "X-Sign", sha1("other"), 401),
        ("/sha256", "X-Sign", sha256("new"), 200),
        ("/sha256", "x-sign", sha256("old"), 200),
        ("/sha256", "X-Sign", sha256("new").replace("v1=", ""), 401),
        ("/sha512", "X-Sign", sha512("new"), 200),
        ("/sha512", "X-Sign", sha512("old"), 200),
        ("/sha512", "X-Sign", sha512("old").trim_end_matches('=').to_owned(), 401),
        ("/header", "X-Gitlab-Token", "new".to_owned(), 200),
        ("/header", "X-Gitlab-Token", "old".to_owned(), 200),
        ("/header", "X-Gitlab-Token", "New".to_owned(), 401),
        ("/header", "X-Other", "new".to_owned(), 401),
        ("/query?key=new", "X-Other", "1".to_owned(), 200),
        ("/query?a=1&key=%6fld", "X-Other", "1".to_owned(), 200),
        ("/query?key=new&key=new", "X-Other", "1".to_owned(), 401),
        ("/query?key=", "X-Other", "1".to_owned(), 401),
        ("/query", "key", "new".to_owned(), 401),
        ("/basic", "Authorization", basic("arr:new"), 200),
        ("/basic", "Authorization", basic("arr:old:er").replace("Basic", "bASIC"), 200),
        ("/basic", "Authorization", basic("Arr:new"), 401),
        ("/basic", "Authorization", basic("arr:"), 401),
        ("/basic", "Authorization", "Basic %%%".to_owned(), 401),
        ("/basic", "Authorization", "Bearer new".to_owned(), 401),
        ("/bearer", "Authorization", "Bearer new".to_owned(), 200),
        ("/bearer", "Authorization", "bearer old".to_owned(), 200),
        ("/bearer", "Authorization", "Bearer".to_owned(), 401),
        ("/bearer", "Authorization", "new".to_owned(), 401),
        ("/path/new/x", "X-Other", "1".to_owned(), 200),
        ("/path/o%2Fld/x", "X-Other", "1".to_owned(), 200),
        ("/path/x/new", "X-Other", "1".to_owned(), 404),
        ("/path/o/ld/x", "X-Other", "1".to_owned(), 404),
    ];
    for (path, header, value, status) in &cases {
        let answer = post(&scene, path, &[(header, value)]);
        assert_eq!(answer.status, *status, "{path} {header}: {value}");
    }
    let taken = cases.iter().filter(|case| case.3 == 200).count();
    assert_eq!(scene.ntfy.wait_for_messages(taken, crate::support::wait::PATIENCE).len(), taken);
}

#[test]
fn a_refusal_names_the_scheme_where_http_has_one() {
    let scene = Scene::with_rules(RULES);
    let challenge = |path| {
        let answer = post(&scene, path, &[]);
        assert_eq!((answer.status, answer.text.as_str()), (401, r#"{"error":"unauthorized"}"#), "{path}");
        answer.header("WWW-Authenticate").map(str::to_owned)
    };
    assert_eq!(challenge("/basic").as_deref(), Some("Basic realm=\"hookbell\", charset=\"UTF-8\""));
    assert_eq!(challenge("/bearer").as_deref(), Some("Bearer"));
    assert_eq!(challenge("/header"), None);
    assert_eq!(challenge("/sha256"), None);
}

#[test]
fn a_source_without_its_secret_is_not_there() {
    let scene = Scene::start(crate::support::Gateway::shipped().env("GITHUB_WEBHOOK_SECRET", ""));
    assert_eq!(post(&scene, "/hooks/github", &[]).status, 404);
    scene.gateway.wait_for_log("source is off: set GITHUB_WEBHOOK_SECRET to turn it on");
}

#[test]
fn a_scheme_that_only_a_rules_file_knows_proves_and_a_recorded_webhook_does_not() {
    let scene = Scene::with_rules(
        "
sources:
  s:
    path: /s
    verify:
      hmac:
        header: [X-Sign, X-Old-Sign]
        separator: ' '
        prefix: 'v2:'
        signs: '{id}|{timestamp}|{url}|{body}'
        id: X-Id
        url: https://hooks.example.com
        timestamp: { header: X-Time, unit: ms, tolerance: 1m }
        key: base64
        secrets: [whsec_bmV3]
    rules: [{ name: all, publish: { topic: t, message: told } }]
",
    );
    let sign = |id: &str, at: &str, url: &str| {
        let mac = hmac::Hmac::<sha2::Sha256>::new_from_slice(b"new").expect("a key");
        let mac = mac.chain_update(format!("{id}|{at}|{url}|")).chain_update(BODY);
        format!("v1:ignored v2:{}", HEXLOWER.encode(&mac.finalize().into_bytes()))
    };
    let post = |header: &str, signature: &str, at: &str| {
        let headers = [(header, signature), ("X-Id", "7"), ("X-Time", at)];
        scene.gateway.post("/s?team=a", &headers, BODY).status
    };
    let now = hookbell::clock::unix_ms();
    let (fresh, stale) = (now.to_string(), (now - 120_000).to_string());
    let url = "https://hooks.example.com/s?team=a";
    assert_eq!(post("X-Sign", &sign("7", &fresh, url), &fresh), 200);
    assert_eq!(post("X-Old-Sign", &sign("7", &fresh, url), &fresh), 200);
    assert_eq!(post("X-Sign", &sign("7", &stale, url), &stale), 401, "recorded");
    assert_eq!(post("X-Sign", &sign("7", &stale, url), &fresh), 401, "another time");
    assert_eq!(post("X-Sign", &sign("8", &fresh, url), &fresh), 401, "another id");
    assert_eq!(post("X-Sign", &sign("7", &fresh, "https://hooks.example.com/s?team=b"), &fresh), 401);
    assert_eq!(post("X-Other", &sign("7", &fresh, url), &fresh), 401);
}
