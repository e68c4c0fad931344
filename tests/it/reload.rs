//! Rules change while the gateway runs.

mod under_load;
mod ways;

use fake_ntfy::{FakeNtfy, Options};

use crate::support::gateway::Plan;
use crate::support::load::{self, PATH};
use crate::support::raw::Connection;
use crate::support::wait::until;
use crate::support::{Answer, Gateway};

const BROKEN: &str = "sources:\n  load:\n    pathh: /hooks/load\n";

/// A gateway whose rules give every notification the title `first`.
fn started(change: impl FnOnce(Plan) -> Plan) -> (FakeNtfy, Gateway) {
    let ntfy = FakeNtfy::start(Options::default());
    let gateway = change(Gateway::with_rules(&titled("first")).ntfy(&ntfy)).start();
    assert_eq!(title_now(&gateway, &ntfy), "first");
    (ntfy, gateway)
}

fn titled(title: &str) -> String {
    load::rules(title, "")
}

/// The title of a notification that is made now.
fn title_now(gateway: &Gateway, ntfy: &FakeNtfy) -> String {
    let id = fastrand::u64(..).to_string();
    let answer = gateway.post(PATH, &[], format!(r#"{{"id":"{id}"}}"#));
    assert_eq!(answer.status, 200, "{}", answer.text);
    until("the notification", || {
        let message = ntfy.messages().into_iter().find(|message| message["message"] == id)?;
        Some(message["title"].as_str().unwrap_or_default().to_owned())
    })
}

fn wait_for_title(gateway: &Gateway, ntfy: &FakeNtfy, title: &str) {
    until(&format!("the title {title:?}"), || (title_now(gateway, ntfy) == title).then_some(()));
}

/// Saves as editors do: the new content in a file of its own, renamed over the old one.
fn save(path: &std::path::Path, text: &str) {
    let temporary = path.with_extension("yaml~");
    std::fs::write(&temporary, text).expect("a file");
    std::fs::rename(&temporary, path).expect("to rename");
}

fn reload(gateway: &Gateway) -> Answer {
    gateway.admin("POST", "/-/reload")
}

#[test]
fn a_broken_file_keeps_the_old_rules_and_a_mended_one_clears_the_alarm() {
    let (ntfy, gateway) = started(|plan| plan);
    let file = gateway.rules_folder().join("rules.yaml");
    save(&file, BROKEN);
    until("stale rules", || (gateway.metric("hookbell_rules_stale") == Some(1.0)).then_some(()));
    let ready = gateway.admin("GET", "/readyz");
    assert_eq!(ready.status, 200, "stale rules still serve");
    let mistakes = ready.json()["rules"]["stale"]["mistakes"].to_string();
    assert!(mistakes.contains("pathh") && mistakes.contains("rules.yaml:3"), "{mistakes}");
    assert_eq!(title_now(&gateway, &ntfy), "first");
    save(&file, &titled("second"));
    until("fresh rules", || (gateway.metric("hookbell_rules_stale") == Some(0.0)).then_some(()));
    assert!(gateway.admin("GET", "/readyz").json()["rules"]["stale"].is_null());
    assert_eq!(title_now(&gateway, &ntfy), "second");
}

#[test]
fn a_request_in_flight_finishes_on_the_rules_it_started_with() {
    let (ntfy, gateway) = started(|plan| plan.flag("--watch", "off"));
    let body = r#"{"id":"slow"}"#;
    let mut connection = Connection::open(gateway.webhooks).expect("a connection");
    connection.begin(PATH, body.len()).expect("a head");
    save(&gateway.rules_folder().join("rules.yaml"), &titled("second"));
    assert_eq!(reload(&gateway).status, 200);
    assert_eq!(title_now(&gateway, &ntfy), "second");
    connection.send(body).expect("the body");
    assert_eq!(connection.answer().expect("an answer").status, 200);
    let messages = ntfy.wait_for_messages(3, crate::support::wait::PATIENCE);
    let slow = messages.iter().find(|message| message["message"] == "slow").expect("the slow one");
    assert_eq!(slow["title"], "first");
}

#[test]
fn servers_that_a_reload_changes_take_effect() {
    let (old, gateway) = started(|plan| plan.flag("--watch", "off"));
    let new = FakeNtfy::start(Options::default());
    let rules = titled("moved").replace("{ env: NTFY_URL }", &format!("\"{}\"", new.url()));
    save(&gateway.rules_folder().join("rules.yaml"), &rules);
    assert_eq!(reload(&gateway).status, 200);
    assert_eq!(title_now(&gateway, &new), "moved");
    assert_eq!(old.messages().len(), 1);
}
