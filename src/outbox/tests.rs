//! The outbox through its handle, on real files.

use std::path::Path;

use futures_util::future::join_all;
use tempfile::TempDir;
use uuid::Uuid;

use super::{
    Claimed, Depth, OpenError, Options, Outbox, Outgoing, Settlement, StoreThread, Unavailable, Webhook,
};

fn open(data: &Path) -> (Outbox, StoreThread) {
    Outbox::open(data, &Options::default()).unwrap()
}

fn webhook(received_at: i64, servers: &[&str]) -> Webhook {
    let notifications = servers
        .iter()
        .map(|server| Outgoing {
            id: Uuid::now_v7(),
            server: (*server).to_owned(),
            topic: "ci".to_owned(),
            rule: "failed".to_owned(),
            payload: format!(r#"{{"topic":"ci","message":"{received_at}"}}"#),
        })
        .collect();
    Webhook { id: Uuid::now_v7(), source: "github".to_owned(), received_at, record: None, notifications }
}

fn ids(claimed: &Claimed) -> Vec<Uuid> {
    claimed.deliveries.iter().map(|pending| pending.id).collect()
}

fn delivered() -> Settlement {
    Settlement::Delivered { receipt: Some("abc".to_owned()) }
}

fn retry(at: i64) -> Settlement {
    Settlement::Retry { at, reason: "503".to_owned() }
}

#[tokio::test]
async fn a_claimed_notification_carries_what_was_enqueued() {
    let data = TempDir::new().unwrap();
    let (outbox, _thread) = open(data.path());
    let webhook = webhook(7, &["main"]);
    outbox.enqueue(webhook.clone()).await.unwrap();
    let claimed = outbox.claim("main", 10, 7).await.unwrap();
    let sent = &webhook.notifications[0];
    assert_eq!(claimed.next_due, None);
    assert_eq!(claimed.deliveries.len(), 1);
    let pending = &claimed.deliveries[0];
    assert_eq!((pending.id, &pending.payload, pending.attempts), (sent.id, &sent.payload, 0));
    assert_eq!(
        (pending.enqueued_at, &*pending.topic, &*pending.rule, &*pending.source),
        (7, "ci", "failed", "github")
    );
}

#[tokio::test]
async fn what_is_claimed_is_not_claimed_again_until_it_is_released() {
    let data = TempDir::new().unwrap();
    let (outbox, _thread) = open(data.path());
    outbox.enqueue(webhook(1, &["main"])).await.unwrap();
    let first = outbox.claim("main", 10, 1).await.unwrap();
    assert_eq!(outbox.claim("main", 10, 1).await.unwrap(), Claimed::default());
    outbox.settle(first.deliveries[0].id, Settlement::Release).await.unwrap();
    assert_eq!(outbox.claim("main", 10, 1).await.unwrap(), first);
}

#[tokio::test]
async fn claims_are_oldest_first_by_server_and_tell_what_is_left() {
    let data = TempDir::new().unwrap();
    let (outbox, _thread) = open(data.path());
    for received_at in 1..=3 {
        outbox.enqueue(webhook(received_at, &["main", "other"])).await.unwrap();
    }
    let two = outbox.claim("main", 2, 9).await.unwrap();
    let times: Vec<_> = two.deliveries.iter().map(|pending| pending.enqueued_at).collect();
    assert_eq!((times, two.next_due), (vec![1, 2], Some(3)));
    assert_eq!(outbox.claim("main", 2, 9).await.unwrap().deliveries.len(), 1);
    assert_eq!(outbox.claim("other", 9, 9).await.unwrap().deliveries.len(), 3);
}

#[tokio::test]
async fn a_retry_waits_for_its_time_and_counts_the_attempt() {
    let data = TempDir::new().unwrap();
    let (outbox, _thread) = open(data.path());
    outbox.enqueue(webhook(1, &["main"])).await.unwrap();
    let id = ids(&outbox.claim("main", 1, 1).await.unwrap())[0];
    outbox.settle(id, retry(50)).await.unwrap();
    let early = outbox.claim("main", 1, 49).await.unwrap();
    assert_eq!((ids(&early), early.next_due), (vec![], Some(50)));
    let due = outbox.claim("main", 1, 50).await.unwrap();
    assert_eq!((ids(&due), due.deliveries[0].attempts), (vec![id], 1));
}

#[tokio::test]
async fn a_reopened_store_gives_back_only_what_was_not_settled() {
    let data = TempDir::new().unwrap();
    let (outbox, thread) = open(data.path());
    for received_at in 1..=4 {
        outbox.enqueue(webhook(received_at, &["main"])).await.unwrap();
    }
    let all = ids(&outbox.claim("main", 9, 9).await.unwrap());
    outbox.settle(all[0], delivered()).await.unwrap();
    outbox.settle(all[1], Settlement::Dead { reason: "40009".to_owned() }).await.unwrap();
    outbox.settle(all[2], retry(5)).await.unwrap();
    thread.close().await;

    let (outbox, _thread) = open(data.path());
    assert_eq!(outbox.depth().await.unwrap(), Depth { waiting: 2, oldest_ms: Some(3), dead: 1 });
    assert_eq!(ids(&outbox.claim("main", 9, 9).await.unwrap()), [all[3], all[2]]);
}

#[tokio::test]
async fn the_depth_follows_every_settlement() {
    let data = TempDir::new().unwrap();
    let (outbox, _thread) = open(data.path());
    outbox.enqueue(webhook(3, &["main", "main", "other"])).await.unwrap();
    assert_eq!(outbox.depth().await.unwrap(), Depth { waiting: 3, oldest_ms: Some(3), dead: 0 });
    let mut servers = outbox.servers().await.unwrap();
    servers.sort();
    assert_eq!(servers, ["main", "other"]);
    let main = ids(&outbox.claim("main", 9, 9).await.unwrap());
    outbox.settle(main[0], delivered()).await.unwrap();
    outbox.settle(main[1], Settlement::Dead { reason: String::new() }).await.unwrap();
    outbox.settle(main[1], delivered()).await.unwrap();
    assert_eq!(outbox.depth().await.unwrap(), Depth { waiting: 1, oldest_ms: Some(3), dead: 1 });
    assert_eq!(outbox.servers().await.unwrap(), ["other"]);
}

#[tokio::test]
async fn many_webhooks_at_once_are_all_stored_in_order() {
    let data = TempDir::new().unwrap();
    let (outbox, _thread) = open(data.path());
    let webhooks: Vec<_> = (0..1000).map(|n| webhook(n, &["main"])).collect();
    let answers = join_all(webhooks.iter().cloned().map(|webhook| outbox.enqueue(webhook))).await;
    assert!(answers.iter().all(Result::is_ok));
    let expected: Vec<_> = webhooks.iter().map(|webhook| webhook.notifications[0].id).collect();
    assert_eq!(ids(&outbox.claim("main", 2000, 2000).await.unwrap()), expected);
}

#[tokio::test]
async fn a_webhook_that_cannot_be_stored_whole_leaves_nothing_and_fails_alone() {
    let data = TempDir::new().unwrap();
    let (outbox, _thread) = open(data.path());
    let mut twice = webhook(1, &["main", "main"]);
    twice.notifications[1].id = twice.notifications[0].id;
    let good = webhook(2, &["main"]);
    let (bad, fine) = tokio::join!(outbox.enqueue(twice), outbox.enqueue(good.clone()));
    assert!(matches!(bad, Err(Unavailable::Failing(_))), "{bad:?}");
    assert_eq!(fine, Ok(()));
    assert_eq!(ids(&outbox.claim("main", 9, 9).await.unwrap()), [good.notifications[0].id]);
    assert_eq!(outbox.depth().await.unwrap().waiting, 1);
}

#[tokio::test]
async fn a_full_queue_refuses_at_once() {
    let data = TempDir::new().unwrap();
    let options = Options { capacity: 1, ..Options::default() };
    let (outbox, _thread) = Outbox::open(data.path(), &options).unwrap();
    // Polled one after the other without a pause, so the thread cannot have emptied all of them.
    let answers = join_all((0..500).map(|n| outbox.enqueue(webhook(n, &["main"])))).await;
    assert!(answers.contains(&Err(Unavailable::Full)));
    let stored = answers.iter().filter(|answer| answer.is_ok()).count() as u64;
    assert_eq!(outbox.depth().await.unwrap().waiting, stored);
}

#[tokio::test]
async fn arrivals_wake_their_follower_or_else_the_one_for_strangers() {
    let data = TempDir::new().unwrap();
    let (outbox, _thread) = open(data.path());
    let main = outbox.arrivals("main");
    outbox.enqueue(webhook(1, &["main"])).await.unwrap();
    main.notified().await;
    outbox.enqueue(webhook(1, &["gone"])).await.unwrap();
    outbox.stranger_arrived().await;
    drop(main);
    outbox.enqueue(webhook(1, &["main"])).await.unwrap();
    outbox.stranger_arrived().await;
}

#[tokio::test]
async fn closing_carries_out_what_was_asked_before() {
    let data = TempDir::new().unwrap();
    let (outbox, thread) = open(data.path());
    let (stored, ()) = tokio::join!(outbox.enqueue(webhook(1, &["main"])), thread.close());
    assert_eq!(stored, Ok(()));
    assert!(matches!(outbox.probe().await, Err(Unavailable::Failing(_))));
    let (outbox, _thread) = open(data.path());
    assert_eq!(outbox.depth().await.unwrap().waiting, 1);
}

#[tokio::test]
async fn a_second_process_cannot_open_the_same_directory() {
    let data = TempDir::new().unwrap();
    let (_outbox, thread) = open(data.path());
    let error = Outbox::open(data.path(), &Options::default()).unwrap_err();
    assert!(matches!(error, OpenError::Locked { .. }), "{error}");
    thread.close().await;
    open(data.path());
}

#[test]
fn a_directory_that_cannot_be_made_is_an_error_with_a_remedy() {
    let data = TempDir::new().unwrap();
    let file = data.path().join("file");
    std::fs::write(&file, "").unwrap();
    let error = Outbox::open(&file, &Options::default()).unwrap_err().to_string();
    assert!(error.starts_with(&format!("cannot use the data directory `{}`", file.display())), "{error}");
    assert!(error.ends_with("make it writable or choose another with --data"), "{error}");
}

#[test]
fn a_file_of_somebody_else_is_left_alone() {
    let data = TempDir::new().unwrap();
    let file = data.path().join("hookbell.db");
    let text = "not a database, but long enough to hold a header of one, which has 100 bytes. ".repeat(20);
    std::fs::write(&file, &text).unwrap();
    let error = Outbox::open(data.path(), &Options::default()).unwrap_err();
    assert!(matches!(error, OpenError::Foreign { .. }), "{error}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
}
