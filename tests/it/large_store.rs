//! A store that has seen 100,000 webhooks.

use std::time::{Duration, Instant};

use hookbell::outbox::{self, Outbox, unix_ms};
use serde_json::{Value, json};

use crate::support::Gateway;
use crate::support::command::{Ran, hookbell};
use crate::support::gateway::Plan;
use crate::support::load::{self, NUMBERS};
use crate::support::samples::root;

const WEBHOOKS: u64 = 100_000;

/// 97,000 delivered, 1,000 dead, 2,000 waiting, each with its recorded webhook, all of the last hours.
const FILL: &str = "
    WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 100000)
    INSERT INTO webhook (id, received_at, source, size, head, body, verdict)
    SELECT randomblob(16), :now - 10000000 + n * 100, 'n', 600, '[\"POST\",[],[],[[\"host\",\"x\"]]]',
        CAST('{\"n\":' || n || ',\"x\":\"' || hex(zeroblob(250)) || '\"}' AS BLOB),
        '{\"outcome\":\"published\",\"rules\":[\"all\"]}' FROM n;
    INSERT INTO notification
        (state, due_at, received_at, waiting_since, settled_at, attempts, id, webhook, source, server, topic, rule, reason, payload)
    SELECT iif(seq % 100 = 0, 2, iif(seq % 50 = 1, 0, 1)), 0, received_at, received_at, received_at + 5, 1, randomblob(16), id,
        'n', 'default', 'numbers', 'all', iif(seq % 100 = 0, '40009 topic invalid', NULL),
        '{\"topic\":\"numbers\",\"message\":\"' || seq || '\",\"x\":\"' || hex(zeroblob(200)) || '\"}' FROM webhook;
";

fn fill(plan: &Plan) {
    let data = plan.data_folder();
    actix_web::rt::System::new().block_on(async {
        let (_, store) = Outbox::open(&data, &outbox::Options::default()).expect("a store");
        store.close().await;
    });
    let db = rusqlite::Connection::open(data.join("hookbell.db")).expect("a store");
    for statement in FILL.split_inclusive(';').filter(|statement| !statement.trim().is_empty()) {
        let mut statement = db.prepare(statement).expect("a statement");
        let now = unix_ms();
        let _ = statement.raw_bind_parameter(":now", now);
        statement.raw_execute().expect("to fill the store");
    }
}

/// Runs a command and tells how long it took.
fn timed(plan: &Plan, words: &[&str]) -> (Ran, Duration) {
    let data = plan.data_folder().display().to_string();
    let start = Instant::now();
    let ran = hookbell(root(), &[words, &["--data", &data]].concat(), &[]);
    (ran, start.elapsed())
}

fn json_of(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("no JSON ({e}): {}", ran.stderr))
}

/// The best of three: other tests run on this machine too.
fn best(mut measure: impl FnMut() -> Duration) -> Duration {
    (0..3).map(|_| measure()).min().expect("three")
}

#[test]
fn a_hundred_thousand_webhooks_slow_neither_the_start_nor_the_list_nor_the_answers() {
    // Nobody listens there: what waits goes on waiting.
    let plan = Gateway::with_rules(NUMBERS).env("NTFY_URL", "http://127.0.0.1:9").flag("--keep-size", "1GiB");
    fill(&plan);
    let start = best(|| {
        let begin = Instant::now();
        plan.start().kill();
        begin.elapsed()
    });
    assert!(start < Duration::from_secs(1), "started in {start:?}");
    let gateway = plan.start();
    let list = best(|| timed(&plan, &["outbox", "list"]).1);
    assert!(list < Duration::from_millis(200), "listed in {list:?}");
    let text = timed(&plan, &["outbox", "list"]).0.stdout;
    assert!(
        text.lines().count() == 51 && text.ends_with("… and older ones; raise --limit to see them\n"),
        "{text}"
    );
    let dead = json_of(&timed(&plan, &["outbox", "list", "--json", "--state", "dead", "--limit", "2000"]).0);
    assert_eq!((dead["notifications"].as_array().map(Vec::len), &dead["more"]), (Some(1000), &json!(false)));
    let scan = best(|| timed(&plan, &["outbox", "list", "--all", "--source", "nobody"]).1);
    assert!(scan < Duration::from_millis(400), "scanned in {scan:?}");
    let stats = json_of(&timed(&plan, &["outbox", "stats", "--json"]).0);
    let counts =
        ["waiting", "dead", "delivered", "webhooks"].map(|name| stats[name].as_u64().expect("a number"));
    assert_eq!(counts, [2000, 1000, 97_000, WEBHOOKS]);
    let p99 = best(|| {
        let mut times = load::send(gateway.webhooks, 2, 300).times;
        times.sort();
        times[times.len() * 99 / 100]
    });
    assert!(p99 < Duration::from_millis(50), "answered in {p99:?}");
}
