//! What senders are answered, where the rules say that: handshakes and picky senders.

use hmac::{KeyInit, Mac};
use serde_json::{Value, json};

use crate::support::{Answer, Scene};

const RULES: &str = "
sources:
  slack:
    path: /slack
    rules:
      - { name: handshake, when: { $.type: url_verification }, respond: { content_type: text/plain, body: '{{body.challenge}}' } }
      - { name: message, publish: { topic: slack, message: '{{body.text}}' } }
  meta:
    path: /meta
    methods: [GET, POST]
    rules:
      - name: handshake
        when: { $.hub.mode: subscribe, $.hub.verify_token: sesame }
        respond: { content_type: text/plain, body: '{{query.[hub.challenge]}}' }
      - { name: a stranger, when: { method: GET }, respond: { status: 403, content_type: text/plain, body: no } }
      - { name: change, publish: { topic: meta, message: '{{body.object}}' } }
  microsoft:
    path: /microsoft
    rules:
      - { name: handshake, when: { query.validationToken: { exists: true } }, respond: { content_type: text/plain, body: '{{query.validationToken}}' } }
      - { name: change, publish: { topic: microsoft, message: '{{body.text}}' } }
  dropbox:
    path: /dropbox
    methods: [GET, POST]
    rules:
      - { name: handshake, when: { method: GET }, respond: { content_type: text/plain, body: '{{query.challenge}}' } }
      - { name: change, publish: { topic: dropbox, message: changed } }
  picky:
    path: /picky
    respond: { status: 204 }
    rules:
      - { name: receipt, when: { $.n: 1 }, publish: { topic: picky, message: m }, respond: { status: 202, body: '{\"ok\":{{body.n}}}' } }
      - { name: all, publish: { topic: picky, message: m } }
";

fn told(answer: &Answer) -> (u16, Option<&str>, &str) {
    (answer.status, answer.header("content-type"), answer.text.as_str())
}

#[test]
fn the_handshakes_of_five_senders_are_answered_as_they_want_them() {
    let scene = Scene::with_rules(RULES);
    let ask = |method: &str, path: &str, body: Value| {
        scene.gateway.request(
            method,
            path,
            &[("content-type", "application/json")],
            body.to_string().as_bytes(),
        )
    };
    let plain = Some("text/plain");
    let slack = ask("POST", "/slack", json!({ "type": "url_verification", "challenge": "3eZb<&>" }));
    assert_eq!(told(&slack), (200, plain, "3eZb<&>"));
    let get = |path: &str| scene.gateway.request("GET", path, &[], b"");
    let meta = get("/meta?hub.mode=subscribe&hub.verify_token=sesame&hub.challenge=1158201444");
    assert_eq!(told(&meta), (200, plain, "1158201444"));
    assert_eq!(told(&get("/meta?hub.mode=subscribe&hub.verify_token=wrong")), (403, plain, "no"));
    let microsoft = scene.gateway.post("/microsoft?validationToken=Validation%3A+x", &[], "");
    assert_eq!(told(&microsoft), (200, plain, "Validation: x"));
    assert_eq!(told(&get("/dropbox?challenge=abc")), (200, plain, "abc"));
    assert!(scene.ntfy.messages().is_empty(), "handshakes are no news");
    assert_eq!(scene.post("/slack", &[], "{\"text\":\"hi\"}")[0]["message"], "hi");
}

#[test]
fn a_rule_s_answer_goes_before_its_source_s_and_a_repeat_is_answered_alike() {
    let scene = Scene::with_rules(RULES);
    let post = |body: &str| scene.gateway.post("/picky", &[], body);
    assert_eq!(told(&post("{\"n\":1}")), (202, Some("application/json"), "{\"ok\":1}"));
    assert_eq!(post("{\"n\":2}").status, 204);
    scene.ntfy.wait_for_messages(2, std::time::Duration::from_secs(10));
}

#[test]
fn a_cloudevents_sender_is_let_in_by_its_handshake_and_its_events_look_alike() {
    let rules = "
sources:
  events:
    path: /events/{secret}
    verify: { path_secret: { segment: secret, secrets: [s3cret] } }
    rules: [{ name: all, publish: { topic: events, title: '{{body.type}}', message: '{{body.data.n}}' } }]
";
    let scene = Scene::with_rules(rules);
    let origin = [("WebHook-Request-Origin", "eventemitter.example.com"), ("WebHook-Request-Rate", "120")];
    let ask = |path: &str| scene.gateway.request("OPTIONS", path, &origin, b"");
    let answer = ask("/events/s3cret");
    let header = |name: &str| answer.header(name).map(str::to_owned);
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(header("webhook-allowed-origin").as_deref(), Some("eventemitter.example.com"));
    assert_eq!(
        (header("webhook-allowed-rate").as_deref(), header("allow").as_deref()),
        (Some("120"), Some("POST"))
    );
    assert_eq!(ask("/events/wrong").status, 404);
    assert_eq!(
        scene.gateway.request("OPTIONS", "/events/s3cret", &[], b"").status,
        404,
        "without an origin it is no handshake"
    );
    let structured =
        json!({ "specversion": "1.0", "type": "x", "source": "/a", "id": "1", "data": { "n": 7 } });
    let kind = [("content-type", "application/cloudevents+json")];
    let binary =
        [("content-type", "application/json"), ("ce-specversion", "1.0"), ("ce-type", "x"), ("ce-id", "2")];
    let first = scene.post("/events/s3cret", &kind, structured.to_string());
    assert_eq!((&first[0]["title"], &first[0]["message"]), (&json!("x"), &json!("7")));
    assert_eq!(scene.post("/events/s3cret", &binary, "{\"n\":7}"), first);
}

#[test]
fn zoom_is_answered_with_its_token_signed_by_the_source_s_secret() {
    let rules = "
sources:
  zoom:
    path: /zoom
    verify: { hmac: { header: X-Sign, secrets: [s3cret] } }
    rules:
      - name: handshake
        when: { $.event: endpoint.url_validation }
        respond: { body: '{\"plainToken\":{{json body.payload.plainToken}},\"encryptedToken\":\"{{sign body.payload.plainToken}}\"}' }
";
    let signature = |text: &str| {
        let mac = hmac::Hmac::<sha2::Sha256>::new_from_slice(b"s3cret").expect("a key");
        data_encoding::HEXLOWER.encode(&mac.chain_update(text).finalize().into_bytes())
    };
    let scene = Scene::with_rules(rules);
    let body =
        json!({ "event": "endpoint.url_validation", "payload": { "plainToken": "qgg8vlvZRS6UYooatFL8Aw" } })
            .to_string();
    let answer = scene.gateway.post("/zoom", &[("X-Sign", &signature(&body))], &body);
    let expected = json!({
        "plainToken": "qgg8vlvZRS6UYooatFL8Aw",
        "encryptedToken": signature("qgg8vlvZRS6UYooatFL8Aw"),
    });
    assert_eq!((answer.status, answer.header("hookbell-notifications")), (200, Some("0")));
    assert_eq!(serde_json::from_str::<Value>(&answer.text).expect("JSON"), expected);
    assert_eq!(scene.gateway.post("/zoom", &[("X-Sign", "0")], &body).status, 401);
}

#[test]
fn a_token_counts_in_the_header_or_the_query_and_a_split_of_nothing_is_told() {
    let scene = Scene::with_rules(
        "
sources:
  s:
    path: /s
    verify: { token: { header: X-Token, query: token, secrets: [s3cret] } }
    unmatched: notify
    defaults: { topic: t }
    split: $.alerts[*]
    rules: [{ name: all, publish: { topic: t, message: '{{item.n}}' } }]
",
    );
    let post =
        |path: &str, token: &str, body: &str| scene.gateway.post(path, &[("X-Token", token)], body).status;
    assert_eq!(post("/s", "s3cret", "{\"alerts\":[{\"n\":1}]}"), 200);
    assert_eq!(post("/s?token=s3cret", "wrong", "{\"alerts\":[{\"n\":2}]}"), 200);
    assert_eq!(post("/s?token=wrong", "wrong", "{\"alerts\":[{\"n\":3}]}"), 401);
    assert_eq!(scene.ntfy.wait_for_messages(2, std::time::Duration::from_secs(10)).len(), 2);
    assert_eq!(post("/s?token=s3cret", "", "{\"alerts\":[]}"), 200);
    assert_eq!(scene.ntfy.wait_for_messages(3, std::time::Duration::from_secs(10)).len(), 3);
}
