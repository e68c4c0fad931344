//! What Coolify can send beyond the samples.

use serde_json::{Value, json};

use crate::support::gateway::SECRET;
use crate::support::{Scene, samples};

/// The only notification a sample becomes after `edit`.
fn told(scene: &Scene, sample: &str, edit: impl FnOnce(&mut Value)) -> Value {
    let mut body = samples::one("coolify", sample).json();
    edit(&mut body);
    let mut all = scene.post_coolify(body.to_string().as_bytes());
    assert_eq!(all.len(), 1, "{all:#?}");
    all.remove(0)
}

fn remove(body: &mut Value, keys: &[&str]) {
    let fields = body.as_object_mut().expect("an object");
    fields.retain(|name, _| !keys.contains(&name.as_str()));
}

fn view(label: &str, url: &str) -> Value {
    json!({ "action": "view", "label": label, "url": url, "clear": false })
}

#[test]
fn a_preview_without_an_address_leads_nowhere_but_to_its_log() {
    let scene = Scene::shipped();
    let notification = told(&scene, "deployment_success_preview.json", |body| {
        remove(body, &["preview_fqdn"]);
        body["deployment_url"] = json!("https://coolify.example.com/log");
    });
    let expected = json!({
        "event": "message", "topic": "coolify", "title": "Shop / shop-api",
        "message": "New version successfully deployed\nEnvironment: production",
        "priority": 3, "tags": ["white_check_mark"], "click": "https://coolify.example.com/log",
        "actions": [view("Deployment log", "https://coolify.example.com/log")],
    });
    assert_eq!(notification, expected);
}

#[test]
fn an_application_with_several_addresses_has_no_button_to_open_it() {
    let scene = Scene::shipped();
    let several = json!("https://a.example.com,https://b.example.com");
    let notification = told(&scene, "deployment_success.json", |body| body["fqdn"] = several);
    assert_eq!(notification["actions"].as_array().map(Vec::len), Some(1));
    let notification = told(&scene, "deployment_success.json", |body| body["fqdn"] = Value::Null);
    assert_eq!(notification["actions"].as_array().map(Vec::len), Some(1));
}

#[test]
fn titles_and_texts_fall_back_when_fields_are_missing() {
    let scene = Scene::shipped();
    let bare = scene.post_coolify(br#"{"event":"deployment_failed","success":false}"#);
    let expected = json!([{
        "event": "message", "topic": "coolify", "title": "Coolify", "message": "deployment_failed",
        "priority": 5, "tags": ["x"],
    }]);
    assert_eq!(json!(bare), expected);
    let alone = told(&scene, "deployment_failed.json", |body| remove(body, &["project", "environment"]));
    assert_eq!(alone["title"], "shop-api");
    assert_eq!(alone["message"], "Deployment failed");
}

#[test]
fn success_that_is_absent_is_no_failure() {
    let notification =
        told(&Scene::shipped(), "server_reachable.json", |body| remove(body, &["success", "url"]));
    let expected = json!({
        "event": "message", "topic": "coolify", "title": "web-1", "message": "Server revived",
        "priority": 3, "tags": ["white_check_mark"],
    });
    assert_eq!(notification, expected);
}

#[test]
fn an_event_of_the_future_is_told_by_what_all_have_in_common() {
    let body = json!({
        "success": false, "message": "Hetzner deletion failed", "event": "hetzner_deletion_failed",
        "server_name": "web-9", "error": "no such server\n", "url": "https://coolify.example.com/server/9",
    });
    let expected = json!([{
        "event": "message", "topic": "coolify", "title": "web-9",
        "message": "Hetzner deletion failed\nno such server", "priority": 5, "tags": ["x"],
        "click": "https://coolify.example.com/server/9",
        "actions": [view("Open in Coolify", "https://coolify.example.com/server/9")],
    }]);
    assert_eq!(json!(Scene::shipped().post_coolify(body.to_string().as_bytes())), expected);
}

#[test]
fn events_without_a_sample_are_told() {
    let scene = Scene::shipped();
    let sentence = "TCP Proxy for orders database has been disabled due to error: port 5432 is taken";
    let proxy = told(&scene, "container_restarted.json", |body| body["container_name"] = json!(sentence));
    let expected = json!({
        "event": "message", "topic": "coolify", "title": "web-1", "message": sentence, "priority": 4, "tags": ["warning"],
    });
    assert_eq!(proxy, expected);

    let s3 = told(&scene, "backup_success.json", |body| {
        remove(body, &["url"]);
        body["event"] = json!("backup_success_with_s3_warning");
        body["message"] = json!("Database backup succeeded locally, S3 upload failed");
        body["s3_error"] = json!("403 Forbidden");
        body["s3_storage_url"] = json!("https://coolify.example.com/storages/1");
    });
    let expected = json!({
        "event": "message", "topic": "coolify", "title": "orders-db",
        "message": "Database backup succeeded locally, S3 upload failed\nDatabase: orders\nS3: 403 Forbidden",
        "priority": 4, "tags": ["warning"],
        "actions": [view("Open S3 storage", "https://coolify.example.com/storages/1")],
    });
    assert_eq!(s3, expected);

    let error = told(&scene, "server_patch_check.json", |body| {
        remove(body, &["url", "updates", "total_updates", "critical_packages_count"]);
        body["event"] = json!("server_patch_check_error");
        body["message"] = json!("Failed to check patches");
        body["package_manager"] = json!("apt");
        body["error"] = json!("apt is locked");
    });
    let expected = json!({
        "event": "message", "topic": "coolify", "title": "web-1",
        "message": "Failed to check patches\nPackage manager: apt\napt is locked", "priority": 5, "tags": ["x"],
    });
    assert_eq!(error, expected);
}

#[test]
fn lists_are_cut_short_and_say_so() {
    let scene = Scene::shipped();
    let update = |n: usize| json!({ "package": format!("p{n}"), "new_version": "2", "current_version": "1" });
    let patches = told(&scene, "server_patch_check.json", |body| {
        body["updates"] = (1..=11).map(update).collect();
        body["total_updates"] = json!(11);
        body["critical_packages_count"] = json!(0);
    });
    let lines: String = (1..=10).map(|n| format!("- p{n} 1 → 2\n")).collect();
    assert_eq!(patches["message"], format!("11 updates available\n{lines}…"));
    assert_eq!(patches["priority"], 3);
    let server = |n: usize| {
        json!({ "name": format!("s{n}"), "current_version": "3.5.0", "latest_version": "3.5.6",
        "update_type": "minor_upgrade", "upgrade_target": "v3.6" })
    };
    let traefik = told(&scene, "traefik_version_outdated.json", |body| {
        body["servers"] = (1..=2).map(server).collect();
        body["affected_servers_count"] = json!(2);
    });
    assert_eq!(traefik["title"], "Traefik on 2 servers");
    let text = "Traefik proxy outdated\n- s1: 3.5.0 → 3.5.6 (upgrade to v3.6)\n- s2: 3.5.0 → 3.5.6 (upgrade to v3.6)";
    assert_eq!(traefik["message"], text);
}

#[test]
fn compact_json_with_escapes_arrives_as_what_it_means() {
    let body = r#"{"success":true,"message":"Nowa wersja wdro\u017cona \ud83d\ude80","event":"deployment_success","application_name":"Za\u017c\u00f3\u0142\u0107, sp. z o.o.","deployment_url":"https:\/\/coolify.example.com\/d","project":"G\u0119\u015bla","environment":"produkcja"}"#;
    let expected = json!([{
        "event": "message", "topic": "coolify", "title": "Gęśla / Zażółć, sp. z o.o.",
        "message": "Nowa wersja wdrożona 🚀\nEnvironment: produkcja", "priority": 3, "tags": ["white_check_mark"],
        "click": "https://coolify.example.com/d", "actions": [view("Deployment log", "https://coolify.example.com/d")],
    }]);
    assert_eq!(json!(Scene::shipped().post_coolify(body.as_bytes())), expected);
}

#[test]
fn a_body_that_cannot_be_read_is_told_as_it_is() {
    let scene = Scene::shipped();
    let path = format!("/hooks/coolify/{SECRET}");
    let told = scene.post(&path, &[("Content-Type", "application/json")], "{\"success\": tru\u{1b}[31m");
    let expected = json!([{
        "event": "message", "topic": "coolify", "title": "coolify", "message": "{\"success\": tru[31m", "tags": ["warning"],
    }]);
    assert_eq!(json!(told), expected);
}
