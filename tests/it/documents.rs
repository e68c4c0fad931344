//! What the README and docs/ say is true.

use std::io::Write;
use std::process::{Command, Stdio};

use hookbell::pipeline::decide;
use hookbell::rules::compile::compile_text;
use hookbell::rules::external::Environment;
use hookbell::rules::request::Request;
use hookbell::rules::set::RuleSet;
use serde_json::{Value, json};
use tempfile::tempdir;

use crate::support::Gateway;
use crate::support::command::hookbell;
use crate::support::samples::root;
use crate::support::wait::until;

/// Every variable that is needed is there.
struct Everything;

impl Environment for Everything {
    fn variable(&self, _: &str) -> Option<String> {
        None
    }

    fn required(&self, _: &str) -> Option<String> {
        Some("x".to_owned())
    }
}

/// The fenced blocks of a document, with what follows the fence.
fn blocks(text: &str) -> Vec<(&str, String)> {
    let mut blocks = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(kind) = line.strip_prefix("```").filter(|kind| !kind.is_empty()) {
            let body: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            blocks.push((kind, body.join("\n")));
        }
    }
    blocks
}

fn document(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).expect("a document")
}

fn compile(yaml: &str) -> RuleSet {
    let yaml = yaml.replace("{ file: /run/secrets/ntfy_token }", "{ env: NTFY_TOKEN }");
    compile_text("example.yaml", &yaml, &Everything)
        .unwrap_or_else(|problems| panic!("{}", problems.iter().map(ToString::to_string).collect::<String>()))
}

fn notifications(rules: &RuleSet, body: Value) -> Vec<Value> {
    let raw = body.to_string();
    // 2026-01-01T09:00:00Z
    let request =
        Request { method: "POST".to_owned(), body, received_at: 1_767_258_000_000, ..Request::default() };
    let decision = decide(rules, &rules.sources()[0], request, raw.as_bytes(), None);
    decision.notifications.iter().map(|n| serde_json::to_value(&n.notification).expect("JSON")).collect()
}

#[test]
fn every_example_of_the_rule_language_does_what_it_says() {
    let text = document("docs/rules.md");
    let (mut rules, mut webhook, mut checked) = (None, None, 0);
    for (kind, body) in blocks(&text) {
        match kind {
            "yaml" => rules = Some(compile(&body)),
            "json webhook" => webhook = Some(serde_json::from_str::<Value>(&body).expect("a webhook")),
            "json notification" => {
                let expected: Value = serde_json::from_str(&body).expect("a notification");
                let rules = rules.as_ref().expect("rules before it");
                assert_eq!(notifications(rules, webhook.take().expect("a webhook before it")), [expected]);
                checked += 1;
            }
            "json values" | "yaml cases" => {}
            other => panic!("nobody runs {other:?} blocks"),
        }
    }
    assert_eq!(checked, 5);
}

/// The rows of the first table after `from`, without its head: the code in each cell, or its text.
fn rows(text: &str) -> Vec<Vec<String>> {
    let table =
        text.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    let cell = |cell: &str| cell.trim().trim_matches('`').replace("\\|", "|");
    table.skip(2).map(|line| line.trim_matches('|').split(" | ").map(cell).collect()).collect()
}

/// The part of a document under one heading.
fn section<'a>(text: &'a str, heading: &str) -> &'a str {
    let start = text.find(&format!("\n## {heading}\n")).unwrap_or_else(|| panic!("no section {heading:?}"));
    let rest = &text[start + 4..];
    &rest[..rest.find("\n## ").unwrap_or(rest.len())]
}

fn values(section: &str) -> Value {
    let (_, json) = blocks(section).into_iter().find(|(kind, _)| *kind == "json values").expect("values");
    serde_json::from_str(&json).expect("JSON")
}

#[test]
fn every_condition_in_the_table_holds_or_not_as_it_says() {
    let text = document("docs/rules.md");
    let section = section(&text, "Conditions");
    let table = rows(section);
    assert!(table.len() > 15, "found {} rows", table.len());
    for row in table {
        let yaml = format!(
            "sources:\n  s:\n    path: /s\n    rules:\n      - name: r\n        when:\n          {}\n        publish: {{ topic: t, message: m }}\n",
            row[0]
        );
        let held = !notifications(&compile(&yaml), values(section)).is_empty();
        assert_eq!(if held { "yes" } else { "no" }, row[1], "{}", row[0]);
    }
}

#[test]
fn every_template_in_the_table_renders_as_it_says() {
    let text = document("docs/rules.md");
    let section = section(&text, "Templates");
    let table = rows(section);
    assert!(table.len() > 20, "found {} rows", table.len());
    for row in table {
        let yaml = format!(
            "sources:\n  s:\n    path: /s\n    rules:\n      - name: r\n        publish:\n          topic: t\n          message: {}\n",
            json!(row[0])
        );
        assert_eq!(
            notifications(&compile(&yaml), values(section))[0]["message"],
            row[1].trim(),
            "{}",
            row[0]
        );
    }
}

#[test]
fn the_test_cases_of_the_document_pass_on_its_first_example() {
    let text = document("docs/rules.md");
    let block = |kind: &str| blocks(&text).into_iter().find(|(k, _)| *k == kind).expect("a block").1;
    let folder = tempdir().expect("a folder");
    std::fs::create_dir_all(folder.path().join("rules/tests")).expect("a folder");
    std::fs::write(folder.path().join("rules/ci.yaml"), block("yaml")).expect("rules");
    std::fs::write(folder.path().join("rules/tests/ci.yaml"), block("yaml cases")).expect("cases");
    let ran = hookbell(folder.path(), &["test"], &[]);
    assert!(ran.stdout.starts_with("cases: 3 passed, 0 failed"), "{}{}", ran.stdout, ran.stderr);
}

/// The commands of the README, each as it stands there.
fn commands() -> Vec<String> {
    let text = document("README.md");
    text.lines().filter_map(|line| line.strip_prefix("    ")).map(str::to_owned).collect()
}

#[test]
fn the_first_rule_of_the_readme_works_as_told() {
    let text = document("README.md");
    let rules = blocks(&text).into_iter().find(|(kind, _)| *kind == "yaml").expect("a rule").1;
    let gateway = Gateway::with_rules(&rules).start();
    let mut ran = 0;
    for command in commands() {
        // The two commands that do everything are CI's; the gateway of the third is running already.
        let Some(words) = command.split_once("-- ").map(|(_, words)| words) else {
            if command.starts_with("curl") {
                let body = command.split('\'').nth(1).expect("a body");
                assert_eq!(gateway.post("/hooks/door", &[], body).status, 200);
                let printed =
                    || gateway.stdout().into_iter().find(|line| line.contains("Ada is at the door"));
                until("the notification to be printed", printed);
                ran += 1;
            }
            continue;
        };
        if words == "demo" || words == "--rules my-rules" {
            continue;
        }
        let words: Vec<&str> = words.split(' ').collect();
        let input = command.split('\'').nth(1).unwrap_or_default();
        let output = run_beside(&gateway, &words, input);
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        ran += 1;
    }
    assert_eq!(ran, 4, "a command of the README is not run by this test: {:#?}", commands());
}

/// Runs hookbell where `my-rules` and `data` are the gateway's folders.
fn run_beside(gateway: &Gateway, words: &[&str], input: &str) -> std::process::Output {
    let folder = tempdir().expect("a folder");
    std::os::unix::fs::symlink(gateway.rules_folder(), folder.path().join("my-rules")).expect("a link");
    std::os::unix::fs::symlink(gateway.data_folder(), folder.path().join("data")).expect("a link");
    let mut child = Command::new(env!("CARGO_BIN_EXE_hookbell"))
        .args(words)
        .current_dir(folder.path())
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("to run hookbell");
    child.stdin.take().expect("stdin").write_all(input.as_bytes()).expect("to write");
    child.wait_with_output().expect("an output")
}

#[test]
fn the_manual_of_the_shipped_sources_is_what_their_files_say() {
    let ran = hookbell(root(), &["sources", "--markdown", "rules"], &[]);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(root().join("docs/sources.md"), &ran.stdout).expect("to write");
    }
    let stale = "docs/sources.md is stale: run `hookbell sources --markdown > docs/sources.md`";
    assert_eq!(document("docs/sources.md"), ran.stdout, "{stale}");
    for file in std::fs::read_dir(root().join("rules")).expect("the rules").flatten() {
        let path = file.path();
        let Some(name) = path.file_stem().filter(|_| path.extension().is_some_and(|end| end == "yaml"))
        else {
            continue;
        };
        let name = name.to_string_lossy();
        assert!(name == "tables" || ran.stdout.contains(&format!("\n## {name}\n")), "{name} has no chapter");
    }
}
