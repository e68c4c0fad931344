//! The store when its disk, its file or its schema is not as it should be.

use std::time::Duration;

use rusqlite::Connection;
use tempfile::TempDir;
use uuid::Uuid;

use super::browse::Browser;
use super::prune::PRUNE;
use super::{OpenError, Order, Store, due, unix_ms, wishes};
use crate::outbox::{
    Enqueued, Filter, Kept, Once, Options, Outgoing, Record, Settlement, Unavailable, Verdict,
    VerdictOutcome, Webhook,
};

const KEEP: Duration = Duration::from_secs(60);
const KEEP_SIZE: u64 = 1 << 20;
const TOOK: Duration = Duration::from_millis(7);

pub(super) fn options() -> Options {
    Options { keep: KEEP, keep_size: KEEP_SIZE, ..Options::default() }
}

fn store() -> (TempDir, Store) {
    let data = TempDir::new().unwrap();
    let store = Store::open(data.path(), &options()).unwrap();
    (data, store)
}

pub(super) fn webhook(payload: &str) -> Webhook {
    let one = Outgoing {
        id: Uuid::now_v7(),
        server: "main".to_owned(),
        topic: "ci".to_owned(),
        rule: "any".to_owned(),
        sequence: None,
        payload: payload.to_owned(),
    };
    Webhook {
        id: Uuid::now_v7(),
        source: "test".to_owned(),
        received_at: 1,
        record: None,
        verdict: Verdict { outcome: VerdictOutcome::Published, rules: vec!["any".to_owned()], first: None },
        once: None,
        notifications: vec![one],
    }
}

/// One group of one command.
pub(super) fn alone<T>(
    store: &mut Store,
    command: impl FnOnce(&mut Store) -> Result<T, Unavailable>,
) -> Result<T, Unavailable> {
    store.begin();
    let result = command(store);
    store.commit().and(result)
}

fn waiting(store: &mut Store) -> u64 {
    alone(store, Store::depth).unwrap().waiting
}

#[test]
fn a_full_disk_refuses_webhooks_and_recovers_by_itself() {
    let (_data, mut store) = store();
    let pages: i64 = store.db.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    store.db.pragma_update(None, "max_page_count", pages).unwrap();
    let large = webhook(&"x".repeat(100_000));
    let refused = alone(&mut store, |store| store.enqueue(&large));
    assert_eq!(refused, Err(Unavailable::Failing("database or disk is full".to_owned())));
    assert_eq!(waiting(&mut store), 0);
    store.db.pragma_update(None, "max_page_count", 1_000_000).unwrap();
    assert_eq!(alone(&mut store, |store| store.enqueue(&large)), Ok(Enqueued::Stored));
    assert_eq!(waiting(&mut store), 1);
}

#[test]
fn a_disk_that_fills_up_within_a_group_fails_all_of_it() {
    let (_data, mut store) = store();
    let pages: i64 = store.db.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    store.db.pragma_update(None, "max_page_count", pages).unwrap();
    store.begin();
    store.enqueue(&webhook("small")).unwrap();
    let claimed = store.claim("main", 1, Order::Topic, 1).unwrap();
    assert_eq!(claimed.deliveries.len(), 1);
    assert!(store.enqueue(&webhook(&"x".repeat(100_000))).is_err());
    assert!(store.enqueue(&webhook("small")).is_err());
    assert!(store.commit().is_err());
    assert_eq!(waiting(&mut store), 0);
    assert_eq!(store.ledger.claimed_seq(claimed.deliveries[0].id), None);
}

#[test]
fn a_webhook_that_fails_halfway_leaves_nothing_and_its_group_stays() {
    let (_data, mut store) = store();
    let poison = "CREATE TEMP TRIGGER poison BEFORE INSERT ON main.notification WHEN new.payload = 'bad' \
        BEGIN SELECT RAISE(ABORT, 'poisoned'); END";
    store.db.execute_batch(poison).unwrap();
    let mut half = recorded(1);
    half.once = Some(Once { key: "key".to_owned(), window: KEEP });
    half.notifications = ["good", "bad"].iter().flat_map(|payload| webhook(payload).notifications).collect();
    store.begin();
    store.enqueue(&webhook("before")).unwrap();
    assert_eq!(store.enqueue(&half), Err(Unavailable::Failing("poisoned".to_owned())));
    store.enqueue(&webhook("after")).unwrap();
    store.commit().unwrap();
    assert_eq!((rows(&store), waiting(&mut store)), (2, 2));
    let left = "SELECT (SELECT count(*) FROM webhook) + (SELECT count(*) FROM seen)";
    assert_eq!(store.db.query_row(left, [], |row| row.get::<_, i64>(0)), Ok(0));
    half.notifications.pop();
    assert_eq!(alone(&mut store, |store| store.enqueue(&half)), Ok(Enqueued::Stored));
}

#[test]
fn a_store_that_cannot_be_written_says_so_and_keeps_its_claims() {
    let (_data, mut store) = store();
    alone(&mut store, |store| store.enqueue(&webhook("{}"))).unwrap();
    let id = alone(&mut store, |store| store.claim("main", 1, Order::Topic, 1)).unwrap().deliveries[0].id;
    let done = Settlement::Delivered { receipt: None };
    store.db.pragma_update(None, "query_only", true).unwrap();
    assert!(alone(&mut store, Store::probe).is_err());
    assert!(alone(&mut store, |store| store.settle(id, &done, TOOK)).is_err());
    assert!(
        alone(&mut store, |store| store.claim("main", 1, Order::Topic, 1)).unwrap().deliveries.is_empty()
    );
    store.db.pragma_update(None, "query_only", false).unwrap();
    assert_eq!(alone(&mut store, Store::probe), Ok(()));
    alone(&mut store, |store| store.settle(id, &done, TOOK)).unwrap();
    assert_eq!(waiting(&mut store), 0);
}

#[test]
fn only_a_write_proves_that_a_failing_store_works_again() {
    let (_data, mut store) = store();
    store.db.pragma_update(None, "query_only", true).unwrap();
    let before = store.changes();
    assert!(alone(&mut store, Store::probe).is_err());
    assert!(matches!(store.health(before), Some(Err(_))));
    alone(&mut store, Store::depth).unwrap();
    assert_eq!(store.health(before), None);
    store.db.pragma_update(None, "query_only", false).unwrap();
    alone(&mut store, Store::probe).unwrap();
    assert_eq!(store.health(before), Some(Ok(())));
}

#[test]
fn what_was_kept_long_enough_is_pruned_and_the_rest_stays() {
    let (_data, mut store) = store();
    for _ in 0..3 {
        alone(&mut store, |store| store.enqueue(&webhook("{}"))).unwrap();
    }
    let claimed = alone(&mut store, |store| store.claim("main", 2, Order::Topic, 1)).unwrap().deliveries;
    let dead = Settlement::Dead { reason: "40009".to_owned() };
    alone(&mut store, |store| store.settle(claimed[0].id, &dead, TOOK)).unwrap();
    alone(&mut store, |store| store.settle(claimed[1].id, &Settlement::Delivered { receipt: None }, TOOK))
        .unwrap();
    assert!(!store.prune_some());
    assert_eq!(rows(&store), 3);
    store.db.execute("UPDATE notification SET settled_at = 1 WHERE state <> 0", []).unwrap();
    store.schedule.by_age = std::time::Instant::now();
    assert!(!store.prune_some());
    assert_eq!((rows(&store), alone(&mut store, Store::depth).unwrap().dead), (1, 0));
}

fn rows(store: &Store) -> i64 {
    store.db.query_row("SELECT count(*) FROM notification", [], |row| row.get(0)).unwrap()
}

#[test]
fn claiming_and_pruning_walk_an_index() {
    let (_data, store) = store();
    let plan = |query: &str| -> String {
        let mut statement = store.db.prepare(&format!("EXPLAIN QUERY PLAN {query}")).unwrap();
        let steps = statement.raw_query().mapped(|row| row.get::<_, String>(3));
        steps.map(Result::unwrap).collect::<Vec<_>>().join("; ")
    };
    let searched = |query| plan(query).split(" (").next().unwrap().to_owned();
    for query in [due::POSTPONED, due::IN_LINE] {
        assert_eq!(plan(query).split("; ").count(), 1, "no sorting: {}", plan(query));
        assert_eq!(searched(query), "SEARCH notification USING INDEX notification_due");
    }
    assert_eq!(searched(due::LATER), "SEARCH notification USING COVERING INDEX notification_due");
    assert!(
        plan(due::EARLIEST).contains("USING COVERING INDEX notification_sequence"),
        "{}",
        plan(due::EARLIEST)
    );
    assert_eq!(searched(wishes::OLD), "SEARCH notification USING INDEX notification_age");
    assert!(plan(PRUNE).contains("USING COVERING INDEX notification_settled (state=? AND settled_at<?)"));
    assert!(plan(super::OLDEST).contains("USING COVERING INDEX notification_age"));
}

#[test]
fn a_newer_store_is_not_touched() {
    let (data, store) = store();
    store.db.pragma_update(None, "user_version", 99).unwrap();
    drop(store);
    let error = Store::open(data.path(), &options()).unwrap_err();
    assert!(matches!(error, OpenError::Newer { found: 99, known: 3, .. }), "{error}");
}

#[test]
fn a_database_of_another_program_is_not_touched() {
    let data = TempDir::new().unwrap();
    let file = data.path().join("hookbell.db");
    Connection::open(&file).unwrap().execute_batch("CREATE TABLE theirs (x)").unwrap();
    let before = std::fs::read(&file).unwrap();
    let error = Store::open(data.path(), &options()).unwrap_err();
    assert!(matches!(error, OpenError::Foreign { .. }), "{error}");
    assert_eq!(std::fs::read(&file).unwrap(), before);
}

#[test]
fn a_damaged_store_is_reported() {
    let (data, mut store) = store();
    for _ in 0..200 {
        alone(&mut store, |store| store.enqueue(&webhook("{}"))).unwrap();
    }
    drop(store);
    let file = data.path().join("hookbell.db");
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[4096..].fill(0xA5);
    std::fs::write(&file, bytes).unwrap();
    let error = Store::open(data.path(), &options()).unwrap_err();
    assert!(matches!(error, OpenError::Damaged { .. }), "{error}");
}

#[cfg(unix)]
#[test]
fn a_data_directory_that_we_make_is_private() {
    use std::os::unix::fs::PermissionsExt;
    let data = TempDir::new().unwrap();
    let inner = data.path().join("a/b");
    Store::open(&inner, &options()).unwrap();
    assert_eq!(inner.metadata().unwrap().permissions().mode() & 0o777, 0o700);
}

fn of_body(body: Vec<u8>) -> Webhook {
    let record =
        Record { source: "test".to_owned(), body: body.into(), received_at: unix_ms(), ..Record::default() };
    Webhook { record: Some(Kept::from(&record)), ..webhook("{}") }
}

/// With a body that no packing makes smaller.
fn recorded(n: u8) -> Webhook {
    let mut body = vec![0; 10_000];
    fastrand::Rng::with_seed(n.into()).fill(&mut body);
    of_body(body)
}

#[test]
fn bodies_come_back_byte_for_byte_and_repetitive_ones_take_little_room() {
    let (data, mut store) = store();
    let object = br#"{"action":"completed","number":1},"#;
    let bodies =
        [b"".to_vec(), b"{}".to_vec(), object.repeat(1000), vec![0; 511], vec![0; 512], vec![255; 1 << 20]];
    for body in bodies {
        let webhook = of_body(body.clone());
        alone(&mut store, |store| store.enqueue(&webhook)).unwrap();
        let found = Browser::open(data.path()).unwrap().webhook(webhook.id).unwrap().unwrap();
        assert_eq!(found.record.body, body);
    }
    let kept: i64 =
        store.db.query_row("SELECT sum(length(body)) FROM webhook", [], |row| row.get(0)).unwrap();
    assert!(kept < 10_000, "{kept} bytes are left of a million");
}

#[test]
fn a_packed_body_that_is_damaged_is_an_error_not_another_body() {
    let (data, mut store) = store();
    let webhook = of_body(b"hookbell".repeat(1000));
    alone(&mut store, |store| store.enqueue(&webhook)).unwrap();
    store.db.execute("UPDATE webhook SET body = x'ff'", []).unwrap();
    assert!(Browser::open(data.path()).unwrap().webhook(webhook.id).is_err());
}

#[test]
fn records_are_found_again_until_newer_ones_need_their_room() {
    let (data, mut store) = store();
    let webhooks: Vec<Webhook> = (0..200).map(recorded).collect();
    for webhook in &webhooks {
        alone(&mut store, |store| store.enqueue(webhook)).unwrap();
    }
    let find = |webhook: &Webhook| {
        let found = Browser::open(data.path()).unwrap().webhook(webhook.id).unwrap();
        found.map(|found| (Some(Kept::from(&found.record)), found.verdict))
    };
    assert_eq!(find(&webhooks[0]), Some((webhooks[0].record.clone(), Some(webhooks[0].verdict.clone()))));
    assert!(store.must_prune());
    while store.prune_some() {}
    assert!(!store.must_prune());
    assert_eq!(find(&webhooks[0]), None);
    let kept = webhooks.iter().filter(|webhook| find(webhook).is_some()).count();
    assert!((60..=100).contains(&kept), "kept {kept} of 10 kB in 1 MiB");
    assert!(find(&webhooks[199]).is_some());
    assert_eq!(waiting(&mut store), 200, "what waits never goes");
    assert_eq!(Browser::open(data.path()).unwrap().webhook(Uuid::now_v7()).unwrap(), None);
}

#[test]
fn a_store_that_has_become_empty_gives_its_space_back() {
    let (_data, mut store) = store();
    for n in 0..200_u16 {
        alone(&mut store, |store| store.enqueue(&recorded(n as u8))).unwrap();
        alone(&mut store, |store| store.enqueue(&webhook(&"x".repeat(30_000)))).unwrap();
    }
    let pages =
        |store: &Store| store.db.pragma_query_value(None, "page_count", |row| row.get::<_, i64>(0)).unwrap();
    let full = pages(&store);
    store.db.execute("UPDATE notification SET state = 1, settled_at = 1", []).unwrap();
    while store.prune_some() {}
    assert!(full > 1800, "{full}");
    assert!(pages(&store) < 1400, "{} of {full} pages are left", pages(&store));
}

/// A store as version 1 wrote it.
const VERSION_1: &str = include_str!("testing/version-1.sql");

#[test]
fn a_store_of_version_1_is_brought_up_to_date_with_everything_in_it() {
    let data = TempDir::new().unwrap();
    Connection::open(data.path().join("hookbell.db")).unwrap().execute_batch(VERSION_1).unwrap();
    let error = Browser::open(data.path()).unwrap_err();
    assert!(matches!(error, OpenError::Older { found: 1, known: 3, .. }), "{error}");
    let mut store = Store::open(data.path(), &options()).unwrap();
    let claimed = alone(&mut store, |store| store.claim("default", 9, Order::Topic, unix_ms())).unwrap();
    let told: Vec<_> =
        claimed.deliveries.iter().map(|one| (&*one.topic, one.attempts, one.waiting_since)).collect();
    assert_eq!(told, [("second", 2, 1_700_000_001_000), ("first", 0, 1_700_000_000_000)]);
    assert_eq!(alone(&mut store, Store::depth).unwrap().dead, 1);
    let mode: i64 = store.db.pragma_query_value(None, "auto_vacuum", |row| row.get(0)).unwrap();
    assert_eq!(mode, 2);
    let browser = Browser::open(data.path()).unwrap();
    let webhook =
        browser.webhook(Uuid::from_u128(0x0194_f5d2_c6d8_7f0f_8f0e_4a2e_6b1d_9c01)).unwrap().unwrap();
    assert_eq!(
        (&*webhook.record.source, &*webhook.record.body, webhook.verdict),
        ("n", b"{\"n\":1}".as_slice(), None)
    );
}

#[test]
fn a_damaged_store_is_set_aside_with_all_its_bytes_only_when_asked() {
    let data = TempDir::new().unwrap();
    let file = data.path().join("hookbell.db");
    let text = "not a database, but long enough to hold a header of one, which has 100 bytes. ".repeat(20);
    std::fs::write(&file, &text).unwrap();
    assert!(Store::open(data.path(), &options()).is_err());
    let mut store = Store::open(data.path(), &Options { set_aside: true, ..options() }).unwrap();
    alone(&mut store, |store| store.enqueue(&webhook("{}"))).unwrap();
    let aside: Vec<_> = std::fs::read_dir(data.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().contains(".aside-"))
        .collect();
    assert_eq!(aside.len(), 1, "{aside:?}");
    assert_eq!(std::fs::read_to_string(&aside[0]).unwrap(), text);
    drop(store);
    let mut store = Store::open(data.path(), &Options { set_aside: true, ..options() }).unwrap();
    assert_eq!(waiting(&mut store), 1, "a store that is well is not set aside");
}

fn all() -> Filter {
    Filter {
        states: vec!["waiting", "delivered", "dead", "dropped"],
        source: None,
        server: None,
        since: None,
        limit: 50,
    }
}

#[test]
fn a_notification_is_found_with_its_attempts_the_latest_twenty() {
    let (data, mut store) = store();
    let webhook = webhook(r#"{"topic":"ci","title":"Build failed","message":"m"}"#);
    alone(&mut store, |store| store.enqueue(&webhook)).unwrap();
    for n in 1..=25 {
        let id =
            alone(&mut store, |store| store.claim("main", 1, Order::Topic, 99)).unwrap().deliveries[0].id;
        let failed = Settlement::Retry { at: None, reason: format!("failure {n}") };
        alone(&mut store, |store| store.settle(id, &failed, TOOK)).unwrap();
    }
    let browser = Browser::open(data.path()).unwrap();
    let found = browser.find(webhook.id).unwrap();
    assert_eq!(found, browser.find(webhook.notifications[0].id).unwrap());
    assert_eq!((found[0].attempts, &*found[0].text, found[0].state), (25, "Build failed", "waiting"));
    let reasons: Vec<_> =
        found[0].failures.iter().map(|failure| (&*failure.reason, failure.took_ms)).collect();
    assert_eq!((reasons.len(), reasons[0], reasons[19]), (20, ("failure 6", 7), ("failure 25", 7)));
    assert_eq!(browser.list(&all()).unwrap().notifications[0].payload, None);
}

#[test]
fn lists_are_newest_first_filtered_and_say_when_there_is_more() {
    let (data, mut store) = store();
    for source in ["a", "b", "a", "b", "a"] {
        let webhook = Webhook { source: source.to_owned(), ..webhook("{}") };
        alone(&mut store, |store| store.enqueue(&webhook)).unwrap();
    }
    let browser = Browser::open(data.path()).unwrap();
    let list = |filter: Filter| {
        let page = browser.list(&filter).unwrap();
        (page.notifications.iter().map(|entry| entry.source.clone()).collect::<String>(), page.more)
    };
    assert_eq!(list(all()), ("ababa".to_owned(), false));
    assert_eq!(list(Filter { limit: 2, ..all() }), ("ab".to_owned(), true));
    assert_eq!(list(Filter { source: Some("b".to_owned()), ..all() }), ("bb".to_owned(), false));
    assert_eq!(list(Filter { states: vec!["dead"], ..all() }), (String::new(), false));
    assert_eq!(list(Filter { server: Some("other".to_owned()), ..all() }), (String::new(), false));
    assert_eq!(list(Filter { since: Some(2), ..all() }), (String::new(), false));
    let overview = browser.overview().unwrap();
    assert_eq!((overview.waiting, overview.servers.len(), overview.webhooks), (5, 1, 0));
}
