//! Whatever was answered 200 arrives.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use fake_ntfy::{Behaviour, FakeNtfy, Options};

use crate::support::Gateway;
use crate::support::load::{self, Load, NUMBERS};
use crate::support::wait::until;

#[test]
fn killed_under_load_five_times_the_gateway_loses_nothing_it_accepted() {
    let ntfy = FakeNtfy::start(Options::default());
    // Slow enough that every kill finds something undelivered.
    ntfy.set(Behaviour { latency: Duration::from_millis(20), ..Behaviour::default() });
    let plan = Gateway::with_rules(NUMBERS).ntfy(&ntfy);
    let next = AtomicU64::new(0);
    let mut accepted = std::collections::BTreeSet::new();
    for round in 0..5 {
        let gateway = plan.start();
        let (to, stop) = (gateway.webhooks, AtomicBool::new(false));
        let load: Load = std::thread::scope(|scope| {
            let load = scope.spawn(|| load::run(to, 4, &next, &stop));
            let enough = next.load(Ordering::Relaxed) + 150;
            until("some load", || (next.load(Ordering::Relaxed) > enough).then_some(()));
            gateway.kill();
            stop.store(true, Ordering::Relaxed);
            load.join().expect("the load")
        });
        assert!(load.refused.is_empty(), "{:?}", load.refused);
        assert!(load.accepted.len() > 50, "round {round} accepted only {}", load.accepted.len());
        accepted.extend(load.accepted);
    }
    let _last = plan.start();
    load::wait_for(&ntfy, &accepted);
}

#[test]
fn what_came_while_ntfy_was_down_arrives_once_it_is_back() {
    let ntfy = FakeNtfy::start(Options::default());
    let port = ntfy.port();
    let gateway = Gateway::with_rules(NUMBERS).ntfy(&ntfy).start();
    ntfy.stop();
    let load = load::send(gateway.webhooks, 4, 40);
    assert_eq!((load.refused.len(), load.unanswered), (0, 0));
    assert!(gateway.metric("hookbell_queue_depth").is_some_and(|waiting| waiting >= 40.0));
    let back = FakeNtfy::start(Options { port: Some(port), ..Options::default() });
    load::wait_for(&back, &load.accepted);
    until("an empty queue", || (gateway.metric("hookbell_queue_depth") == Some(0.0)).then_some(()));
}

#[test]
fn senders_do_not_wait_for_an_ntfy_that_hangs() {
    let ntfy = FakeNtfy::start(Options::default());
    ntfy.set(Behaviour { hang: true, ..Behaviour::default() });
    let gateway = Gateway::with_rules(NUMBERS).ntfy(&ntfy).start();
    let mut load = load::send(gateway.webhooks, 4, 200);
    assert_eq!((load.refused.len(), load.unanswered), (0, 0));
    load.times.sort();
    let p90 = load.times[load.times.len() * 9 / 10];
    // An attempt at ntfy takes 10 s to time out; a commit takes milliseconds, on a busy machine tens of them.
    assert!(p90 < Duration::from_millis(500), "p90 {p90:?}");
}
