//! Delivery from a real store to real sockets.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use rustls::RootCertStore;
use tempfile::TempDir;
use tokio::sync::{mpsc, watch};
use uuid::Uuid;

use super::{Board, Delivery, Options, Outcome, Patience, Targets, Why};
use crate::clock::Clock;
use crate::metrics::{Metrics, Settled, State};
use crate::ntfy::testing::{Act, Server, answer};
use crate::outbox::retry::Backoff;
use crate::outbox::{
    self, Depth, Order, Outbox, Outgoing, StoreThread, Verdict, VerdictOutcome, Webhook, unix_ms,
};
use crate::rules::target::{Fallback, Target};

const GRACE: Duration = Duration::from_secs(20);

/// A delivery with everything around it.
struct Setup {
    outbox: Outbox,
    targets: watch::Sender<Targets>,
    metrics: Arc<Metrics>,
    board: Arc<Board>,
    delivery: Delivery,
    /// One line for each attempt that ended.
    ends: mpsc::UnboundedReceiver<String>,
    printed: mpsc::UnboundedReceiver<String>,
    store: StoreThread,
    data: TempDir,
}

impl Setup {
    fn start(targets: impl IntoIterator<Item = Target>) -> Self {
        let data = TempDir::new().unwrap();
        let (outbox, store) = Outbox::open(data.path(), &outbox::Options::default()).unwrap();
        Self::resume(outbox, store, data, targets)
    }

    fn resume(
        outbox: Outbox,
        store: StoreThread,
        data: TempDir,
        targets: impl IntoIterator<Item = Target>,
    ) -> Self {
        let patience = Patience { message: quick(), probe: quick(), refused: quick() };
        Self::with(outbox, store, data, targets, patience)
    }

    /// With the patience of a real gateway.
    fn patient(
        outbox: Outbox,
        store: StoreThread,
        data: TempDir,
        targets: impl IntoIterator<Item = Target>,
    ) -> Self {
        Self::with(outbox, store, data, targets, Patience::default())
    }

    fn with(
        outbox: Outbox,
        store: StoreThread,
        data: TempDir,
        targets: impl IntoIterator<Item = Target>,
        patience: Patience,
    ) -> Self {
        let (targets, current) = watch::channel(by_name(targets));
        let metrics = Arc::new(Metrics::new());
        let (told, ends) = mpsc::unbounded_channel();
        let (print, printed) = mpsc::unbounded_channel();
        let board = Arc::new(Board::default());
        let options = Options {
            board: Arc::clone(&board),
            patience,
            clock: Clock::system(),
            roots: RootCertStore::empty(),
            terminal: Arc::new(move |payload| drop(print.send(payload.to_owned()))),
            observer: Some(Arc::new(move |event| {
                let end = match event.outcome {
                    Outcome::Delivered { receipt } => format!("delivered {}", receipt.unwrap_or("?")),
                    Outcome::Retried { wait, reason } => {
                        format!("retried after {}s {reason}", wait.as_secs())
                    }
                    Outcome::Dead { reason } => format!("dead {reason}"),
                };
                drop(told.send(format!("{}/{} #{} {end}", event.server, event.topic, event.attempts)));
            })),
        };
        let delivery = Delivery::start(outbox.clone(), current, Arc::clone(&metrics), options);
        Self { outbox, targets, metrics, board, delivery, ends, printed, store, data }
    }

    async fn enqueue(&self, server: &str, topic: &str) {
        enqueue(&self.outbox, server, topic).await;
    }

    async fn ends(&mut self, count: usize) -> Vec<String> {
        let mut ends = Vec::new();
        for _ in 0..count {
            ends.push(self.ends.recv().await.unwrap());
        }
        ends
    }

    fn counted(&self, state: State) -> u64 {
        let labels = Settled { server: "main".to_owned(), state };
        self.metrics.notifications.get_or_create(&labels).get()
    }
}

fn quick() -> Backoff {
    Backoff::new(Duration::from_millis(1), Duration::from_millis(2)).unwrap()
}

async fn enqueue(outbox: &Outbox, server: &str, topic: &str) {
    enqueue_payload(outbox, server, topic, &format!(r#"{{"topic":"{topic}"}}"#)).await;
}

async fn enqueue_payload(outbox: &Outbox, server: &str, topic: &str, payload: &str) {
    let one = Outgoing {
        id: Uuid::now_v7(),
        server: server.to_owned(),
        topic: topic.to_owned(),
        rule: "any".to_owned(),
        sequence: None,
        payload: payload.to_owned(),
    };
    let webhook = Webhook {
        id: Uuid::now_v7(),
        source: "test".to_owned(),
        received_at: unix_ms(),
        record: None,
        verdict: Verdict { outcome: VerdictOutcome::Published, rules: Vec::new(), first: None },
        once: None,
        notifications: vec![one],
    };
    outbox.enqueue(webhook).await.unwrap();
}

fn by_name(targets: impl IntoIterator<Item = Target>) -> Targets {
    let named = targets.into_iter().map(|target| (target.name.clone(), Arc::new(target)));
    Arc::new(named.collect::<crate::rules::target::Targets>())
}

fn stored() -> Act {
    Act::Answer(answer("200 OK", "", r#"{"id":"abc"}"#))
}

fn failing() -> Act {
    Act::Answer(answer("500 Internal Server Error", "", r#"{"code":50001,"http":500,"error":"oops"}"#))
}

async fn depth(outbox: &Outbox) -> (u64, u64) {
    let Depth { waiting, dead, .. } = outbox.depth().await.unwrap();
    (waiting, dead)
}

#[actix_web::test]
async fn a_healthy_server_gets_everything_in_order() {
    let server = Server::start(|_, _| stored()).await;
    let connections = NonZeroUsize::MIN;
    let mut setup = Setup::start([Target { connections, ..server.target() }]);
    let topics: Vec<_> = (0..50).map(|n| format!("t{n}")).collect();
    for topic in &topics {
        setup.enqueue("main", topic).await;
    }
    let expected: Vec<_> = topics.iter().map(|topic| format!("main/{topic} #1 delivered abc")).collect();
    assert_eq!(setup.ends(50).await, expected);
    assert_eq!(setup.counted(State::Delivered), 50);
    setup.delivery.stop(GRACE).await;
    assert_eq!(depth(&setup.outbox).await, (0, 0));
    assert_eq!(server.seen.borrow().accepted, 1);
}

#[actix_web::test]
async fn a_failure_is_retried_until_the_server_takes_it() {
    let server = Server::start(|_, request| if request < 2 { failing() } else { stored() }).await;
    let mut setup = Setup::start([server.target()]);
    setup.enqueue("main", "ci").await;
    let expected = [
        "main/ci #1 retried after 0s 50001 oops",
        "main/ci #2 retried after 0s 50001 oops",
        "main/ci #3 delivered abc",
    ];
    assert_eq!(setup.ends(3).await, expected);
    assert_eq!((setup.counted(State::Retried), setup.counted(State::Delivered)), (2, 1));
    setup.delivery.stop(GRACE).await;
    assert_eq!(depth(&setup.outbox).await, (0, 0));
}

#[actix_web::test]
async fn a_notification_that_is_refused_for_good_is_dead() {
    let refusal = r#"{"code":40009,"http":400,"error":"topic invalid"}"#;
    let server = Server::start(move |_, _| Act::Answer(answer("400 Bad Request", "", refusal))).await;
    let mut setup = Setup::start([server.target()]);
    setup.enqueue("main", "ci").await;
    assert_eq!(setup.ends(1).await, ["main/ci #1 dead 40009 topic invalid"]);
    setup.delivery.stop(GRACE).await;
    assert_eq!(depth(&setup.outbox).await, (0, 1));
    assert_eq!(server.seen.borrow().requests.len(), 1);
}

#[actix_web::test]
async fn a_server_s_wish_for_a_pause_is_granted() {
    let server = Server::start(|_, _| {
        Act::Answer(answer("429 Too Many Requests", "Retry-After: 70\r\n", "slow down"))
    })
    .await;
    let mut setup = Setup::start([server.target()]);
    setup.enqueue("main", "ci").await;
    setup.enqueue("main", "ci").await;
    let expected = "main/ci #1 retried after 70s 429 Too Many Requests, not in ntfy's words";
    assert_eq!(setup.ends(1).await, [expected]);
    let trouble = setup.board.conditions()["main"].trouble.clone().unwrap();
    assert_eq!(trouble.why, Why::Limited);
    assert!((60_000..71_000).contains(&(trouble.until - unix_ms())), "{trouble:?}");
    setup.delivery.stop(GRACE).await;
    assert_eq!(server.seen.borrow().requests.len(), 1);
    assert_eq!(depth(&setup.outbox).await, (2, 0));
}

#[actix_web::test]
async fn connections_never_exceed_the_bound_when_every_answer_is_an_error() {
    let server = Server::start(|_, _| failing()).await;
    let mut setup = Setup::start([server.target()]);
    for n in 0..50 {
        setup.enqueue("main", &format!("t{n}")).await;
    }
    setup.ends(200).await;
    setup.delivery.stop(GRACE).await;
    assert_eq!(depth(&setup.outbox).await, (50, 0));
    let seen = server.seen.borrow();
    assert!(seen.most_open <= 4, "{} open at once", seen.most_open);
    assert!(seen.accepted <= 4, "{} connections for {} requests", seen.accepted, seen.requests.len());
}

#[actix_web::test]
async fn connections_never_exceed_the_bound_when_nothing_is_answered() {
    let mut server = Server::start(|_, _| Act::Hang).await;
    let setup = Setup::start([server.target()]);
    for n in 0..20 {
        setup.enqueue("main", &format!("t{n}")).await;
    }
    server.until(|seen| seen.requests.len() == 4).await;
    setup.delivery.stop(Duration::ZERO).await;
    assert_eq!(server.seen.borrow().most_open, 4);
}

#[actix_web::test]
async fn a_server_that_hangs_slows_no_other() {
    let mut hanging = Server::start(|_, _| Act::Hang).await;
    let healthy = Server::start(|_, _| stored()).await;
    let slow = Target { name: "slow".to_owned(), ..hanging.target() };
    let mut setup = Setup::start([slow, healthy.target()]);
    for n in 0..10 {
        setup.enqueue("slow", &format!("t{n}")).await;
    }
    hanging.until(|seen| seen.requests.len() == 4).await;
    for _ in 0..10 {
        setup.enqueue("main", "ci").await;
    }
    assert_eq!(setup.ends(10).await, ["main/ci #1 delivered abc"; 10]);
    setup.delivery.stop(Duration::ZERO).await;
}

#[actix_web::test]
async fn notifications_for_an_unknown_server_wait_until_it_is_named() {
    let server = Server::start(|_, _| stored()).await;
    let mut setup = Setup::start([server.target()]);
    setup.enqueue("later", "first").await;
    setup.enqueue("main", "second").await;
    assert_eq!(setup.ends(1).await, ["main/second #1 delivered abc"]);
    assert!(setup.outbox.servers().await.unwrap().contains(&"later".to_owned()));
    let later = Target { name: "later".to_owned(), ..server.target() };
    setup.targets.send_replace(by_name([later]));
    assert_eq!(setup.ends(1).await, ["later/first #1 delivered abc"]);
}

#[actix_web::test]
async fn without_any_server_notifications_are_printed() {
    let mut setup = Setup::start([]);
    setup.enqueue("default", "one").await;
    setup.enqueue("default", "two").await;
    assert_eq!(setup.printed.recv().await.unwrap(), r#"{"topic":"one"}"#);
    assert_eq!(setup.printed.recv().await.unwrap(), r#"{"topic":"two"}"#);
    setup.delivery.stop(GRACE).await;
    assert_eq!(depth(&setup.outbox).await, (0, 0));
}

#[actix_web::test]
async fn what_waited_before_the_start_is_delivered() {
    let server = Server::start(|_, _| stored()).await;
    let setup = Setup::start([]);
    setup.delivery.stop(GRACE).await;
    enqueue(&setup.outbox, "main", "ci").await;
    let mut setup = Setup::resume(setup.outbox, setup.store, setup.data, [server.target()]);
    assert_eq!(setup.ends(1).await, ["main/ci #1 delivered abc"]);
}

#[actix_web::test]
async fn a_stop_lets_attempts_finish_and_begins_no_other() {
    let mut server = Server::start(|_, _| stored()).await;
    let connections = NonZeroUsize::MIN;
    let setup = Setup::start([Target { connections, ..server.target() }]);
    for _ in 0..5 {
        setup.enqueue("main", "ci").await;
    }
    server.until(|seen| !seen.requests.is_empty()).await;
    setup.delivery.stop(GRACE).await;
    let sent = server.seen.borrow().requests.len() as u64;
    assert_eq!(depth(&setup.outbox).await, (5 - sent, 0));
    let left = setup.outbox.claim("main", 9, Order::Topic, unix_ms()).await.unwrap();
    assert_eq!(left.deliveries.len() as u64, 5 - sent);
}

#[actix_web::test]
async fn a_stop_releases_what_did_not_finish_in_its_grace() {
    let mut server = Server::start(|_, _| Act::Hang).await;
    let setup = Setup::start([server.target()]);
    setup.enqueue("main", "ci").await;
    server.until(|seen| seen.requests.len() == 1).await;
    setup.delivery.stop(Duration::ZERO).await;
    let left = setup.outbox.claim("main", 9, Order::Topic, unix_ms()).await.unwrap();
    assert_eq!((left.deliveries.len(), left.deliveries[0].attempts), (1, 0));
}

#[actix_web::test]
async fn a_topic_s_notifications_go_one_after_the_other_and_topics_side_by_side() {
    let mut server = Server::start(|_, _| Act::Hang).await;
    let setup = Setup::start([server.target()]);
    for topic in ["a", "a", "a", "b", "a", "c"] {
        setup.enqueue("main", topic).await;
    }
    server.until(|seen| seen.requests.len() == 3).await;
    setup.delivery.stop(Duration::ZERO).await;
    let seen = server.seen.borrow();
    let topics: Vec<_> = ["a", "b", "c"].iter().map(|topic| format!(r#"{{"topic":"{topic}"}}"#)).collect();
    let sent = |topic: &String| seen.requests.iter().filter(|request| request.ends_with(topic)).count();
    assert_eq!((seen.requests.len(), topics.iter().map(sent).collect::<Vec<_>>()), (3, vec![1, 1, 1]));
}

#[actix_web::test]
async fn where_order_does_not_count_a_topic_takes_all_connections() {
    let mut server = Server::start(|_, _| Act::Hang).await;
    let setup = Setup::start([Target { ordered: false, ..server.target() }]);
    for _ in 0..6 {
        setup.enqueue("main", "ci").await;
    }
    server.until(|seen| seen.requests.len() == 4).await;
    setup.delivery.stop(Duration::ZERO).await;
    assert_eq!(server.seen.borrow().most_open, 4);
}

#[actix_web::test]
async fn a_failing_server_gets_everything_in_order_once_it_is_back() {
    let server = Server::start(|_, request| if request < 20 { failing() } else { stored() }).await;
    let mut setup = Setup::start([Target { connections: NonZeroUsize::MIN, ..server.target() }]);
    for n in 0..30 {
        setup.enqueue("main", &format!("t{n}")).await;
    }
    let ends = setup.ends(50).await;
    let delivered: Vec<_> = ends.iter().filter(|end| end.contains("delivered")).collect();
    // One was the probe that found it back; from then on they go in order.
    let number = |end: &&String| end["main/t".len()..end.find(' ').unwrap()].parse::<u32>().unwrap();
    let order: Vec<_> = delivered.iter().map(number).skip(1).collect();
    assert!(order.is_sorted(), "{order:?}");
    assert_eq!(order.len(), 29);
    setup.delivery.stop(GRACE).await;
}

#[actix_web::test]
async fn a_message_that_is_too_long_is_cut_once_and_then_given_up() {
    let too_long = r#"{"code":40014,"http":400,"error":"attachments not allowed"}"#;
    let server = Server::start(move |_, request| match request {
        0 | 2 | 3 => Act::Answer(answer("400 Bad Request", "", too_long)),
        _ => stored(),
    })
    .await;
    let mut setup = Setup::start([server.target()]);
    let topic = "x".repeat(10);
    let long = |n: u32| format!(r#"{{"topic":"{topic}","message":"{}"}}"#, "m".repeat(3000 + n as usize));
    for n in 0..2 {
        enqueue_payload(&setup.outbox, "main", &topic, &long(n)).await;
    }
    let told: Vec<_> = setup.ends(4).await;
    let end = |n: u32, end: &str| format!("main/{topic} #{n} {end}");
    let refused = "40014 attachments not allowed";
    assert_eq!(
        told,
        [
            end(1, &format!("retried after 0s {refused}")),
            end(2, "delivered abc"),
            end(1, &format!("retried after 0s {refused}")),
            end(2, &format!("dead {refused}")),
        ]
    );
    let seen = server.seen.borrow();
    assert!(
        seen.requests[1].ends_with(&format!(r#""message":"{}…"}}"#, "m".repeat(997))),
        "{}",
        seen.requests[1]
    );
}

#[actix_web::test]
async fn a_server_that_is_away_too_long_hands_over_to_its_fallback() {
    let away = Server::start(|_, _| Act::Answer(answer("502 Bad Gateway", "", "<html>"))).await;
    let backup = Server::start(|_, _| stored()).await;
    let fallback = Fallback { server: "backup".to_owned(), after: Duration::from_millis(300) };
    let main = Target { fallback: Some(fallback), ..away.target() };
    let mut setup = Setup::start([main, Target { name: "backup".to_owned(), ..backup.target() }]);
    for topic in ["one", "two"] {
        setup.enqueue("main", topic).await;
    }
    let mut ends = Vec::new();
    while ends.len() < 2 {
        ends.extend(setup.ends(1).await.into_iter().filter(|end| end.starts_with("backup/")));
    }
    // Two topics: either may come first.
    ends.sort();
    assert!(ends[0].starts_with("backup/one") && ends[0].ends_with("delivered abc"), "{ends:?}");
    assert!(ends[1].starts_with("backup/two") && ends[1].ends_with("delivered abc"), "{ends:?}");
}

#[actix_web::test]
async fn what_waits_longer_than_it_may_is_a_dead_letter() {
    let away = Server::start(|_, _| Act::Close).await;
    let setup = Setup::start([Target { expire: Duration::from_millis(300), ..away.target() }]);
    for topic in ["one", "two", "three"] {
        setup.enqueue("main", topic).await;
    }
    while depth(&setup.outbox).await != (0, 3) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(setup.counted(State::Dead), 3);
    setup.delivery.stop(GRACE).await;
}

#[actix_web::test]
async fn a_refused_server_is_left_alone_until_its_target_changes_or_an_operator_asks() {
    let refusal = r#"{"code":40101,"http":401,"error":"unauthorized"}"#;
    let server = Server::start(move |_, request| match request {
        0 | 1 => Act::Answer(answer("401 Unauthorized", "", refusal)),
        _ => stored(),
    })
    .await;
    let data = TempDir::new().unwrap();
    let (outbox, store) = Outbox::open(data.path(), &outbox::Options::default()).unwrap();
    let mut setup = Setup::patient(outbox, store, data, [server.target()]);
    setup.enqueue("main", "ci").await;
    assert_eq!(setup.ends(1).await[0].split(" after").next(), Some("main/ci #1 retried"));
    // It waits in the store, not in the lane, so that operators can get at it.
    let id = loop {
        let claimed = setup.outbox.claim("main", 1, Order::Topic, unix_ms()).await.unwrap();
        if let Some(one) = claimed.deliveries.first() {
            break one.id;
        }
    };
    setup.outbox.settle(id, outbox::Settlement::Release, Duration::ZERO).await.unwrap();
    setup.outbox.revive(vec![id]).await.unwrap();
    assert_eq!(setup.ends(1).await[0].split(" after").next(), Some("main/ci #2 retried"));
    let authorization = Some(crate::secret::Secret::new("Bearer tk_new"));
    setup.targets.send_replace(by_name([Target { authorization, ..server.target() }]));
    assert_eq!(setup.ends(1).await, ["main/ci #3 delivered abc"]);
}
