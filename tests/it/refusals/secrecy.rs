//! Secrets stay where they belong: no template, no answer and no log line holds one.

use serde_json::{Value, json};

use crate::support::{Gateway, Scene};

/// Each source shows everything a template can see of a request but its body.
const RULES: &str = "
servers: { default: { url: { env: NTFY_URL }, token: tk_the_ntfy_token_s3cret } }
sources:
  header: { path: /header, verify: { token: { header: X-Token, secrets: [header-s3cret] } }, rules: &rules [{ name: show, publish: { topic: t, message: '{{json headers}} {{json query}} {{json path}}', title: '{{headers.x-token}}{{query.key}}{{path.key}}' } }] }
  query: { path: /query, verify: { token: { query: key, secrets: [query-s3cret] } }, rules: *rules }
  basic: { path: /basic, verify: { basic: { username: me, passwords: [basic-s3cret] } }, rules: *rules }
  bearer: { path: /bearer, verify: { bearer: { secrets: [bearer-s3cret] } }, rules: *rules }
  path: { path: '/path/{key}/{team}', verify: { path_secret: { segment: key, secrets: [path-s3cret] } }, rules: *rules }
  broken: { path: '/broken/{key}', verify: { path_secret: { segment: key, secrets: [path-s3cret] } }, rules: [{ name: broken, publish: { topic: t, message: x, priority: '{{body.p}}' } }] }
";

/// `me:basic-s3cret` in base64.
const PAIR: &str = "bWU6YmFzaWMtczNjcmV0";

fn start() -> Scene {
    Scene::start(Gateway::with_rules(RULES).env("RUST_LOG", "debug"))
}

fn shown(message: &Value) -> String {
    let text = message.to_string();
    assert!(!text.contains("s3cret") && !text.contains(PAIR), "{text}");
    message["message"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn no_template_sees_a_secret_or_a_cookie() {
    let scene = start();
    let cookie = ("Cookie", "session=cookie-s3cret");
    let basic = format!("Basic {PAIR}");
    let cases: [(&str, &[(&str, &str)]); 5] = [
        ("/header", &[cookie, ("X-Token", "header-s3cret"), ("X-Seen", "1")]),
        ("/query?key=query-s3cret&seen=1", &[cookie]),
        ("/basic?seen=1", &[cookie, ("Authorization", &basic)]),
        ("/bearer?seen=1", &[cookie, ("Authorization", "Bearer bearer-s3cret")]),
        ("/path/path-s3cret/seen", &[cookie]),
    ];
    for (path, headers) in cases {
        let told = scene.post(path, headers, "{}");
        assert!(shown(&told[0]).contains("seen"), "{path}: {told:#?}");
    }
}

#[test]
fn a_failed_rule_tells_of_it_without_its_secrets() {
    let scene = start();
    let told = scene.post("/broken/path-s3cret", &[("Content-Type", "application/json")], r#"{"p":"loud"}"#);
    let expected = json!([{
        "event": "message", "topic": "t", "title": "Hookbell: a rule failed", "priority": 4, "tags": ["warning"],
        "message": told[0]["message"],
    }]);
    assert_eq!(json!(told), expected);
    let text = shown(&told[0]);
    assert!(text.starts_with("Rule \"broken\" of source \"broken\" failed\npriority: "), "{text}");
    assert!(text.ends_with("\n\n{\"p\":\"loud\"}"), "{text}");
}

#[test]
fn no_log_line_holds_a_secret_even_when_debugging() {
    let scene = start();
    let wrong = "wrong-s3cret";
    let basic = format!("Basic {PAIR}");
    let bearer = format!("Bearer {wrong}");
    let requests: [(&str, &[(&str, &str)]); 9] = [
        ("/header", &[("X-Token", "header-s3cret")]),
        ("/header", &[("X-Token", wrong)]),
        ("/query?key=query-s3cret", &[]),
        ("/query?key=wrong-s3cret", &[]),
        ("/basic", &[("Authorization", &basic)]),
        ("/bearer", &[("Authorization", &bearer)]),
        ("/path/path-s3cret/x", &[]),
        ("/path/wrong-s3cret/x", &[]),
        ("/paht/path-s3cret/x?key=query-s3cret", &[]),
    ];
    for (path, headers) in requests {
        scene.gateway.post(path, headers, "{\"password\":\"body-s3cret\"}");
        scene.gateway.post(path, headers, "{\"password\":\"body-s3cret");
        scene.gateway.request("GET", path, headers, b"");
    }
    scene.ntfy.set(fake_ntfy::Behaviour { status: Some((401, 40101)), ..fake_ntfy::Behaviour::default() });
    scene.gateway.post("/header", &[("X-Token", "header-s3cret")], "{}");
    crate::support::wait::until("a refused delivery", || (scene.ntfy.stats().refused > 0).then_some(()));
    scene.gateway.wait_for_log("webhook accepted");
    assert_eq!(scene.gateway.admin("POST", "/-/reload").status, 200);
    for page in ["/metrics", "/readyz"] {
        assert!(!scene.gateway.admin("GET", page).text.contains("s3cret"), "{page}");
    }
    let log = scene.gateway.log();
    assert!(log.len() > 20, "too little was logged: {}", log.len());
    for line in log {
        let line = line.to_string();
        assert!(!line.contains("s3cret") && !line.contains(PAIR), "{line}");
    }
}
