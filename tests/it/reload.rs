//! Rules reload while traffic flows: all of them or none.

use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use fake_ntfy::{FakeNtfy, Options};

use crate::support::Gateway;
use crate::support::load::{self, NUMBERS};
use crate::support::wait::until;
use crate::support::wire;

/// Rules that answer with a word, so that it shows which are in force.
fn saying(word: &str) -> String {
    format!(
        "sources:\n  n:\n    path: /n\n    rules: [{{ name: all, publish: {{ topic: numbers, message: \"{word} {{{{body.n}}}}\" }} }}]\n"
    )
}

/// As editors do: a new file, renamed over the old one.
fn save_by_rename(file: &Path, text: &str) {
    let new = file.with_extension("tmp");
    std::fs::write(&new, text).expect("to write");
    std::fs::rename(new, file).expect("to rename");
}

/// Waits until a webhook is answered in the new words.
fn wait_until_said(gateway: &Gateway, ntfy: &FakeNtfy, word: &str) {
    until(&format!("rules that say {word:?}"), || {
        let before = ntfy.messages().len();
        assert_eq!(gateway.post("/n", &[], "{\"n\":1}").status, 200);
        let message = ntfy.wait_for_messages(before + 1, Duration::from_secs(10));
        (message[before]["message"] == format!("{word} 1")).then_some(())
    });
}

#[test]
fn every_way_of_saving_is_noticed_by_events_and_by_polling() {
    for watch in ["notify", "poll"] {
        let ntfy = FakeNtfy::start(Options::default());
        let gateway = Gateway::with_rules(&saying("first")).ntfy(&ntfy).flag("--watch", watch).start();
        let file = gateway.rules_folder().join("rules.yaml");
        wait_until_said(&gateway, &ntfy, "first");
        std::fs::write(&file, saying("written")).expect("to write");
        wait_until_said(&gateway, &ntfy, "written");
        save_by_rename(&file, &saying("renamed"));
        wait_until_said(&gateway, &ntfy, "renamed");
        let added = "sources:\n  more: { path: /more, rules: [{ name: r, drop: true }] }\n";
        std::fs::write(gateway.rules_folder().join("more.yml"), added).expect("to write");
        until("the added source", || (gateway.post("/more", &[], "{}").status == 200).then_some(()));
        std::fs::remove_file(gateway.rules_folder().join("more.yml")).expect("to remove");
        until("the source to go", || (gateway.post("/more", &[], "{}").status == 404).then_some(()));
    }
}

#[test]
fn a_request_in_flight_finishes_on_the_rules_it_started_with() {
    let ntfy = FakeNtfy::start(Options::default());
    let gateway = Gateway::with_rules(&saying("old")).ntfy(&ntfy).start();
    let mut slow = wire::connect(gateway.webhooks);
    slow.write_all(b"POST /n HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 7\r\n\r\n{\"n\"")
        .expect("to send");
    // Answered on another connection later, so the first request has been taken up by then.
    until("the request to be taken up", || {
        gateway.metric("hookbell_connections").is_some_and(|open| open >= 1.0).then_some(())
    });
    assert_eq!(gateway.post("/n", &[], "{\"n\":0}").status, 200);
    std::fs::write(gateway.rules_folder().join("rules.yaml"), saying("new")).expect("to write");
    wait_until_said(&gateway, &ntfy, "new");
    slow.write_all(b":2}").expect("to send the rest");
    assert_eq!(wire::status(&wire::rest(&mut slow)), Some(200));
    until("its notification", || ntfy.messages().iter().any(|m| m["message"] == "old 2").then_some(()));
}

#[test]
fn servers_change_with_the_rules() {
    let (old, new) = (FakeNtfy::start(Options::default()), FakeNtfy::start(Options::default()));
    let rules = |ntfy: &FakeNtfy| format!("servers: {{ default: {{ url: \"{}\" }} }}\n{NUMBERS}", ntfy.url());
    let gateway = Gateway::with_rules(&rules(&old)).start();
    assert_eq!(gateway.post("/n", &[], "{\"n\":1}").status, 200);
    old.wait_for_messages(1, Duration::from_secs(10));
    std::fs::write(gateway.rules_folder().join("rules.yaml"), rules(&new)).expect("to write");
    assert_eq!(gateway.admin("POST", "/-/reload").status, 200);
    assert_eq!(gateway.post("/n", &[], "{\"n\":2}").status, 200);
    new.wait_for_messages(1, Duration::from_secs(10));
    assert_eq!(old.messages().len(), 1);
}

#[test]
fn two_hundred_reloads_under_load_lose_and_refuse_nothing_and_broken_files_never_take_effect() {
    let ntfy = FakeNtfy::start(Options::default());
    let gateway = Gateway::with_rules(NUMBERS).ntfy(&ntfy).start();
    let file = gateway.rules_folder().join("rules.yaml");
    let (next, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let to = gateway.webhooks;
    // Broken in another way each, and all of them would show: the topic or the message would differ.
    let broken = [
        NUMBERS.replace("topic: numbers", "topic: broken topic"),
        NUMBERS.replace("{{body.n}}", "{{bdy.n}}"),
        NUMBERS.replace("sources:", "sources: ["),
    ];
    let mut statuses = Vec::new();
    let load = std::thread::scope(|scope| {
        let load = scope.spawn(|| load::run(to, 4, &next, &stop));
        for round in 0..200 {
            let good = round % 2 == 0;
            let comment = format!("# round {round}\n");
            let text = if good { NUMBERS } else { &broken[round % broken.len()] };
            save_by_rename(&file, &(comment + text));
            statuses.push((good, gateway.admin("POST", "/-/reload").status));
        }
        while next.load(Ordering::Relaxed) <= 2_000 {
            std::thread::sleep(Duration::from_millis(5));
        }
        stop.store(true, Ordering::Relaxed);
        load.join().expect("the load")
    });
    let wrong = |(good, status): &&(bool, u16)| *status != if *good { 200 } else { 422 };
    assert_eq!(statuses.iter().find(wrong), None);
    assert_eq!((load.refused, load.unanswered), (Vec::new(), 0));
    assert!(load.accepted.len() >= 2_000, "{}", load.accepted.len());
    load::wait_for(&ntfy, &load.accepted);
    let strange: Vec<_> = ntfy.messages().into_iter().filter(|m| m["topic"] != "numbers").collect();
    assert!(strange.is_empty(), "{strange:#?}");
}

#[test]
fn rules_whose_own_case_fails_do_not_take_effect_while_traffic_flows() {
    let ntfy = FakeNtfy::start(Options::default());
    let plan = Gateway::with_rules(&saying("good"));
    let case = "cases:\n  - { name: it says so, request: { body: { n: 1 } }, expect: { notifications: [{ message: good 1 }] } }\n";
    let gateway = {
        let plan = plan.ntfy(&ntfy).env("HOOKBELL_REQUIRE_TESTS", "true");
        let tests = plan.rules_folder().join("tests");
        std::fs::create_dir(&tests).expect("a folder");
        std::fs::write(tests.join("n.yaml"), case).expect("a case");
        plan.start()
    };
    let (next, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let to = gateway.webhooks;
    let (answer, load) = std::thread::scope(|scope| {
        let load = scope.spawn(|| load::run(to, 2, &next, &stop));
        std::fs::write(gateway.rules_folder().join("rules.yaml"), saying("bad")).expect("to write");
        let answer = gateway.admin("POST", "/-/reload");
        stop.store(true, Ordering::Relaxed);
        (answer, load.join().expect("the load"))
    });
    assert_eq!(answer.status, 422, "{}", answer.text);
    assert!(answer.text.contains("case \\\"it says so\\\" fails"), "{}", answer.text);
    assert_eq!((load.refused, load.unanswered), (Vec::new(), 0));
    let all = ntfy.wait_for_messages(load.accepted.len(), Duration::from_secs(10));
    assert!(all.iter().all(|m| m["message"].as_str().is_some_and(|text| text.starts_with("good "))));
    assert_eq!(gateway.metric("hookbell_rules_stale"), Some(1.0));
}
