//! Whatever was answered 200 arrives.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fake_ntfy::{Behaviour, FakeNtfy, Options};
use serde_json::Value;

use crate::support::Gateway;
use crate::support::command::hookbell;
use crate::support::gateway::Plan;
use crate::support::load::{self, Load, NUMBERS};
use crate::support::samples::root;
use crate::support::wait::until;

/// Some numbers go to a topic that ntfy refuses for good.
const SOME_REFUSED: &str = "\
sources:
  n:
    path: /n
    rules:
      - name: some
        when: { any: [{ $.n: { lt: 50 } }, { $.n: { gte: 500, lt: 600 } }, { $.n: { gte: 1500, lt: 1600 } }] }
        publish: { topic: refused, message: \"{{body.n}}\" }
      - { name: all, publish: { topic: numbers, message: \"{{body.n}}\" } }
";

fn is_refused(number: u64) -> bool {
    number < 50 || (500..600).contains(&number) || (1500..1600).contains(&number)
}

fn failing_now_and_then() -> Behaviour {
    let refuse = vec![("refused".to_owned(), 400, 40009)];
    // Slow enough that every kill finds something undelivered.
    let latency = Duration::from_millis(2);
    Behaviour { latency, failure_rate: 0.1, refuse, ..Behaviour::default() }
}

/// Starts a gateway, lets senders post until a random moment, and ends it as a power cut would.
fn cut_short(plan: &Plan, next: &AtomicU64) -> BTreeSet<u64> {
    let gateway = plan.start();
    let (to, stop) = (gateway.webhooks, AtomicBool::new(false));
    let load: Load = std::thread::scope(|scope| {
        let load = scope.spawn(|| load::run(to, 4, next, &stop));
        let enough = next.load(Ordering::Relaxed) + fastrand::u64(1..60);
        until("some load", || (next.load(Ordering::Relaxed) > enough).then_some(()));
        gateway.kill();
        stop.store(true, Ordering::Relaxed);
        load.join().expect("the load")
    });
    assert!(load.refused.is_empty(), "{:?}", load.refused);
    load.accepted
}

/// The state of every number in the store.
fn states(plan: &Plan) -> BTreeMap<u64, String> {
    let data = plan.data_folder().display().to_string();
    let words = ["outbox", "list", "--all", "--json", "--limit", "1000000", "--data", &data];
    let told: Value = serde_json::from_str(&hookbell(root(), &words, &[]).stdout).expect("JSON");
    let state = |entry: &Value| {
        let number = entry["text"].as_str()?.parse().ok()?;
        Some((number, entry["state"].as_str()?.to_owned()))
    };
    told["notifications"].as_array().expect("a list").iter().filter_map(state).collect()
}

#[test]
fn killed_at_fifty_random_moments_the_gateway_loses_nothing_it_accepted_and_doubles_nothing_unseen() {
    let ntfy = FakeNtfy::start(Options::default());
    ntfy.set(failing_now_and_then());
    let plan = Gateway::with_rules(SOME_REFUSED).ntfy(&ntfy);
    let (next, mut accepted) = (AtomicU64::new(0), BTreeSet::new());
    for _ in 0..50 {
        accepted.extend(cut_short(&plan, &next));
    }
    assert!(accepted.len() > 500, "accepted only {}", accepted.len());
    let kept = states(&plan);
    let lost: Vec<_> = accepted.iter().filter(|number| !kept.contains_key(number)).collect();
    assert!(lost.is_empty(), "neither delivered nor pending nor dead: {lost:?}");
    let there: BTreeSet<u64> = load::arrived(&ntfy).into_iter().collect();
    let untrue: Vec<_> =
        kept.iter().filter(|(number, state)| *state == "delivered" && !there.contains(number)).collect();
    assert!(untrue.is_empty(), "called delivered, but not there: {untrue:?}");
    ntfy.set(Behaviour { failure_rate: 0.0, ..failing_now_and_then() });
    let _last = plan.start();
    let (refused, wanted): (BTreeSet<u64>, _) = accepted.iter().partition(|number| is_refused(**number));
    load::wait_for(&ntfy, &wanted);
    until("what is refused to be dead", || {
        let states = states(&plan);
        refused.iter().all(|number| states.get(number).is_some_and(|state| state == "dead")).then_some(())
    });
    let mut sequences: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for message in ntfy.messages() {
        let sequence = message["sequence_id"].to_string();
        sequences.entry(message["message"].to_string()).or_default().insert(sequence);
    }
    let unseen: Vec<_> = sequences.iter().filter(|(_, ids)| ids.len() != 1).collect();
    assert!(unseen.is_empty(), "doubles that do not replace each other: {unseen:?}");
}

#[test]
fn two_thousand_webhooks_wait_for_an_ntfy_that_is_down_which_is_asked_once_a_second_at_the_most() {
    let ntfy = FakeNtfy::start(Options::default());
    ntfy.set(Behaviour { close: true, ..Behaviour::default() });
    let gateway = Gateway::with_rules(NUMBERS).ntfy(&ntfy).start();
    let start = Instant::now();
    let load = load::send(gateway.webhooks, 4, 2000);
    assert_eq!((load.refused.len(), load.unanswered), (0, 0));
    until("some seconds of being down", || (start.elapsed() > Duration::from_secs(6)).then_some(()));
    let (seconds, asked) = (start.elapsed().as_secs(), ntfy.stats().requests);
    // The first attempt met a connection that might have been a stale one: it was sent three times.
    assert!(asked <= 3 + seconds, "asked {asked} times in {seconds} s");
    assert!(asked >= 5, "asked {asked} times in {seconds} s");
    ntfy.set(Behaviour::default());
    load::wait_for(&ntfy, &load.accepted);
    let arrived = load::arrived(&ntfy);
    assert_eq!(arrived.len(), load.accepted.len(), "none twice");
    until("an empty queue", || (gateway.metric("hookbell_queue_depth") == Some(0.0)).then_some(()));
}

#[test]
fn a_connection_that_ntfy_closes_after_three_idle_seconds_loses_nothing() {
    let ntfy = FakeNtfy::start(Options::default());
    ntfy.set(Behaviour { keep_alive: Some(Duration::from_secs(3)), ..Behaviour::default() });
    let gateway = Gateway::with_rules(NUMBERS).ntfy(&ntfy).start();
    let start = Instant::now();
    for round in 0..10_u32 {
        let at = Duration::from_secs(5) * round;
        std::thread::sleep(at.saturating_sub(start.elapsed()));
        assert_eq!(gateway.post("/n", &[], format!("{{\"n\":{round}}}")).status, 200);
        // Well before the next one: it did not need a later attempt.
        ntfy.wait_for_messages(round as usize + 1, Duration::from_secs(2));
    }
    assert_eq!(load::arrived(&ntfy), (0..10).collect::<Vec<_>>());
    assert!(ntfy.stats().connections_total >= 9, "the connections were not closed: {:?}", ntfy.stats());
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
    // The best of five: other tests run on this machine too.
    let mut best = Duration::MAX;
    for _ in 0..5 {
        let mut load = load::send(gateway.webhooks, 2, 500);
        assert_eq!((load.refused.len(), load.unanswered), (0, 0));
        load.times.sort();
        best = best.min(load.times[load.times.len() * 99 / 100]);
    }
    assert!(best < Duration::from_millis(50), "p99 {best:?}");
}
