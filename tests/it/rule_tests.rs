//! `hookbell test`: rules are tested code.

use std::path::Path;

use serde_json::Value;
use tempfile::{TempDir, tempdir};

use crate::support::command::{Ran, copy_folder, hookbell};
use crate::support::samples::{root, shipped_rules, sources_with_samples};

const RULES: &str = "\
sources:
  door:
    path: /hooks/{team}/door
    verify: { token: { header: X-Token, secrets: [{ env: DOOR_SECRET }] } }
    defaults: { topic: { env: DOOR_TOPIC, default: home } }
    rules:
      - name: a ring
        when: { $.event: ring }
        publish:
          title: \"{{body.who}} rings for {{path.team}}\"
          message: \"{{#if body.nte}}Note: {{body.nte}}{{/if}} {{date received_at}}\"
          priority: high
      - { name: noise, when: { $.event: noise }, drop: true }
      - { name: never, when: { $.evnt: never }, drop: true }
";

/// A folder with `rules/door.yaml` and cases for it.
fn folder(cases: &str) -> TempDir {
    let folder = tempdir().expect("a folder");
    std::fs::create_dir_all(folder.path().join("rules/tests")).expect("a folder");
    std::fs::write(folder.path().join("rules/door.yaml"), RULES).expect("rules");
    std::fs::write(folder.path().join("rules/tests/door.yaml"), cases).expect("cases");
    folder
}

fn test(folder: &Path, flags: &[&str]) -> Ran {
    let mut ran = hookbell(folder, &[&["test"], flags].concat(), &[]);
    // How long it took is nobody's contract.
    if let Some(start) = ran.stdout.rfind(" (") {
        ran.stdout.truncate(start);
    }
    ran
}

#[test]
fn cases_that_hold_pass() {
    let folder = folder(
        "\
cases:
  - name: a ring says who and for whom
    request: { path: { team: a }, body: { event: ring, who: Ada } }
    clock: 2026-12-01T09:30:00Z
    expect:
      rules: [a ring]
      whole: true
      notifications:
        - { topic: home, title: Ada rings for a, message: 2026-12-01 09:30, priority: high }
  - name: a matcher is enough
    request: { body: { event: ring, who: Ada, nte: x } }
    env: { DOOR_TOPIC: elsewhere }
    expect: { notifications: [{ topic: elsewhere, title: { starts_with: Ada }, message: { matches: '^Note: x 2026' }, tags: null }] }
  - name: noise is dropped
    request: { body: { event: noise } }
    expect: nothing
  - name: who proves it is let in
    request: { body: { event: noise }, sign: true }
    expect: { status: 200, rules: [noise] }
  - name: who does not is not
    request: { body: { event: ring }, headers: { X-Token: wrong }, verify: true }
    expect: { status: 401, notifications: [] }
  - name: what is no json is refused
    request: { body: '{', headers: { content-type: application/json } }
    expect: { status: 400 }
  - name: another method is refused
    request: { method: PUT, body: x }
    expect: { status: 405 }
",
    );
    let ran = test(folder.path(), &[]);
    assert_eq!(
        (ran.stdout.as_str(), ran.stderr.as_str(), ran.code),
        ("cases: 7 passed, 0 failed", "", Some(0))
    );
    let one = test(folder.path(), &["-k", "noise"]);
    assert_eq!(one.stdout, "cases: 1 passed, 0 failed");
}

#[test]
fn a_case_that_fails_shows_the_difference_and_why() {
    let folder = folder(
        "\
cases:
  - name: a ring is urgent
    request: { path: { team: a }, body: { event: ring, who: Ada } }
    clock: 2026-12-01T09:30:00Z
    expect: { rules: [a ring], notifications: [{ title: Bob rings, priority: urgent }] }
",
    );
    let ran = test(folder.path(), &[]);
    assert_eq!(ran.code, Some(1));
    assert_eq!(
        ran.stdout,
        "\
✗ door: a ring is urgent  rules/tests/door.yaml:2:11
  notification 1, title
    - Bob rings
    + Ada rings for a
  notification 1, priority
    - 5
    + 4
  why:
  ✓ rule \"a ring\" (rules/door.yaml:7)
      ✓ $.event equals \"ring\"   found \"ring\"
  
  1 notification
  {
    \"topic\": \"home\",
    \"title\": \"Ada rings for a\",
    \"message\": \"2026-12-01 09:30\",
    \"priority\": 4
  }

cases: 0 passed, 1 failed"
    );
}

#[test]
fn what_a_case_leaves_to_be_recorded_is_written_into_its_file() {
    let folder = folder(
        "\
# kept
cases:
  - name: a ring   # kept too
    request: { path: { team: a }, body: { event: ring, who: \"A: b\" } }
    clock: 2026-12-01T09:30:00Z
    expect: record
  - name: noise
    request: { body: { event: noise } }
    expect: record
  - { name: on one line, request: { body: { event: noise } }, expect: record }
  - { name: refused, request: { method: PUT }, expect: record }
",
    );
    let before = test(folder.path(), &[]);
    assert_eq!(before.code, Some(1), "{}", before.stdout);
    assert!(before.stdout.contains("run with --update"), "{}", before.stdout);
    let update = test(folder.path(), &["--update"]);
    assert_eq!((update.stdout.as_str(), update.code), ("cases: 0 passed, 0 failed, 4 recorded", Some(0)));
    assert_eq!(
        std::fs::read_to_string(folder.path().join("rules/tests/door.yaml")).expect("the file"),
        "\
# kept
cases:
  - name: a ring   # kept too
    request: { path: { team: a }, body: { event: ring, who: \"A: b\" } }
    clock: 2026-12-01T09:30:00Z
    expect:
      rules: [\"a ring\"]
      notifications:
        - topic: \"home\"
          title: \"A: b rings for a\"
          message: \"2026-12-01 09:30\"
          priority: 4
  - name: noise
    request: { body: { event: noise } }
    expect:
      rules: [\"noise\"]
      notifications: []
  - { name: on one line, request: { body: { event: noise } }, expect: {\"rules\":[\"noise\"],\"notifications\":[]} }
  - { name: refused, request: { method: PUT }, expect: { status: 405 } }
"
    );
    assert_eq!(test(folder.path(), &[]).stdout, "cases: 4 passed, 0 failed");
}

#[test]
fn coverage_names_what_no_case_touches_and_what_may_be_meant() {
    let folder = folder(
        "\
cases:
  - name: a ring
    request: { path: { team: a }, body: { event: ring, who: Ada, note: x } }
    expect: { rules: [a ring] }
",
    );
    let ran = test(folder.path(), &["--coverage"]);
    assert_eq!(ran.code, Some(1));
    assert_eq!(
        ran.stdout,
        "\
coverage: 1 of 3 rules matched by a case
  rule \"a ring\", message: in no case is there anything at body.nte; did you mean body.note?  rules/door.yaml:7
  rule \"noise\" of source \"door\": no case matches it  rules/door.yaml:13
  rule \"never\" of source \"door\": no case matches it  rules/door.yaml:14
cases: 1 passed, 0 failed"
    );
}

#[test]
fn mistakes_in_cases_are_reported_as_those_in_rules() {
    let folder = folder(
        "cases:\n  - name: x\n    request: { bdy: {} }\n    expect: { notifications: [{ titel: x }], status: 99 }\n",
    );
    let ran = hookbell(folder.path(), &["test"], &[]);
    assert_eq!(ran.code, Some(1));
    for expected in [
        "error: unknown key \"bdy\"\n --> rules/tests/door.yaml:3:16",
        "did you mean \"body\"?",
        "error: unknown field \"titel\"",
        "error: 99 is no http status",
        "3 mistakes found",
    ] {
        assert!(ran.stderr.contains(expected), "{expected:?} is not in:\n{}", ran.stderr);
    }
}

#[test]
fn the_shipped_rules_pass_their_cases_and_every_sample_has_one() {
    let ran = hookbell(root(), &["test", "rules"], &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    for source in sources_with_samples() {
        let cases =
            std::fs::read_to_string(shipped_rules().join(format!("tests/{source}.yaml"))).expect("cases");
        for sample in crate::support::samples::of(&source) {
            let named = format!("{source}/{}", sample.name);
            assert!(cases.contains(&named), "no case in tests/{source}.yaml is about {named}");
        }
    }
}

#[test]
fn a_typing_error_in_a_shipped_rule_is_caught() {
    let seeded: [(&str, &str, &str); 6] = [
        (
            "title",
            "title: \"{{truncate body.repository.full_name 50}}\"",
            "title: \"{{truncate body.repositry.full_name 50}}\"",
        ),
        ("message", "{{body.deployment_status.description}}", "{{body.deployment_status.descripton}}"),
        ("topic", "table 'topic_by_repo'", "table 'topic_by_rep'"),
        ("jsonpath", "$.action: completed", "$.actoin: completed"),
        ("tag", "white_check_mark", "wihte_check_mark"),
        (
            "literal",
            "topic: { env: HOOKBELL_GITHUB_TOPIC, default: github }",
            "topic: { env: HOOKBELL_GITHUB_TOPIC, default: gihtub }",
        ),
    ];
    let clean = hookbell(root(), &["test", "rules", "--coverage"], &[]);
    assert_eq!(clean.code, Some(0), "{}", clean.stdout);
    for (what, right, wrong) in seeded {
        let folder = tempdir().expect("a folder");
        copy_folder(&shipped_rules(), &folder.path().join("rules"));
        let file = folder.path().join("rules/github.yaml");
        let text = std::fs::read_to_string(&file).expect("rules");
        assert!(text.contains(right), "{what}: {right:?} is not in github.yaml: seed another error");
        std::fs::write(&file, text.replacen(right, wrong, 1)).expect("rules");
        let check = hookbell(folder.path(), &["check", "--strict"], &[]);
        let test = hookbell(folder.path(), &["test", "--coverage"], &[]);
        assert!(check.code == Some(1) || test.code == Some(1), "{what}: nobody saw {wrong:?}");
    }
}

#[test]
fn schemas_in_the_repository_are_those_of_the_program() {
    for (of, file) in [("rules", "schemas/rules.schema.json"), ("tests", "schemas/tests.schema.json")] {
        let printed = hookbell(root(), &["schema", of], &[]).stdout;
        let path = root().join(file);
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&path, &printed).expect("to write a schema");
        }
        let kept = std::fs::read_to_string(&path).expect("a schema");
        assert!(printed == kept, "{file} is stale: run `hookbell schema {of} > {file}`");
        each_key_has_a_description_and_an_example(file, &serde_json::from_str(&kept).expect("JSON"));
    }
}

fn each_key_has_a_description_and_an_example(file: &str, schema: &Value) {
    let records = schema["definitions"].as_object().expect("definitions").iter();
    let own = ["conditions", "matcher", "external", "fields"];
    for (record, definition) in records.filter(|(name, _)| !own.contains(&name.as_str())) {
        for (key, property) in definition["properties"].as_object().into_iter().flatten() {
            assert!(property["description"].is_string(), "{file}: {record}.{key} has no description");
            assert!(property["examples"].is_array(), "{file}: {record}.{key} has no example");
        }
    }
}

#[test]
fn init_writes_a_folder_that_passes_and_never_overwrites_one() {
    let folder = tempdir().expect("a folder");
    let ran = hookbell(folder.path(), &["init"], &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(hookbell(folder.path(), &["check"], &[]).code, Some(0));
    let tested = hookbell(folder.path(), &["test", "--coverage"], &[]);
    assert_eq!(tested.code, Some(0), "{}", tested.stdout);
    let again = hookbell(folder.path(), &["init"], &[]);
    assert_eq!(
        (again.stderr.as_str(), again.code),
        ("error: \"rules/door.yaml\" is there already; name another folder: hookbell init DIR\n", Some(1))
    );
}
