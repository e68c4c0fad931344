//! The operator's notifications: what a gateway has to say about itself, through itself.
//!
//! They are stored and delivered like any other. Each kind of trouble is told once when it begins and once when it is
//! over, and not twice within an hour.

mod memory;
mod signs;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use actix_web::rt::task::JoinHandle;

use crate::clock::unix_ms;
use crate::delivery::Board;
use crate::notification::{Notification, Priority, Topic};
use crate::outbox::{Outbox, Outgoing, Verdict, VerdictOutcome, Webhook, new_id};
use crate::rules::live::Live;
use crate::rules::target::Operator;
use memory::{Memory, News};

/// The time between two looks.
const EVERY: Duration = Duration::from_secs(2);
/// The source and the rule that operator notifications are filed under.
const FILED_UNDER: (&str, &str) = ("hookbell", "operator");

/// Looks at everything that an operator would want to know.
pub struct Lookout {
    /// The rules in force, and whether they are stale.
    pub live: Arc<Live>,
    /// Where dead letters are counted and notifications go.
    pub outbox: Outbox,
    /// How the servers are.
    pub board: Arc<Board>,
    /// The folder of the store.
    pub data: PathBuf,
}

impl Lookout {
    /// Looks every few seconds until the task is aborted, on the runtime of the caller.
    pub fn start(self) -> JoinHandle<()> {
        actix_web::rt::spawn(async move {
            let mut memory = Memory::default();
            loop {
                self.look(&mut memory).await;
                tokio::time::sleep(EVERY).await;
            }
        })
    }

    /// With nobody to tell, nothing is remembered as told: who comes later hears of it.
    async fn look(&self, memory: &mut Memory) {
        let dead = self.outbox.depth().await.map(|depth| depth.dead).unwrap_or_default();
        let Some(operator) = self.live.current().operator().cloned() else {
            return memory.skip_dead(dead);
        };
        let signs = signs::look(&self.live, &self.board, &self.data, unix_ms());
        for news in memory.compare(signs, dead, unix_ms()) {
            if let Err(error) = self.outbox.enqueue(webhook(&operator, &news)).await {
                tracing::warn!(%error, title = news.title, "the operator cannot be told");
            }
        }
    }
}

/// What is over replaces on the phone what it ends.
fn webhook(operator: &Operator, news: &News) -> Webhook {
    let mut notification = Notification::new(operator.topic.clone(), news.message.clone());
    notification.title = Some(format!("Hookbell: {}", news.title));
    notification.priority = Some(if news.over { Priority::Low } else { Priority::High });
    notification.set_tags([if news.over { "white_check_mark" } else { "warning" }]);
    notification.sequence_id = Topic::parse_sequence_id(&news.sequence).ok();
    let one = Outgoing {
        id: new_id(),
        server: operator.server.clone(),
        topic: operator.topic.as_str().to_owned(),
        rule: FILED_UNDER.1.to_owned(),
        sequence: notification.sequence_id.as_ref().map(|id| id.as_str().to_owned()),
        payload: notification.to_json(),
    };
    Webhook {
        id: new_id(),
        source: FILED_UNDER.0.to_owned(),
        received_at: unix_ms(),
        record: None,
        verdict: Verdict {
            outcome: VerdictOutcome::Published,
            rules: vec![FILED_UNDER.1.to_owned()],
            first: None,
        },
        once: None,
        notifications: vec![one],
    }
}
