//! Every way in which rules change on disk, and every way in which the gateway learns of it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::{reload, save, started, title_now, titled, wait_for_title};
use crate::support::load::PATH;
use crate::support::raw::Connection;
use crate::support::wait::until;

#[test]
fn a_file_saved_by_renaming_takes_effect() {
    let (ntfy, gateway) = started(|plan| plan);
    save(&gateway.rules_folder().join("rules.yaml"), &titled("renamed"));
    wait_for_title(&gateway, &ntfy, "renamed");
}

#[test]
fn a_file_written_in_place_takes_effect() {
    let (ntfy, gateway) = started(|plan| plan);
    fs::write(gateway.rules_folder().join("rules.yaml"), titled("in place")).expect("a file");
    wait_for_title(&gateway, &ntfy, "in place");
}

#[test]
fn a_file_removed_and_made_anew_takes_effect() {
    let (ntfy, gateway) = started(|plan| plan);
    let file = gateway.rules_folder().join("rules.yaml");
    fs::remove_file(&file).expect("to remove");
    fs::write(&file, titled("new inode")).expect("a file");
    wait_for_title(&gateway, &ntfy, "new inode");
}

#[test]
fn polling_sees_what_happens_too() {
    let (ntfy, gateway) = started(|plan| plan.flag("--watch", "poll"));
    let file = gateway.rules_folder().join("rules.yaml");
    save(&file, &titled("polled"));
    wait_for_title(&gateway, &ntfy, "polled");
    fs::write(&file, titled("polled in place")).expect("a file");
    wait_for_title(&gateway, &ntfy, "polled in place");
}

#[test]
fn a_hangup_signal_and_a_request_reload() {
    let (ntfy, gateway) = started(|plan| plan.flag("--watch", "off"));
    let file = gateway.rules_folder().join("rules.yaml");
    save(&file, &titled("by signal"));
    gateway.signal("HUP");
    wait_for_title(&gateway, &ntfy, "by signal");
    save(&file, &titled("by request"));
    let answer = reload(&gateway);
    assert_eq!((answer.status, answer.text.as_str()), (200, r#"{"rules":1}"#));
    assert_eq!(title_now(&gateway, &ntfy), "by request");
    save(&file, super::BROKEN);
    let answer = reload(&gateway);
    assert_eq!(answer.status, 422);
    assert!(answer.text.contains("pathh"), "{}", answer.text);
    assert_eq!(title_now(&gateway, &ntfy), "by request");
}

#[test]
fn a_file_added_brings_its_source_and_one_removed_takes_it_away() {
    let (_ntfy, gateway) = started(|plan| plan);
    let more = "sources: { more: { path: /hooks/more, rules: [{ name: quiet, drop: true }] } }\n";
    let folder = gateway.rules_folder().join("below");
    let status = || gateway.post("/hooks/more", &[], "{}").status;
    assert_eq!(status(), 404);
    fs::create_dir(&folder).expect("a folder");
    fs::write(folder.join("more.yaml"), more).expect("a file");
    until("the source", || (status() == 200).then_some(()));
    fs::remove_file(folder.join("more.yaml")).expect("to remove");
    until("the source to go", || (status() == 404).then_some(()));
}

/// What the kubelet does: a dated folder, `..data` that leads to it, and a link to each file through `..data`.
fn publish_config_map(folder: &Path, date: &str, text: &str) {
    let dated = format!("..{date}");
    fs::create_dir(folder.join(&dated)).expect("a folder");
    fs::write(folder.join(&dated).join("rules.yaml"), text).expect("a file");
    symlink(&dated, folder.join("..data_tmp")).expect("a link");
    fs::rename(folder.join("..data_tmp"), folder.join("..data")).expect("to swap");
}

#[test]
fn the_swap_of_a_kubernetes_config_map_takes_effect() {
    for watch in ["notify", "poll"] {
        let (ntfy, gateway) = started(|plan| {
            let folder = plan.rules_folder();
            fs::remove_file(folder.join("rules.yaml")).expect("to remove");
            publish_config_map(folder, "2026_12_01_10_00_00.1", &titled("first"));
            symlink("..data/rules.yaml", folder.join("rules.yaml")).expect("a link");
            plan.flag("--watch", watch)
        });
        let folder = gateway.rules_folder();
        publish_config_map(&folder, "2026_12_01_11_00_00.2", &titled("swapped"));
        fs::remove_dir_all(folder.join("..2026_12_01_10_00_00.1")).expect("to remove");
        wait_for_title(&gateway, &ntfy, "swapped");
    }
}

#[test]
fn the_swap_of_a_link_that_is_the_rules_folder_takes_effect() {
    let (ntfy, gateway) = started(|plan| {
        let folder = plan.rules_folder().to_owned();
        fs::rename(&folder, folder.with_file_name("checkout-1")).expect("to rename");
        symlink("checkout-1", &folder).expect("a link");
        plan
    });
    let folder = gateway.rules_folder();
    let checkout = folder.with_file_name("checkout-2");
    fs::create_dir(&checkout).expect("a folder");
    fs::write(checkout.join("rules.yaml"), titled("pulled")).expect("a file");
    symlink("checkout-2", folder.with_file_name("new-link")).expect("a link");
    fs::rename(folder.with_file_name("new-link"), &folder).expect("to swap");
    wait_for_title(&gateway, &ntfy, "pulled");
}

#[test]
fn a_connection_kept_over_a_reload_meets_the_new_rules() {
    let (ntfy, gateway) = started(|plan| plan.flag("--watch", "off"));
    let mut connection = Connection::open(gateway.webhooks).expect("a connection");
    for title in ["second", "third"] {
        save(&gateway.rules_folder().join("rules.yaml"), &titled(title));
        assert_eq!(reload(&gateway).status, 200);
        let answer = connection.post(PATH, &format!(r#"{{"id":"kept {title}"}}"#)).expect("an answer");
        assert_eq!(answer.status, 200);
        until(title, || {
            ntfy.messages().iter().any(|m| m["message"] == format!("kept {title}")).then_some(())
        });
    }
    let titles: Vec<_> = ntfy.messages().iter().map(|message| message["title"].clone()).collect();
    assert_eq!(titles, ["first", "second", "third"]);
}
