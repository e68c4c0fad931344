//! The operators' listener.

use std::os::unix::fs::symlink;

use fake_ntfy::Behaviour;
use serde_json::{Value, json};

use crate::support::gateway::SECRET;
use crate::support::wait::{PATIENCE, until};
use crate::support::wire::connect;
use crate::support::{Gateway, Scene};

const RULES: &str = "\
sources:
  on: { path: /on, rules: [{ name: yes, when: { $.yes: true }, publish: { topic: t, message: told } }] }
  off: { path: /off, verify: { bearer: { secrets: [{ env: OFF_SECRET }] } }, rules: [{ name: all, drop: true }] }
";

fn write(scene: &Scene, yaml: &str) {
    std::fs::write(scene.gateway.rules_folder().join("rules.yaml"), yaml).expect("to write");
}

fn metric(scene: &Scene, name: &str) -> f64 {
    scene.gateway.metric(name).unwrap_or(f64::NAN)
}

#[test]
fn a_healthy_gateway_says_so() {
    let scene = Scene::with_rules(RULES);
    let health = scene.gateway.admin("GET", "/healthz");
    assert_eq!((health.status, health.json()), (200, json!({ "status": "ok" })));
    let ready = scene.gateway.admin("GET", "/readyz");
    let rules = json!({
        "rules": 1, "sources": ["on"], "off": [{ "source": "off", "waits_for": ["OFF_SECRET"] }], "stale": null,
    });
    let expected = json!({ "ready": true, "rules": rules, "servers": {}, "store": { "writable": true } });
    assert_eq!((ready.status, ready.json()), (200, expected));
}

#[test]
fn a_broken_file_makes_the_rules_stale_until_it_is_mended() {
    let scene = Scene::start(Gateway::with_rules(RULES).flag("--watch", "off"));
    write(&scene, &RULES.replace("message", "mesage"));
    let refused = scene.gateway.admin("POST", "/-/reload");
    let place = scene.gateway.rules_folder().join("rules.yaml").display().to_string();
    let mistakes = json!([{
        "place": format!("{place}:2:85"), "message": "unknown key \"mesage\"", "help": "did you mean \"message\"?",
    }]);
    assert_eq!((refused.status, refused.json()), (422, json!({ "mistakes": mistakes })));
    let mut stale = scene.gateway.admin("GET", "/readyz");
    assert_eq!(stale.status, 200, "stale rules serve");
    let said = stale.json()["rules"]["stale"].clone();
    assert_eq!(said["mistakes"], mistakes);
    assert!(said["since"].as_str().is_some_and(|since| since.ends_with('Z')), "{said}");
    assert_eq!(metric(&scene, "hookbell_rules_stale"), 1.0);
    assert_eq!(scene.post("/on", &[], "{\"yes\":true}").len(), 1);

    write(&scene, &RULES.replace("told", "mended"));
    let reloaded = scene.gateway.admin("POST", "/-/reload");
    assert_eq!((reloaded.status, reloaded.json()), (200, json!({ "rules": 1 })));
    stale = scene.gateway.admin("GET", "/readyz");
    assert_eq!(stale.json()["rules"]["stale"], Value::Null);
    assert_eq!(scene.post("/on", &[], "{\"yes\":true}")[0]["message"], "mended");
    let counts = ["Ok", "Rejected"]
        .map(|result| metric(&scene, &format!("hookbell_reloads_total{{result=\"{result}\"}}")));
    assert_eq!((counts, metric(&scene, "hookbell_rules_stale")), ([1.0, 1.0], 0.0));
}

#[test]
fn a_change_that_is_watched_is_seen_without_being_told() {
    let scene = Scene::with_rules(RULES);
    write(&scene, "sources: [");
    until("stale rules", || (metric(&scene, "hookbell_rules_stale") == 1.0).then_some(()));
    write(&scene, &RULES.replace("told", "seen"));
    until("fresh rules", || (metric(&scene, "hookbell_rules_stale") == 0.0).then_some(()));
    assert_eq!(scene.post("/on", &[], "{\"yes\":true}")[0]["message"], "seen");
}

#[test]
fn a_hangup_reloads() {
    let scene = Scene::start(Gateway::with_rules(RULES).flag("--watch", "off"));
    write(&scene, &RULES.replace("told", "hung up"));
    scene.gateway.signal("HUP");
    scene.gateway.wait_for_log("rules reloaded");
    until("the new rules", || {
        let told = scene.post("/on", &[], "{\"yes\":true}");
        (told[0]["message"] == "hung up").then_some(())
    });
}

/// As Kubernetes mounts a config map: `..data` is a link that is swapped for another.
#[test]
fn a_swapped_link_is_seen_as_a_change() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mount, swapped) = (folder.path().join("mount"), folder.path().join("mount/..next"));
    for (name, word) in [("..1", "told"), ("..2", "swapped")] {
        std::fs::create_dir_all(mount.join(name)).expect("a folder");
        std::fs::write(mount.join(name).join("rules.yaml"), RULES.replace("told", word)).expect("a file");
    }
    symlink("..1", mount.join("..data")).expect("a link");
    symlink("..data/rules.yaml", mount.join("rules.yaml")).expect("a link");
    let scene = Scene::start(Gateway::with_rules(RULES).rules(&mount));
    assert_eq!(scene.post("/on", &[], "{\"yes\":true}")[0]["message"], "told");
    symlink("..2", &swapped).expect("a link");
    std::fs::rename(&swapped, mount.join("..data")).expect("to swap");
    until("the swapped rules", || {
        let told = scene.post("/on", &[], "{\"yes\":true}");
        (told[0]["message"] == "swapped").then_some(())
    });
}

#[test]
fn webhooks_are_counted_by_source_and_outcome() {
    let scene = Scene::with_rules(RULES);
    scene.post("/on", &[], "{\"yes\":true}");
    scene.post("/on", &[], "{}");
    scene.post("/on", &[], "{}");
    scene.gateway.request("GET", "/on", &[], b"");
    scene.gateway.post("/nowhere", &[], "{}");
    let count = |source: &str, outcome: &str| {
        metric(&scene, &format!("hookbell_webhooks_total{{source=\"{source}\",outcome=\"{outcome}\"}}"))
    };
    let counts =
        [count("on", "Accepted"), count("on", "Dropped"), count("on", "Refused"), count("none", "Refused")];
    assert_eq!(counts, [1.0, 2.0, 1.0, 1.0]);
    let settled = |state: &str| {
        metric(&scene, &format!("hookbell_notifications_total{{server=\"default\",state=\"{state}\"}}"))
    };
    until("a settled delivery", || (settled("Delivered") == 1.0).then_some(()));
    assert_eq!(settled("Enqueued"), 1.0);
    assert_eq!(metric(&scene, "hookbell_delivery_seconds_count{server=\"default\"}"), 1.0);
    assert_eq!(metric(&scene, "hookbell_rules"), 1.0);
    let started = metric(&scene, "hookbell_start_time_seconds");
    let now =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970").as_secs_f64();
    assert!((now - 60.0..=now).contains(&started), "{started}");
}

#[test]
fn the_queue_shows_while_ntfy_is_down() {
    let scene = Scene::with_rules(RULES);
    let empty = (metric(&scene, "hookbell_queue_depth"), metric(&scene, "hookbell_queue_oldest_seconds"));
    assert_eq!(empty, (0.0, 0.0));
    scene.ntfy.set(Behaviour { status: Some((500, 50001)), ..Behaviour::default() });
    for _ in 0..3 {
        assert_eq!(scene.gateway.post("/on", &[], "{\"yes\":true}").status, 200);
    }
    assert_eq!(metric(&scene, "hookbell_queue_depth"), 3.0);
    until("an older queue", || (metric(&scene, "hookbell_queue_oldest_seconds") >= 1.0).then_some(()));
    let retried = "hookbell_notifications_total{server=\"default\",state=\"Retried\"}";
    until("a retry", || (metric(&scene, retried) >= 1.0).then_some(()));
    scene.ntfy.set(Behaviour::default());
    scene.ntfy.wait_for_messages(3, PATIENCE);
    until("an empty queue", || (metric(&scene, "hookbell_queue_depth") == 0.0).then_some(()));
    assert_eq!(metric(&scene, "hookbell_queue_oldest_seconds"), 0.0);
    until("no delivery under way", || {
        (metric(&scene, "hookbell_deliveries_in_flight{server=\"default\"}") == 0.0).then_some(())
    });
}

#[test]
fn open_connections_are_counted_while_they_are_open() {
    let scene = Scene::with_rules(RULES);
    let held: Vec<_> = (0..5).map(|_| connect(scene.gateway.webhooks)).collect();
    until("five connections", || (metric(&scene, "hookbell_connections") == 5.0).then_some(()));
    drop(held);
    until("no connection", || (metric(&scene, "hookbell_connections") == 0.0).then_some(()));
}

#[test]
fn metrics_are_valid_openmetrics() {
    let scene = Scene::with_rules(RULES);
    scene.post("/on", &[], "{\"yes\":true}");
    let page = scene.gateway.admin("GET", "/metrics");
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert_eq!((page.status, page.header("Content-Type")), (200, Some(kind)));
    assert!(page.text.ends_with("\n# EOF\n"), "{}", page.text);
    let mut families: Vec<&str> = Vec::new();
    for line in page.text.lines().filter(|line| *line != "# EOF") {
        if let Some(described) = line.strip_prefix("# HELP ") {
            families.push(described.split(' ').next().expect("a name"));
        } else if !line.starts_with('#') {
            let (name, value) = line.rsplit_once(' ').expect("a value");
            let family = families.last().expect("HELP comes first");
            assert!(name.starts_with(family) && value.parse::<f64>().is_ok(), "{line}");
        }
    }
    let mut once = families.clone();
    once.sort_unstable();
    once.dedup();
    assert!(once.len() == families.len() && families.len() >= 11, "{families:?}");
    assert!(families.iter().all(|family| family.starts_with("hookbell_")), "{families:?}");
}

#[test]
fn each_listener_serves_its_own_only() {
    let scene = Scene::shipped();
    for (method, path) in [
        ("GET", "/"),
        ("GET", "/nothing"),
        ("POST", "/hooks/github"),
        ("GET", "/-/reload"),
        ("POST", "/metrics"),
    ] {
        let answer = scene.gateway.admin(method, path);
        assert_eq!(answer.status, 404, "{method} {path}");
    }
    let coolify = format!("/hooks/coolify/{SECRET}");
    assert_eq!(scene.gateway.admin("POST", &coolify).status, 404);
    for path in ["/healthz", "/readyz", "/metrics", "/-/reload"] {
        for method in ["GET", "POST"] {
            assert_eq!(scene.gateway.request(method, path, &[], b"").status, 404, "{method} {path}");
        }
    }
    let reloads = ["Ok", "Rejected"]
        .map(|result| metric(&scene, &format!("hookbell_reloads_total{{result=\"{result}\"}}")));
    assert_eq!(reloads, [0.0, 0.0]);
}
