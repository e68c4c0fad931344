//! The outbox through its handle, on real files.

use std::path::Path;
use std::time::Duration;

use futures_util::future::join_all;
use tempfile::TempDir;
use uuid::Uuid;

use super::{
    Claimed, DeadFilter, Depth, Enqueued, Once, OpenError, Options, Order, Outbox, Outgoing, Reached,
    Settlement, StoreThread, Unavailable, Verdict, VerdictOutcome, Webhook, unix_ms,
};

const TOOK: Duration = Duration::from_millis(7);

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
            sequence: None,
            payload: format!(r#"{{"topic":"ci","message":"{received_at}"}}"#),
        })
        .collect();
    Webhook {
        id: Uuid::now_v7(),
        source: "github".to_owned(),
        received_at,
        record: None,
        verdict: Verdict {
            outcome: VerdictOutcome::Published,
            rules: vec!["failed".to_owned()],
            first: None,
        },
        once: None,
        notifications,
    }
}

fn ids(claimed: &Claimed) -> Vec<Uuid> {
    claimed.deliveries.iter().map(|pending| pending.id).collect()
}

fn delivered() -> Settlement {
    Settlement::Delivered { receipt: Some("abc".to_owned()) }
}

fn retry(at: i64) -> Settlement {
    Settlement::Retry { at: Some(at), reason: "503".to_owned() }
}

#[tokio::test]
async fn a_claimed_notification_carries_what_was_enqueued() {
    let data = TempDir::new().unwrap();
    let (outbox, _thread) = open(data.path());
    let webhook = webhook(7, &["main"]);
    outbox.enqueue(webhook.clone()).await.unwrap();
    let claimed = outbox.claim("main", 10, Order::Topic, 7).await.unwrap();
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
    let first = outbox.claim("main", 10, Order::Topic, 1).await.unwrap();
    assert_eq!(outbox.claim("main", 10, Order::Topic, 1).await.unwrap(), Claimed::default());
    outbox.settle(first.deliveries[0].id, Settlement::Release, TOOK).await.unwrap();
    assert_eq!(outbox.claim("main", 10, Order::Topic, 1).await.unwrap(), first);
}

#[tokio::test]
async fn claims_are_oldest_first_by_server_and_tell_what_is_left() {
    let data = TempDir::new().unwrap();
    let (outbox, _thread) = open(data.path());
    for received_at in 1..=3 {
        outbox.enqueue(webhook(received_at, &["main", "other"])).await.unwrap();
    }
    let two = outbox.claim("main", 2, Order::Topic, 9).await.unwrap();
    let times: Vec<_> = two.deliveries.iter().map(|pending| pending.enqueued_at).collect();
    assert_eq!((times, two.next_due), (vec![1, 2], Some(9)));
    assert_eq!(outbox.claim("main", 2, Order::Topic, 9).await.unwrap().deliveries.len(), 1);
    assert_eq!(outbox.claim("other", 9, Order::Topic, 9).await.unwrap().deliveries.len(), 3);
}

#[tokio::test]
async fn a_retry_waits_for_its_time_and_counts_the_attempt() {
    let data = TempDir::new().unwrap();
    let (outbox, _thread) = open(data.path());
    outbox.enqueue(webhook(1, &["main"])).await.unwrap();
    let id = ids(&outbox.claim("main", 1, Order::Topic, 1).await.unwrap())[0];
    outbox.settle(id, retry(50), TOOK).await.unwrap();
    let early = outbox.claim("main", 1, Order::Topic, 49).await.unwrap();
    assert_eq!((ids(&early), early.next_due), (vec![], Some(50)));
    let due = outbox.claim("main", 1, Order::Topic, 50).await.unwrap();
    assert_eq!((ids(&due), due.deliveries[0].attempts), (vec![id], 1));
}

#[tokio::test]
async fn a_reopened_store_gives_back_only_what_was_not_settled() {
    let data = TempDir::new().unwrap();
    let (outbox, thread) = open(data.path());
    for received_at in 1..=4 {
        outbox.enqueue(webhook(received_at, &["main"])).await.unwrap();
    }
    let all = ids(&outbox.claim("main", 9, Order::Topic, 9).await.unwrap());
    outbox.settle(all[0], delivered(), TOOK).await.unwrap();
    outbox.settle(all[1], Settlement::Dead { reason: "40009".to_owned() }, TOOK).await.unwrap();
    outbox.settle(all[2], retry(5), TOOK).await.unwrap();
    thread.close().await;

    let (outbox, _thread) = open(data.path());
    assert_eq!(outbox.depth().await.unwrap(), Depth { waiting: 2, oldest_ms: Some(3), dead: 1 });
    // What was postponed until now goes first.
    assert_eq!(ids(&outbox.claim("main", 9, Order::Topic, 9).await.unwrap()), [all[2], all[3]]);
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
    let main = ids(&outbox.claim("main", 9, Order::Topic, 9).await.unwrap());
    outbox.settle(main[0], delivered(), TOOK).await.unwrap();
    outbox.settle(main[1], Settlement::Dead { reason: String::new() }, TOOK).await.unwrap();
    outbox.settle(main[1], delivered(), TOOK).await.unwrap();
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
    assert_eq!(ids(&outbox.claim("main", 2000, Order::Topic, 2000).await.unwrap()), expected);
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
    assert_eq!(fine, Ok(Enqueued::Stored));
    assert_eq!(ids(&outbox.claim("main", 9, Order::Topic, 9).await.unwrap()), [good.notifications[0].id]);
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
    main.woken().await;
    assert!(!main.take_urge());
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
    assert_eq!(stored, Ok(Enqueued::Stored));
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

fn one(sequence: Option<&str>, topic: &str) -> Webhook {
    let mut one = webhook(1, &["main"]);
    one.notifications[0].sequence = sequence.map(str::to_owned);
    one.notifications[0].topic = topic.to_owned();
    one
}

#[tokio::test]
async fn those_of_one_sequence_never_overtake_each_other_others_do() {
    let data = TempDir::new().unwrap();
    let (outbox, _thread) = open(data.path());
    let webhooks = [one(Some("job"), "a"), one(Some("job"), "a"), one(Some("job"), "b"), one(None, "a")];
    for webhook in &webhooks {
        outbox.enqueue(webhook.clone()).await.unwrap();
    }
    let id = |n: usize| webhooks[n].notifications[0].id;
    let first = outbox.claim("main", 9, Order::Sequence, 9).await.unwrap();
    assert_eq!((ids(&first), first.blocked), (vec![id(0), id(2), id(3)], true));
    outbox.settle(id(0), retry(50), TOOK).await.unwrap();
    let early = outbox.claim("main", 9, Order::Sequence, 9).await.unwrap();
    assert_eq!((ids(&early), early.next_due, early.blocked), (vec![], Some(50), true));
    assert_eq!(ids(&outbox.claim("main", 9, Order::Sequence, 50).await.unwrap()), [id(0)]);
    outbox.settle(id(0), delivered(), TOOK).await.unwrap();
    let rest = outbox.claim("main", 9, Order::Sequence, 50).await.unwrap();
    assert_eq!((ids(&rest), rest.blocked), (vec![id(1)], false));
}

#[tokio::test]
async fn one_behind_a_claimed_one_of_its_sequence_holds_its_topic_but_not_when_that_is_postponed() {
    let data = TempDir::new().unwrap();
    let (outbox, _thread) = open(data.path());
    let webhooks = [one(Some("job"), "a"), one(Some("job"), "a"), one(None, "a"), one(None, "b")];
    for webhook in &webhooks {
        outbox.enqueue(webhook.clone()).await.unwrap();
    }
    let id = |n: usize| webhooks[n].notifications[0].id;
    let first = outbox.claim("main", 9, Order::Topic, 9).await.unwrap();
    assert_eq!((ids(&first), first.blocked), (vec![id(0), id(3)], true));
    outbox.settle(id(0), retry(50), TOOK).await.unwrap();
    assert_eq!(ids(&outbox.claim("main", 9, Order::Topic, 9).await.unwrap()), [id(2)]);
}

#[tokio::test]
async fn what_keeps_its_place_is_claimed_before_what_came_later() {
    let data = TempDir::new().unwrap();
    let (outbox, _thread) = open(data.path());
    for n in 0..3 {
        outbox.enqueue(webhook(n, &["main"])).await.unwrap();
    }
    let all = ids(&outbox.claim("main", 9, Order::Topic, 9).await.unwrap());
    outbox.settle(all[2], Settlement::Release, TOOK).await.unwrap();
    outbox.settle(all[0], retry(99), TOOK).await.unwrap();
    let kept = Settlement::Retry { at: None, reason: "503".to_owned() };
    outbox.settle(all[1], kept, TOOK).await.unwrap();
    assert_eq!(ids(&outbox.claim("main", 9, Order::Topic, 9).await.unwrap()), [all[1], all[2]]);
    outbox.settle(all[1], Settlement::Release, TOOK).await.unwrap();
    outbox.settle(all[2], Settlement::Release, TOOK).await.unwrap();
    outbox.recall(vec![all[0]]).await.unwrap();
    assert_eq!(ids(&outbox.claim("main", 9, Order::Topic, 9).await.unwrap()), all);
}

fn repeat_of(key: &str, received_at: i64) -> Webhook {
    let once = Some(Once { key: key.to_owned(), window: Duration::from_millis(100) });
    Webhook { once, ..webhook(received_at, &["main"]) }
}

#[tokio::test]
async fn a_repeat_within_its_window_is_not_stored_also_after_a_restart() {
    let data = TempDir::new().unwrap();
    let (outbox, thread) = open(data.path());
    let now = unix_ms() + 60_000;
    let first = repeat_of("a", now + 1000);
    assert_eq!(outbox.enqueue(first.clone()).await, Ok(Enqueued::Stored));
    assert_eq!(outbox.enqueue(repeat_of("b", now + 1000)).await, Ok(Enqueued::Stored));
    assert_eq!(outbox.enqueue(repeat_of("a", now + 1099)).await, Ok(Enqueued::Duplicate(first.id)));
    thread.close().await;
    let (outbox, _thread) = open(data.path());
    assert_eq!(outbox.enqueue(repeat_of("a", now + 1099)).await, Ok(Enqueued::Duplicate(first.id)));
    let elsewhere = Webhook { source: "gitea".to_owned(), ..repeat_of("a", now + 1099) };
    assert_eq!(outbox.enqueue(elsewhere).await, Ok(Enqueued::Stored));
    let later = repeat_of("a", now + 1100);
    assert_eq!(outbox.enqueue(later.clone()).await, Ok(Enqueued::Stored));
    assert_eq!(outbox.enqueue(repeat_of("a", now + 1150)).await, Ok(Enqueued::Duplicate(later.id)));
    assert_eq!(outbox.depth().await.unwrap().waiting, 4);
}

#[tokio::test]
async fn two_repeats_at_once_are_stored_once() {
    let data = TempDir::new().unwrap();
    let (outbox, _thread) = open(data.path());
    let answers = join_all((0..20).map(|_| outbox.enqueue(repeat_of("a", 1000)))).await;
    assert_eq!(answers.iter().filter(|answer| **answer == Ok(Enqueued::Stored)).count(), 1);
    assert_eq!(outbox.depth().await.unwrap().waiting, 1);
}

#[tokio::test]
async fn an_operator_s_wishes_meet_each_state_and_urge_the_server() {
    let data = TempDir::new().unwrap();
    let (outbox, _thread) = open(data.path());
    let main = outbox.arrivals("main");
    for n in 0..5 {
        outbox.enqueue(webhook(n, &["main"])).await.unwrap();
    }
    let all = ids(&outbox.claim("main", 9, Order::Topic, 9).await.unwrap());
    outbox.settle(all[0], delivered(), TOOK).await.unwrap();
    outbox.settle(all[1], Settlement::Dead { reason: "40009".to_owned() }, TOOK).await.unwrap();
    outbox.settle(all[2], retry(99), TOOK).await.unwrap();
    outbox.settle(all[3], Settlement::Release, TOOK).await.unwrap();
    let ask = [all.clone(), vec![Uuid::nil()]].concat();
    assert_eq!(outbox.discard(vec![all[3]]).await.unwrap(), [Reached::Done]);
    assert_eq!(outbox.discard(vec![all[3]]).await.unwrap(), [Reached::Dropped]);
    assert_eq!(outbox.depth().await.unwrap(), Depth { waiting: 2, oldest_ms: Some(2), dead: 1 });
    main.woken().await;
    assert!(!main.take_urge());
    let revived = outbox.revive(ask).await.unwrap();
    use Reached::{Delivered, Done, UnderWay, Unknown};
    assert_eq!(revived, [Delivered, Done, Done, Done, UnderWay, Unknown]);
    main.woken().await;
    assert!(main.take_urge());
    assert_eq!(outbox.depth().await.unwrap(), Depth { waiting: 4, oldest_ms: Some(1), dead: 0 });
    assert_eq!(ids(&outbox.claim("main", 9, Order::Topic, 9).await.unwrap()), all[1..4]);
}

#[tokio::test]
async fn the_dead_are_revived_by_source_and_time_and_none_twice() {
    let data = TempDir::new().unwrap();
    let (outbox, _thread) = open(data.path());
    let other = Webhook { source: "gitea".to_owned(), ..webhook(1, &["main"]) };
    outbox.enqueue(other).await.unwrap();
    for n in 0..600 {
        outbox.enqueue(webhook(n, &["main"])).await.unwrap();
    }
    let bury = || async {
        for id in ids(&outbox.claim("main", 999, Order::Topic, 9).await.unwrap()) {
            outbox.settle(id, Settlement::Dead { reason: String::new() }, TOOK).await.unwrap();
        }
    };
    bury().await;
    let before = unix_ms() + 1;
    let filter = |since| DeadFilter { source: Some("github".to_owned()), since, before };
    assert_eq!(outbox.revive_dead(filter(Some(before))).await.unwrap(), 0);
    assert_eq!(outbox.revive_dead(filter(None)).await.unwrap(), 500);
    assert_eq!(outbox.revive_dead(filter(None)).await.unwrap(), 100);
    assert_eq!(outbox.depth().await.unwrap().dead, 1);
    while unix_ms() <= before {
        tokio::task::yield_now().await;
    }
    bury().await;
    assert_eq!(outbox.revive_dead(filter(None)).await.unwrap(), 0, "died again after the question");
    assert_eq!(outbox.depth().await.unwrap().dead, 601);
}

#[tokio::test]
async fn what_has_waited_too_long_goes_to_another_server_or_dies() {
    let data = TempDir::new().unwrap();
    let (outbox, _thread) = open(data.path());
    let other = outbox.arrivals("other");
    for received_at in [10, 20, 30] {
        outbox.enqueue(webhook(received_at, &["main"])).await.unwrap();
    }
    let oldest = ids(&outbox.claim("main", 1, Order::Topic, 99).await.unwrap())[0];
    assert_eq!(outbox.divert("main", "other", 30).await.unwrap(), 1, "one is under way, one is young");
    other.woken().await;
    outbox.settle(oldest, Settlement::Release, TOOK).await.unwrap();
    assert_eq!(outbox.expire("main", 30, "too late").await.unwrap(), 1);
    assert_eq!(outbox.depth().await.unwrap(), Depth { waiting: 2, oldest_ms: Some(20), dead: 1 });
    assert_eq!(outbox.claim("other", 9, Order::Topic, 99).await.unwrap().deliveries[0].waiting_since, 20);
    assert_eq!(outbox.claim("main", 9, Order::Topic, 99).await.unwrap().deliveries[0].waiting_since, 30);
}
