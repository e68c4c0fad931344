//! What GitHub can send beyond the samples: runs, deployments, pushes, pings and the form encoding.

use serde_json::{Value, json};

use crate::support::{Scene, samples};

/// What a sample becomes after `edit`, under the same headers.
pub(super) fn told(scene: &Scene, sample: &str, edit: impl FnOnce(&mut Value)) -> Vec<Value> {
    let sample = samples::one("github", sample);
    let mut body = sample.json();
    edit(&mut body);
    scene.post_github(&sample.headers, body.to_string().as_bytes())
}

/// The only one.
pub(super) fn single(scene: &Scene, sample: &str, edit: impl FnOnce(&mut Value)) -> Value {
    let mut all = told(scene, sample, edit);
    assert_eq!(all.len(), 1, "{all:#?}");
    all.remove(0)
}

/// What a body becomes as another event.
pub(super) fn as_event(scene: &Scene, event: &str, body: &Value) -> Vec<Value> {
    let headers = [("X-GitHub-Event".to_owned(), event.to_owned())];
    scene.post_github(&headers, body.to_string().as_bytes())
}

pub(super) fn view(label: &str, url: &str) -> Value {
    json!({ "action": "view", "label": label, "url": url, "clear": false })
}

#[test]
fn a_run_that_has_not_ended_is_quiet() {
    let scene = Scene::shipped();
    for action in ["requested", "in_progress"] {
        let edit = |body: &mut Value| {
            body["action"] = json!(action);
            body["workflow_run"]["conclusion"] = Value::Null;
        };
        assert_eq!(
            told(&scene, "workflow_run_completed_success.json", edit),
            Vec::<Value>::new(),
            "{action}"
        );
    }
}

#[test]
fn every_conclusion_of_a_run_has_its_priority() {
    let scene = Scene::shipped();
    let url = "https://github.com/octo-org/octo-repo/actions/runs/289782451";
    for (conclusion, priority, tag) in [
        ("success", 3, "white_check_mark"),
        ("failure", 5, "x"),
        ("timed_out", 5, "x"),
        ("startup_failure", 5, "x"),
        ("action_required", 5, "x"),
        ("something_new", 5, "x"),
        ("cancelled", 5, "x"),
        ("skipped", 5, "x"),
        ("neutral", 5, "x"),
        ("stale", 5, "x"),
    ] {
        let told = single(&scene, "workflow_run_completed_success.json", |body| {
            body["workflow_run"]["conclusion"] = json!(conclusion);
            body["workflow_run"]["display_title"] = json!("Fix \"quotes\" & <tags>");
        });
        let expected = json!({
            "event": "message", "topic": "github", "title": "octo-org/octo-repo",
            "message": format!("Fix \"quotes\" & <tags> — {conclusion}\nBranch: master"),
            "priority": priority, "tags": [tag], "click": url, "actions": [view("Open run", url)],
        });
        assert_eq!(told, expected);
    }
}

#[test]
fn a_run_without_title_or_branch_has_its_workflows_name() {
    let told = single(&Scene::shipped(), "workflow_run_completed_failure.json", |body| {
        body["workflow_run"]["display_title"] = Value::Null;
        body["workflow_run"]["head_branch"] = Value::Null;
    });
    assert_eq!(told["message"], "CI — failure");
}

#[test]
fn a_deployment_is_told_once_it_has_ended() {
    let scene = Scene::shipped();
    let with = |state: &str| {
        told(&scene, "deployment_status_success.json", |body| {
            body["deployment_status"]["state"] = json!(state);
            body["deployment_status"]["description"] = json!("Build 7 by octocat");
            body["deployment_status"]["log_url"] = json!("https://ci.example.com/7");
            body["deployment_status"]["environment_url"] = json!("https://example.com");
        })
    };
    for state in ["pending", "queued", "in_progress"] {
        assert_eq!(with(state), Vec::<Value>::new(), "{state}");
    }
    for (state, priority, tag) in [
        ("success", 3, "white_check_mark"),
        ("failure", 5, "x"),
        ("error", 5, "x"),
        ("inactive", 5, "x"),
        ("waiting", 5, "x"),
    ] {
        let expected = json!([{
            "event": "message", "topic": "github", "title": "Codertocat/Hello-World",
            "message": format!("Deployment to production: {state}\nBuild 7 by octocat"),
            "priority": priority, "tags": [tag], "click": "https://ci.example.com/7",
            "actions": [view("View log", "https://ci.example.com/7"), view("Open site", "https://example.com")],
        }]);
        assert_eq!(json!(with(state)), expected);
    }
}

#[test]
fn pings_are_told_also_without_a_repository() {
    let scene = Scene::shipped();
    let nobody = as_event(&scene, "ping", &json!({ "zen": "Keep it logically awesome.", "hook_id": 1 }));
    let expected = json!([{
        "event": "message", "topic": "github", "title": "GitHub",
        "message": "Webhook connected\nKeep it logically awesome.", "priority": 1, "tags": ["handshake"],
    }]);
    assert_eq!(json!(nobody), expected);
}

#[test]
fn a_form_is_read_as_the_json_in_it_and_signed_as_it_came() {
    let scene = Scene::shipped();
    let sample = samples::one("github", "workflow_run_completed_failure.json");
    let json = String::from_utf8(sample.body.clone()).expect("text");
    let form = form_of("payload", &json);
    let mut headers = sample.headers.clone();
    headers.retain(|(name, _)| name != "Content-Type");
    headers.push(("Content-Type".to_owned(), "application/x-www-form-urlencoded".to_owned()));
    assert_eq!(scene.post_github(&headers, form.as_bytes()), scene.post_sample("github", &sample));
    let signature = crate::support::gateway::sign_github(crate::support::gateway::SECRET, json.as_bytes());
    let signed_json = [
        ("Content-Type", "application/x-www-form-urlencoded"),
        ("X-GitHub-Event", "workflow_run"),
        ("X-Hub-Signature-256", signature.as_str()),
    ];
    assert_eq!(scene.gateway.post("/hooks/github", &signed_json, form).status, 401);
}

/// A form of one field, as browsers and GitHub write it.
fn form_of(name: &str, value: &str) -> String {
    let encode = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => char::from(byte).to_string(),
        b' ' => "+".to_owned(),
        other => format!("%{other:02X}"),
    };
    format!("{name}={}", value.bytes().map(encode).collect::<String>())
}

#[test]
fn a_repository_in_the_table_goes_to_its_topic() {
    let scene = Scene::shipped();
    for (repository, topic) in [
        ("example-org/api", "backend"),
        ("example-org/infra-dns", "ops"),
        ("example-org/web", "example-org"),
        ("a/b", "github"),
    ] {
        let told = single(&scene, "workflow_run_completed_failure.json", |body| {
            body["repository"]["full_name"] = json!(repository);
        });
        assert_eq!((&told["topic"], &told["title"]), (&json!(topic), &json!(repository)));
    }
}

#[test]
fn events_that_no_rule_speaks_of_are_quiet() {
    let scene = Scene::shipped();
    let suite = json!({ "action": "completed", "check_suite": { "conclusion": "failure" } });
    assert_eq!(as_event(&scene, "check_suite", &suite), Vec::<Value>::new());
    assert_eq!(as_event(&scene, "an_event_of_the_future", &json!({})), Vec::<Value>::new());
    assert_eq!(as_event(&scene, "push", &json!([])), Vec::<Value>::new());
    assert_eq!(as_event(&scene, "workflow_run", &json!(null)), Vec::<Value>::new());
}
