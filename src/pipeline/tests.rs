use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::rules::compile::compile_text;
use crate::rules::external::Environment;

struct NoVariables;

impl Environment for NoVariables {
    fn variable(&self, _: &str) -> Option<String> {
        None
    }
}

/// Decides with one source called `s` whose YAML is given from `rules:` on (or any other of its keys).
fn decide_with(source: &str, body: Value) -> (Vec<Value>, Trace) {
    let indented: String = source.lines().map(|line| format!("    {line}\n")).collect();
    let text = format!(
        "tables:\n  topics: {{ acme/api: backend, 'acme/*': acme }}\nsources:\n  s:\n    path: /s\n{indented}"
    );
    let rules = compile_text("t.yaml", &text, &NoVariables).unwrap_or_else(|problems| {
        panic!("{}", problems.iter().map(ToString::to_string).collect::<String>())
    });
    let source = &rules.sources()[0];
    let request = Request {
        method: "POST".to_owned(),
        headers: vec![("x-event".to_owned(), "push".to_owned()), ("n".to_owned(), "7".to_owned())],
        query: vec![("team".to_owned(), "a".to_owned())],
        path: Vec::new(),
        body: body.clone(),
        received_at: 1_796_083_200_000,
        ..Request::default()
    };
    let raw = body.to_string();
    let mut trace = Trace::default();
    let traced = decide(&rules, source, request.clone(), raw.as_bytes(), Some(&mut trace));
    let untraced = decide(&rules, source, request, raw.as_bytes(), None);
    assert_eq!(traced, untraced, "tracing changes nothing");
    let json = |planned: &Planned| serde_json::to_value(&planned.notification).expect("JSON");
    (traced.notifications.iter().map(json).collect(), trace)
}

fn notifications(source: &str, body: Value) -> Vec<Value> {
    decide_with(source, body).0
}

/// Whether the `when` in YAML flow style holds for the body.
fn holds(when: &str, body: Value) -> bool {
    let source = format!("rules:\n  - name: r\n    when: {when}\n    publish: {{ topic: t, message: m }}");
    !notifications(&source, body).is_empty()
}

#[test]
fn matchers_hold_as_documented() {
    let body = json!({
        "s": "release/1.2", "n": 5, "f": 5.0, "t": true, "null": null, "text_n": "42",
        "list": [1, "two", 3], "objects": [{"a": 1}, {"a": 2}], "big": 9_007_199_254_740_993_u64,
    });
    for (when, expected) in [
        ("{ $.s: release/1.2 }", true),
        ("{ $.n: 5 }", true),
        ("{ $.f: 5 }", true),
        ("{ $.n: '5' }", false),
        ("{ $.t: true }", true),
        ("{ $.t: 'true' }", false),
        ("{ $.null: null }", true),
        ("{ $.nope: null }", false),
        ("{ $.big: 9007199254740992 }", false),
        ("{ $.n: [4, 5] }", true),
        ("{ $.n: { in: [4, 6] } }", false),
        ("{ $.s: { matches: '^release/\\d' } }", true),
        ("{ $.s: { not: { matches: '^release/' } } }", false),
        ("{ $.nope: { not: x } }", true),
        ("{ $.s: { glob: 'release/*' } }", true),
        ("{ $.s: { contains: '/1.' } }", true),
        ("{ $.list: { contains: two } }", true),
        ("{ $.list: { contains: '3' } }", false),
        ("{ $.s: { starts_with: release, ends_with: '.2' } }", true),
        ("{ $.n: { gt: 4, lte: 5 } }", true),
        ("{ $.n: { gt: 5 } }", false),
        ("{ $.text_n: { gte: 42 } }", true),
        ("{ $.s: { gt: 1 } }", false),
        ("{ $.nope: { exists: false } }", true),
        ("{ $.null: { exists: true } }", true),
        ("{ '$.objects[*].a': 2 }", true),
        ("{ '$.objects[*].a': { gt: 1, lt: 2 } }", false),
        ("{ '$.objects[?@.a==2]': { exists: true } }", true),
        ("{ $.list: { equals: [1, two, 3] } }", true),
        ("{ headers.X-Event: push }", true),
        ("{ headers.n: 7 }", true),
        ("{ headers.n: { gt: 6 } }", true),
        ("{ headers.nope: { exists: false } }", true),
        ("{ query.team: [a, b] }", true),
        ("{ method: POST }", true),
        ("{ any: [{ $.n: 1 }, { $.n: 5 }] }", true),
        ("{ all: [{ $.n: 5 }, { $.t: false }] }", false),
        ("{ not: { $.n: 5, $.t: false } }", true),
        ("{ not: { $.n: 5 } }", false),
        ("{ $.n: 5, $.t: false }", false),
    ] {
        assert_eq!(holds(when, body.clone()), expected, "{when}");
    }
}

#[test]
fn the_first_match_wins_unless_it_continues() {
    let rules = "\
rules:
  - { name: a, when: { $.a: 1 }, publish: { topic: t, message: a }, continue: true }
  - { name: b, when: { $.a: 1 }, publish: [{ topic: t, message: b1 }, { topic: u, message: b2 }] }
  - { name: quiet, when: { $.a: 2 }, drop: true }
  - { name: c, publish: { topic: t, message: c } }";
    let messages = |body| -> Vec<String> {
        notifications(rules, body).iter().map(|n| n["message"].as_str().expect("a text").to_owned()).collect()
    };
    assert_eq!(messages(json!({"a": 1})), ["a", "b1", "b2"]);
    assert_eq!(messages(json!({"a": 2})), Vec::<String>::new());
    assert_eq!(messages(json!({})), ["c"]);
}

#[test]
fn every_field_of_ntfy_can_be_set_and_what_renders_to_nothing_is_absent() {
    let rules = "\
defaults: { topic: fallback, priority: low, icon: 'https://i.example/i.png' }
rules:
  - name: all
    let: { who: '$.who', sum: 'by {{let.who}}', all: '$.list[*].x' }
    publish:
      topic: \"{{table 'topics' body.repo}}\"
      title: '{{body.title}} {{let.sum}}'
      message: '{{join let.all}}'
      priority: '{{body.prio}}'
      tags: ['{{body.tag}}', '{{body.nope}}', 'a,b']
      click: '{{body.link}}'
      attach: '{{body.nope}}'
      filename: x.png
      actions:
        - { view: Open, url: '{{body.link}}', clear: true }
        - { http: Go, url: 'https://x.example', method: PUT, headers: { A: '{{body.who}}' }, body: '{\"q\":\"{{body.who}}\"}' }
        - { copy: Code, value: '{{body.n}}' }
      markdown: true
      email: a@b.example
      call: '+4930'
      cache: false
      firebase: false
      sequence_id: 'seq-{{body.n}}'";
    let body = json!({
        "who": "Zoë", "list": [{"x": 1}, {"x": 2}], "repo": "acme/web", "title": "Done\r\nX-Evil: 1",
        "prio": 5, "tag": "x", "link": "https://l.example", "n": 9,
    });
    assert_eq!(
        notifications(rules, body),
        [json!({
            "topic": "acme", "title": "Done X-Evil: 1 by Zoë", "message": "1, 2", "priority": 5,
            "tags": ["x", "a", "b"], "click": "https://l.example", "icon": "https://i.example/i.png",
            "actions": [
                {"action": "view", "label": "Open", "url": "https://l.example", "clear": true},
                {"action": "http", "label": "Go", "url": "https://x.example", "method": "PUT",
                 "headers": {"A": "Zoë"}, "body": "{\"q\":\"Zoë\"}"},
                {"action": "copy", "label": "Code", "value": "9"},
            ],
            "markdown": true, "email": "a@b.example", "call": "+4930", "cache": "no", "firebase": "no",
            "sequence_id": "seq-9",
        })]
    );
    let bare = notifications(rules, json!({}));
    assert_eq!(bare[0]["actions"].as_array().map(Vec::len), Some(1), "a button without a target is left out");
    assert_eq!(notifications(rules, json!({}))[0]["topic"], "fallback");
    assert_eq!(notifications(rules, json!({}))[0]["priority"], 2);
}

#[test]
fn split_runs_every_item_through_the_rules() {
    let rules = "\
split: $.alerts[*]
rules:
  - { name: firing, when: { '@.status': firing }, publish: { topic: t, message: '{{item.name}} of {{body.group}}' } }
  - { name: resolved, when: { '@.status': resolved }, drop: true }";
    let body = json!({"group": "g", "alerts": [
        {"status": "firing", "name": "a"}, {"status": "resolved", "name": "b"}, {"status": "firing", "name": "c"},
    ]});
    let (notifications, trace) = decide_with(rules, body);
    let messages: Vec<&Value> = notifications.iter().map(|n| &n["message"]).collect();
    assert_eq!(messages, ["a of g", "c of g"]);
    assert_eq!(trace.items.iter().map(|item| item.index).collect::<Vec<_>>(), [Some(0), Some(1), Some(2)]);
}

#[test]
fn a_render_that_goes_wrong_becomes_a_fallback_notification() {
    for (field, value, reason) in [
        (
            "topic",
            "'{{body.bad}}'",
            "topic: invalid topic \"no topic\": a topic is 1 to 64 letters, digits, `-` and `_`",
        ),
        (
            "priority",
            "'{{body.bad}}'",
            "priority: invalid priority \"no topic\": use 1 to 5, or min, low, default, high, max or urgent",
        ),
        ("title", "'{{date body.bad}}'", "title: date: expected a time, found \"no topic\""),
    ] {
        let rules = format!(
            "defaults: {{ topic: home }}\nrules:\n  - name: broken\n    publish: {{ {field}: {value} }}"
        );
        let (notifications, trace) = decide_with(&rules, json!({"bad": "no topic"}));
        assert_eq!(
            notifications,
            [json!({
                "topic": "home", "title": "Hookbell: a rule failed", "priority": 4, "tags": ["warning"],
                "message": format!("Rule \"broken\" of source \"s\" failed\n{reason}\n\n{{\"bad\":\"no topic\"}}"),
            })]
        );
        assert_eq!(trace.items[0].rules[0].failures, [reason]);
    }
}

#[test]
fn what_no_rule_matches_is_dropped_or_sent_as_it_came() {
    let rule = "rules: [{ name: never, when: { $.a: 1 }, publish: { topic: t, message: m } }]";
    assert_eq!(notifications(rule, json!({"b": 1})), Vec::<Value>::new());
    let notify = format!("unmatched: notify\ndefaults: {{ topic: home, title: Sender }}\n{rule}");
    assert_eq!(
        notifications(&notify, json!({"b": 1})),
        [json!({"topic": "home", "title": "Sender", "message": "{\"b\":1}", "tags": ["warning"]})]
    );
}

#[test]
fn the_trace_names_every_condition_its_value_and_what_was_missing() {
    let rules = "\
rules:
  - name: r
    when: { $.a: { in: [1, 2] }, any: [{ $.b: x }, { not: { $.c: { exists: true } } }] }
    publish: { topic: t, title: '{{body.nope}}', message: m }";
    let (_, trace) = decide_with(rules, json!({"a": 2, "b": "y"}));
    let rule = &trace.items[0].rules[0];
    assert!(rule.matched);
    assert_eq!(rule.place, "t.yaml:7");
    let lines: Vec<(String, usize, bool)> =
        rule.findings.iter().map(|f| (format!("{} {:?}", f.condition, f.found), f.depth, f.held)).collect();
    assert_eq!(
        lines,
        [
            ("$.a in [1,2] [Number(2)]".to_owned(), 0, true),
            ("any []".to_owned(), 0, true),
            ("$.b equals \"x\" [String(\"y\")]".to_owned(), 1, false),
            ("not []".to_owned(), 1, true),
            ("$.c exists: true []".to_owned(), 2, false),
        ]
    );
    assert_eq!(rule.notes.len(), 1);
    assert_eq!(rule.notes[0].field, "title");
}

proptest! {
    #[test]
    fn any_template_over_any_body_makes_the_same_with_and_without_a_trace(
        template in "([a-z ]|\\{\\{(body|body\\.a|body\\.b\\.0|upper body\\.a|json body|default body\\.c 'x'|date body\\.a)\\}\\}){0,6}",
        text in ".{0,20}",
        numbers in prop::collection::vec(any::<i64>(), 0..3),
    ) {
        // `decide_with` compares the two.
        let publish = format!("rules: [{{ name: r, publish: {{ topic: t, title: {0}, message: {0} }} }}]", json!(template));
        let (notifications, _) = decide_with(&publish, json!({ "a": text, "b": numbers }));
        prop_assert_eq!(notifications.len(), 1);
        prop_assert!(notifications[0].to_string().len() <= crate::notification::JSON_LIMIT);
    }
}
