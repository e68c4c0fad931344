//! Two hundred reloads under load: nothing is lost, nothing refused, nothing broken takes effect.

use std::time::Duration;

use super::{reload, save, started, titled};
use crate::support::load::{Load, arrived};
use crate::support::wait::until;

const RELOADS: usize = 200;
const REQUESTS: usize = 2_000;

/// Broken in four ways, each of which would give the title `broken` were any of it to take effect.
fn broken(number: usize) -> String {
    let rules = titled("broken");
    match number % 4 {
        0 => rules.replace("topic: load", "topic: load, titel: x"),
        1 => rules.replace("{{body.id}}", "{{body.id"),
        2 => rules.replace("topic: load", "topic: \"no topic\""),
        _ => format!("{rules}  - ]\n"),
    }
}

#[test]
fn two_hundred_reloads_under_load_lose_and_refuse_nothing() {
    let (ntfy, gateway) = started(|plan| plan);
    let file = gateway.rules_folder().join("rules.yaml");
    let load = Load::start(gateway.webhooks, "reload", 4, Duration::from_millis(5));
    for number in 0..RELOADS {
        let good = number % 2 == 0;
        let rules = if good { titled(&format!("good {number}")) } else { broken(number / 2) };
        save(&file, &rules);
        let stale = if good { 0.0 } else { 1.0 };
        if number % 8 < 4 {
            assert_eq!(reload(&gateway).status, if good { 200 } else { 422 });
            assert_eq!(gateway.metric("hookbell_rules_stale"), Some(stale));
        } else {
            until("the reload", || (gateway.metric("hookbell_rules_stale") == Some(stale)).then_some(()));
        }
    }
    until("enough requests", || (load.sent() >= REQUESTS).then_some(()));
    let outcome = load.stop();
    assert_eq!(outcome.failures, [""; 0]);
    until("all notifications", || outcome.accepted.is_subset(&arrived(&ntfy)).then_some(()));
    let messages = ntfy.messages();
    assert!(messages.iter().all(|message| message["title"] != "broken"));
    let titles: std::collections::BTreeSet<_> = messages.iter().map(|m| m["title"].to_string()).collect();
    eprintln!(
        "{} requests over {RELOADS} reloads met {} sets of rules",
        outcome.accepted.len(),
        titles.len()
    );
    assert!(titles.len() > RELOADS / 10, "the load met few of the rules: {titles:?}");
}
