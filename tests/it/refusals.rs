//! What the gateway does not take, and how it says so. Whatever comes, it answers, sends nothing, and lives on.

mod bodies;
mod secrecy;
mod senders;
mod wire;

use crate::support::gateway::{SECRET, sign_github};
use crate::support::wire::exchange;
use crate::support::{Answer, Scene};

const BODY: &[u8] = br#"{"zen":"Keep it logically awesome."}"#;

/// Nothing arrived, nothing waits, and a good webhook is still taken.
fn unharmed(scene: &Scene) {
    let waiting = scene.gateway.metric("hookbell_queue_depth");
    assert_eq!((scene.ntfy.messages().len(), waiting), (0, Some(0.0)));
    let ping = [("X-GitHub-Event".to_owned(), "ping".to_owned())];
    assert_eq!(scene.post_github(&ping, BODY).len(), 1);
}

fn error(answer: &Answer) -> (u16, String) {
    (answer.status, answer.json()["error"].as_str().unwrap_or_default().to_owned())
}

#[test]
fn an_unknown_path_is_not_found() {
    let scene = Scene::shipped();
    for path in [
        "/",
        "/hooks",
        "/hooks/",
        "/hooks/github/",
        "//hooks/github",
        "/hooks%2Fgithub",
        "/HOOKS/github",
        "/hooks/coolify",
        "/hooks/coolify/",
        "/hooks/x/../github",
        "/hooks/%2e%2e/hooks/github",
        "/hooks/coolify/../github",
        "/metrics",
        "/healthz",
        "/readyz",
        "/-/reload",
    ] {
        let answer = scene.gateway.post(path, &[], BODY);
        assert_eq!(error(&answer), (404, "not found".to_owned()), "{path}");
    }
    unharmed(&scene);
}

#[test]
fn another_method_is_not_allowed_and_the_right_one_is_named() {
    let scene = Scene::shipped();
    for method in ["GET", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"] {
        let answer = scene.gateway.request(method, "/hooks/github", &[], b"");
        assert_eq!(error(&answer), (405, "method not allowed: use POST".to_owned()), "{method}");
        assert_eq!(answer.header("Allow"), Some("POST"), "{method}");
    }
    let head = scene.gateway.request("HEAD", "/hooks/github", &[], b"");
    assert_eq!((head.status, head.header("Allow"), head.text.as_str()), (405, Some("POST"), ""));
    unharmed(&scene);
}

#[test]
fn a_webhook_that_proves_nothing_is_refused() {
    let scene = Scene::shipped();
    let right = sign_github(SECRET, BODY);
    let bare = right.trim_start_matches("sha256=");
    let cut = &right[..right.len() - 2];
    let wrong_key = sign_github("another", BODY);
    let wrong_body = sign_github(SECRET, b"{}");
    let sha1 = format!("sha1={bare}");
    let doubled = format!("{right},{right}");
    let longer = format!("{right}00");
    let name = "X-Hub-Signature-256";
    let cases: &[(&str, &[(&str, &str)])] = &[
        ("missing", &[]),
        ("only the old one", &[("X-Hub-Signature", &sha1)]),
        ("empty", &[(name, "")]),
        ("prefix alone", &[(name, "sha256=")]),
        ("without prefix", &[(name, bare)]),
        ("other prefix", &[(name, &sha1)]),
        ("no hex", &[(name, "sha256=zz")]),
        ("cut short", &[(name, cut)]),
        ("too long", &[(name, &longer)]),
        ("another key", &[(name, &wrong_key)]),
        ("another body", &[(name, &wrong_body)]),
        ("twice in a line", &[(name, &doubled)]),
        ("twice", &[(name, &right), (name, &right)]),
        ("right and wrong", &[(name, &right), (name, &wrong_key)]),
        ("in the query", &[("X-Unrelated", &right)]),
    ];
    for (what, headers) in cases {
        let mut headers = headers.to_vec();
        headers.push(("X-GitHub-Event", "ping"));
        let answer = scene.gateway.post("/hooks/github", &headers, BODY);
        assert_eq!(error(&answer), (401, "unauthorized".to_owned()), "{what}");
    }
    assert_eq!(
        scene.gateway.metric(r#"hookbell_webhooks_total{source="github",outcome="Refused"}"#),
        Some(15.0)
    );
    unharmed(&scene);
}

#[test]
fn a_wrong_secret_in_a_path_looks_like_an_unknown_path() {
    let scene = Scene::shipped();
    let essence = |answer: Answer| {
        let mut headers = answer.headers;
        headers.retain(|(name, _)| name != "date");
        (answer.status, headers, answer.text)
    };
    let unknown = essence(scene.gateway.post("/nobody/lives/here", &[], BODY));
    let unknown_get = essence(scene.gateway.request("GET", "/nobody/lives/here", &[], b""));
    let longer = format!("/hooks/coolify/{SECRET}x");
    let deeper = format!("/hooks/coolify/{SECRET}/x");
    let encoded_slash = format!("/hooks/coolify/{SECRET}%2F");
    for path in
        ["/hooks/coolify/wrong", "/hooks/coolify/%00", "/hooks/coolify/%ff", &longer, &deeper, &encoded_slash]
    {
        assert_eq!(essence(scene.gateway.post(path, &[], BODY)), unknown, "{path}");
        let broken = scene.gateway.post(path, &[("Content-Type", "application/json")], "{");
        assert_eq!(essence(broken), unknown, "{path} with a broken body");
        let get = scene.gateway.request("GET", path, &[], b"");
        assert_eq!(essence(get), unknown_get, "GET {path}");
    }
    assert_eq!(announced_too_large(&scene, "/hooks/coolify/wrong"), announced_too_large(&scene, "/nobody"));
    let method = scene.gateway.request("GET", &format!("/hooks/coolify/{SECRET}"), &[], b"");
    assert_eq!(essence(method), unknown_get);
    unharmed(&scene);
}

/// The answer to a body far over the limit, without its date.
fn announced_too_large(scene: &Scene, path: &str) -> Vec<String> {
    let request = format!("POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n");
    let answer = exchange(scene.gateway.webhooks, request.as_bytes());
    answer.lines().filter(|line| !line.starts_with("date:")).map(str::to_owned).collect()
}
