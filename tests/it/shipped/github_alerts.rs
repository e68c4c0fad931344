//! What GitHub can send beyond the samples: pushes, packages, alerts.

use serde_json::{Value, json};

use super::github::{as_event, single, told, view};
use crate::support::{Scene, samples};

const REPOSITORY: &str = "Codertocat/Hello-World";

fn notification(message: &str, priority: u8, tag: &str, link: (&str, &str)) -> Value {
    json!({
        "event": "message", "topic": "github", "title": REPOSITORY, "message": message, "priority": priority,
        "tags": [tag], "click": link.1, "actions": [view(link.0, link.1)],
    })
}

/// A push of `count` commits to master.
fn push(body: &mut Value, count: usize) {
    let commit = |n: usize| json!({ "id": format!("{n:07}aaaaaaaaa"), "message": format!("Change {n}\n\nAt length.") });
    body["commits"] = (1..=count).map(commit).collect();
    body["created"] = json!(false);
    body["ref"] = json!("refs/heads/master");
    body["compare"] = json!("https://github.com/c");
}

#[test]
fn a_push_lists_its_first_commits() {
    let scene = Scene::shipped();
    let link = ("Show changes", "https://github.com/c");
    let one = single(&scene, "push_branch.json", |body| push(body, 1));
    assert_eq!(one, notification("1 commit to master by Codertocat\n0000001 Change 1", 2, "arrow_up", link));
    let many = single(&scene, "push_branch.json", |body| push(body, 7));
    let lines: String = (1..=5).map(|n| format!("000000{n} Change {n}\n")).collect();
    let text = format!("7 commits to master by Codertocat\n{lines}… 7 commits in all");
    assert_eq!(many, notification(&text, 2, "arrow_up", link));
    let forced = single(&scene, "push_branch.json", |body| {
        push(body, 1);
        body["forced"] = json!(true);
    });
    assert_eq!(
        forced,
        notification("Forced push to master by Codertocat\n0000001 Change 1", 4, "warning", link)
    );
}

#[test]
fn a_push_without_a_head_commit_is_told() {
    let scene = Scene::shipped();
    let tag = single(&scene, "push_branch.json", |body| {
        push(body, 0);
        body["ref"] = json!("refs/tags/v1.0");
        body["created"] = json!(true);
        body["head_commit"] = Value::Null;
    });
    let link = ("Show changes", "https://github.com/c");
    assert_eq!(tag, notification("Tag v1.0 created by Codertocat", 3, "label", link));
    let branch = single(&scene, "push_branch.json", |body| {
        push(body, 0);
        body["ref"] = json!("refs/heads/feature/a-b");
        body["deleted"] = json!(true);
        body["head_commit"] = Value::Null;
    });
    let expected = json!({
        "event": "message", "topic": "github", "title": REPOSITORY, "message": "Branch feature/a-b deleted by Codertocat",
        "priority": 1, "tags": ["wastebasket"], "click": "https://github.com/Codertocat/Hello-World",
    });
    assert_eq!(branch, expected);
}

#[test]
fn a_package_is_told_under_both_names_of_its_event() {
    let scene = Scene::shipped();
    let package = samples::one("github", "package_published_ghcr.json");
    let mut body = package.json();
    body["registry_package"] = body["package"].take();
    body.as_object_mut().expect("an object").remove("package");
    assert_eq!(as_event(&scene, "registry_package", &body), scene.post_sample("github", &package));
    let untagged = single(&scene, "package_published_ghcr.json", |body| {
        let version = &mut body["package"]["package_version"];
        version["container_metadata"] = Value::Null;
        version["version"] = json!("sha256:0123456789abcdef0123456789abcdef");
    });
    assert_eq!(untagged["message"], "hello-world sha256:0123456789a… published (container)");
}

#[test]
fn a_check_that_fails_is_told_with_its_reason() {
    let scene = Scene::shipped();
    let failed = single(&scene, "check_run_completed_failure.json", |body| {
        body["check_run"]["conclusion"] = json!("timed_out");
        body["check_run"]["output"]["title"] = json!("3 of 90 tests ran");
    });
    assert_eq!(failed["message"], "Octocoders-linter — timed out\nBranch: changes\n3 of 90 tests ran");
    for conclusion in ["success", "neutral", "cancelled", "skipped"] {
        let quiet = told(&scene, "check_run_completed_failure.json", |body| {
            body["check_run"]["conclusion"] = json!(conclusion);
        });
        assert_eq!(quiet, Vec::<Value>::new(), "{conclusion}");
    }
}

#[test]
fn a_leaked_secret_is_urgent_and_not_repeated() {
    let body = json!({
        "action": "created", "repository": { "full_name": REPOSITORY },
        "alert": { "secret_type_display_name": "Amazon AWS Access Key", "validity": "active", "secret": "AKIA-THE-SECRET",
            "html_url": "https://github.com/alert/1" },
    });
    let text = "Secret found in the repository: Amazon AWS Access Key\nValidity: active\nRevoke it, then close the alert.";
    let expected = notification(text, 5, "rotating_light", ("Open alert", "https://github.com/alert/1"));
    assert_eq!(as_event(&Scene::shipped(), "secret_scanning_alert", &body), [expected]);
}

#[test]
fn an_alert_is_as_loud_as_it_is_severe() {
    let scene = Scene::shipped();
    for (severity, priority, word) in [
        ("critical", json!(5), "Critical"),
        ("high", json!(4), "High"),
        ("low", json!(2), "Low"),
        ("odd", json!(3), "Odd"),
    ] {
        let told = single(&scene, "dependabot_alert_created.json", |body| {
            body["alert"]["security_vulnerability"]["severity"] = json!(severity);
        });
        assert_eq!(told["priority"], priority, "{severity}");
        let first = told["message"].as_str().and_then(|text| text.lines().next()).map(str::to_owned);
        assert_eq!(first, Some(format!("{word}: semver vulnerable to Regular Expression Denial of Service")));
    }
}
