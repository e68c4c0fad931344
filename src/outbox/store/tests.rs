//! The store when its disk, its file or its schema is not as it should be.

use std::time::Duration;

use rusqlite::Connection;
use tempfile::TempDir;
use uuid::Uuid;

use super::{OpenError, PRUNE, Store, unix_ms};
use crate::outbox::{Options, Outgoing, Record, Settlement, Unavailable, Webhook};

const KEEP: Duration = Duration::from_secs(60);

fn options() -> Options {
    Options { keep: KEEP, keep_size: 10_000, ..Options::default() }
}

fn store() -> (TempDir, Store) {
    let data = TempDir::new().unwrap();
    let store = Store::open(data.path(), &options()).unwrap();
    (data, store)
}

fn webhook(payload: &str) -> Webhook {
    let one = Outgoing {
        id: Uuid::now_v7(),
        server: "main".to_owned(),
        topic: "ci".to_owned(),
        rule: "any".to_owned(),
        payload: payload.to_owned(),
    };
    Webhook {
        id: Uuid::now_v7(),
        source: "test".to_owned(),
        received_at: 1,
        record: None,
        notifications: vec![one],
    }
}

/// One group of one command.
fn alone<T>(
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
    assert_eq!(alone(&mut store, |store| store.enqueue(&large)), Ok(()));
    assert_eq!(waiting(&mut store), 1);
}

#[test]
fn a_disk_that_fills_up_within_a_group_fails_all_of_it() {
    let (_data, mut store) = store();
    let pages: i64 = store.db.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    store.db.pragma_update(None, "max_page_count", pages).unwrap();
    store.begin();
    store.enqueue(&webhook("small")).unwrap();
    let claimed = store.claim("main", 1, 1).unwrap();
    assert_eq!(claimed.deliveries.len(), 1);
    assert!(store.enqueue(&webhook(&"x".repeat(100_000))).is_err());
    assert!(store.enqueue(&webhook("small")).is_err());
    assert!(store.commit().is_err());
    assert_eq!(waiting(&mut store), 0);
    assert_eq!(store.ledger.claimed_seq(claimed.deliveries[0].id), None);
}

#[test]
fn a_store_that_cannot_be_written_says_so_and_keeps_its_claims() {
    let (_data, mut store) = store();
    alone(&mut store, |store| store.enqueue(&webhook("{}"))).unwrap();
    let id = alone(&mut store, |store| store.claim("main", 1, 1)).unwrap().deliveries[0].id;
    let done = Settlement::Delivered { receipt: None };
    store.db.pragma_update(None, "query_only", true).unwrap();
    assert!(alone(&mut store, Store::probe).is_err());
    assert!(alone(&mut store, |store| store.settle(id, &done)).is_err());
    assert!(alone(&mut store, |store| store.claim("main", 1, 1)).unwrap().deliveries.is_empty());
    store.db.pragma_update(None, "query_only", false).unwrap();
    assert_eq!(alone(&mut store, Store::probe), Ok(()));
    alone(&mut store, |store| store.settle(id, &done)).unwrap();
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
    let claimed = alone(&mut store, |store| store.claim("main", 2, 1)).unwrap().deliveries;
    let dead = Settlement::Dead { reason: "40009".to_owned() };
    alone(&mut store, |store| store.settle(claimed[0].id, &dead)).unwrap();
    alone(&mut store, |store| store.settle(claimed[1].id, &Settlement::Delivered { receipt: None })).unwrap();
    assert!(!store.prune_some());
    assert_eq!(rows(&store), 3);
    store.db.execute("UPDATE notification SET settled_at = 1 WHERE state <> 0", []).unwrap();
    store.prune_from = std::time::Instant::now();
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
    let due = plan(super::DUE);
    assert_eq!(due, "SEARCH notification USING INDEX notification_due (server=?)");
    assert!(plan(PRUNE).contains("USING COVERING INDEX notification_settled (state=? AND settled_at<?)"));
    assert!(plan(super::OLDEST).contains("USING COVERING INDEX notification_age"));
}

#[test]
fn a_newer_store_is_not_touched() {
    let (data, store) = store();
    store.db.pragma_update(None, "user_version", 99).unwrap();
    drop(store);
    let error = Store::open(data.path(), &options()).unwrap_err();
    assert!(matches!(error, OpenError::Newer { found: 99, known: 1, .. }), "{error}");
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

#[test]
fn records_are_found_again_until_newer_ones_need_their_room() {
    let (data, mut store) = store();
    let recorded = |n: u8| {
        let record = Record {
            source: "test".to_owned(),
            body: vec![n; 1000],
            received_at: unix_ms(),
            ..Record::default()
        };
        Webhook { record: Some(record), ..webhook("{}") }
    };
    let webhooks: Vec<Webhook> = (0..30).map(recorded).collect();
    for webhook in &webhooks {
        store.begin();
        store.enqueue(webhook).unwrap();
        store.commit().unwrap();
    }
    let find = |webhook: &Webhook| super::find_record(data.path(), webhook.id).unwrap();
    assert_eq!(find(&webhooks[0]), webhooks[0].record);
    assert!(store.must_prune());
    while store.prune_some() {}
    assert!(!store.must_prune());
    assert_eq!(find(&webhooks[0]), None);
    assert_eq!(find(&webhooks[20]), None);
    assert_eq!(find(&webhooks[21]), webhooks[21].record, "no more goes than must");
    assert_eq!(find(&webhooks[29]), webhooks[29].record);
    assert_eq!(super::find_record(data.path(), Uuid::now_v7()).unwrap(), None);
}
