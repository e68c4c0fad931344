//! Later questions about what came: a recorded webhook, and what checks say in other formats.

use serde_json::{Value, json};
use tempfile::tempdir;

use crate::support::Gateway;
use crate::support::command::hookbell;
use crate::support::samples::root;

const RULES: &str = "\
sources:
  n:
    path: /n/{team}
    verify: { token: { query: token, secrets: [{ env: N_SECRET, default: hunter2hunter2 }] } }
    rules: [{ name: all, when: { query.q: x }, publish: { topic: t, message: \"{{body.n}} {{path.team}}\" } }]
";

#[test]
fn a_recorded_webhook_is_explained_by_its_id_beside_the_running_gateway_and_without_it() {
    let plan = Gateway::with_rules(RULES);
    let gateway = plan.start();
    let answer =
        gateway.post("/n/red?q=x&token=hunter2hunter2", &[("Cookie", "hunter2hunter2")], "{\"n\":7}");
    assert_eq!(answer.status, 200, "{}", answer.text);
    let id = answer.json()["id"].as_str().expect("an id").to_owned();
    let (rules, data) = (gateway.rules_folder(), gateway.data_folder());
    let words = |id: &str| {
        let path = |path: &std::path::Path| path.display().to_string();
        ["explain", "--id", id, "--rules", &path(&rules), "--data", &path(&data)].map(str::to_owned)
    };
    let explain = |id: &str| hookbell(root(), &words(id).each_ref().map(String::as_str), &[]);
    let beside = explain(&id);
    assert_eq!(beside.code, Some(0), "{}", beside.stderr);
    assert!(beside.stdout.contains("\"message\": \"7 red\""), "{}", beside.stdout);
    assert!(beside.stdout.contains("✓ query.q equals \"x\"   found \"x\""), "{}", beside.stdout);
    gateway.signal("TERM");
    assert!(gateway.wait().success());
    assert_eq!(explain(&id).stdout, beside.stdout);
    let unknown = explain("0194f5d2-c6d8-7f0f-8f0e-4a2e6b1d9c3a");
    assert_eq!(unknown.code, Some(1));
}

#[test]
fn check_warns_and_writes_for_machines_too() {
    let folder = tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join("rules")).expect("a folder");
    let rules = "sources:\n  s:\n    path: /s\n    rules: [{ name: r, publish: { topic: t, message: m, tags: [warnign] } }]\n";
    std::fs::write(folder.path().join("rules/a.yaml"), rules).expect("rules");
    let check = |flags: &[&str]| hookbell(folder.path(), &[&["check"], flags].concat(), &[]);
    assert_eq!(check(&[]).code, Some(0));
    assert_eq!(check(&["--strict"]).code, Some(1));
    assert_eq!(
        check(&["--format", "github"]).stdout,
        "::warning file=rules/a.yaml,line=2,col=3::source \"s\" believes everybody (add `verify:` to it)\n\
         ::warning file=rules/a.yaml,line=4,col=64::tag \"warnign\" is no emoji (did you mean \"warning\"?)\n"
    );
    let problems: Value = serde_json::from_str(&check(&["--format", "json"]).stdout).expect("JSON");
    assert_eq!(
        problems[0],
        json!({
            "severity": "warning", "file": "rules/a.yaml", "line": 2, "column": 3,
            "message": "source \"s\" believes everybody", "help": "add `verify:` to it",
        })
    );
}

#[test]
fn a_start_with_required_tests_refuses_rules_whose_case_fails() {
    let folder = tempdir().expect("a folder");
    std::fs::create_dir_all(folder.path().join("rules/tests")).expect("a folder");
    let rules = "sources: { s: { path: /s, rules: [{ name: r, publish: { topic: t, message: m } }] } }";
    std::fs::write(folder.path().join("rules/s.yaml"), rules).expect("rules");
    let case =
        "cases: [{ name: it is n, request: { body: {} }, expect: { notifications: [{ message: n }] } }]";
    std::fs::write(folder.path().join("rules/tests/s.yaml"), case).expect("a case");
    let words = ["serve", "--require-tests", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"];
    let ran = hookbell(folder.path(), &words, &[]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("case \"it is n\" fails: notification 1, message"), "{}", ran.stderr);
}

#[test]
fn the_sources_are_listed_with_what_turns_them_on() {
    let folder = tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join("rules")).expect("a folder");
    let rules = "
sources:
  door: { path: /door, methods: [GET, POST], rules: [{ name: r, drop: true }] }
  hub: { path: /hub, verify: { scheme: github, secrets: [{ env: HUB_SECRET }] }, rules: [{ name: a, drop: true }] }
  lab: { path: /lab, enabled: { env: LAB, default: false }, verify: { scheme: gitlab, secrets: [abcdefgh] }, rules: [{ name: a, drop: true }] }
";
    std::fs::write(folder.path().join("rules/a.yaml"), rules).expect("rules");
    let sources = |flags: &[&str], environment: &[(&str, &str)]| {
        hookbell(folder.path(), &[&["sources"], flags].concat(), environment).stdout
    };
    assert_eq!(
        sources(&[], &[]),
        "SOURCE  POSTS TO        PROVES ITSELF BY          RULES  STATE\n\
         door    GET,POST /door  believes everybody            1  on\n\
         hub     POST /hub       -                             1  off: set HUB_SECRET\n\
         lab     POST /lab       secret in x-gitlab-token      1  off: set enabled: true\n"
    );
    let on: Value =
        serde_json::from_str(&sources(&["--json"], &[("HUB_SECRET", "x"), ("LAB", "true")])).expect("JSON");
    let states: Vec<_> = on.as_array().expect("a list").iter().map(|source| source["on"].clone()).collect();
    assert_eq!(states, [json!(true), json!(true), json!(true)]);
    assert_eq!(on[1]["verification"], "signature in x-hub-signature-256");
}
