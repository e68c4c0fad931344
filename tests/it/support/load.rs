//! Webhooks from several senders at once, each with a number of its own.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fake_ntfy::FakeNtfy;

/// One source that turns `{"n": 7}` into the message `7`.
pub const NUMBERS: &str = "\
sources:
  n:
    path: /n
    rules:
      - { name: all, publish: { topic: numbers, message: \"{{body.n}}\" } }
";

/// What came of a load.
#[derive(Debug, Default)]
pub struct Load {
    /// Numbers answered 200.
    pub accepted: BTreeSet<u64>,
    /// Statuses other than 200.
    pub refused: Vec<u16>,
    /// Requests without an answer.
    pub unanswered: u64,
    /// The time of each answer.
    pub times: Vec<Duration>,
}

/// Posts numbers from `next` on from `senders` threads over kept-alive connections until `stop` says so.
pub fn run(to: SocketAddr, senders: usize, next: &AtomicU64, stop: &AtomicBool) -> Load {
    let load = Mutex::new(Load::default());
    std::thread::scope(|scope| {
        for _ in 0..senders {
            scope.spawn(|| {
                let agent = agent();
                while !stop.load(Ordering::Relaxed) {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let start = Instant::now();
                    let answer = agent
                        .post(format!("http://{to}/n"))
                        .header("content-type", "application/json")
                        .send(format!("{{\"n\":{number}}}"));
                    let took = start.elapsed();
                    let mut load = load.lock().expect("the load");
                    match answer.map(|answer| answer.status().as_u16()) {
                        Ok(200) => {
                            load.accepted.insert(number);
                            load.times.push(took);
                        }
                        Ok(status) => load.refused.push(status),
                        Err(_) => load.unanswered += 1,
                    }
                }
            });
        }
    });
    load.into_inner().expect("the load")
}

/// Posts exactly the numbers below `count`.
pub fn send(to: SocketAddr, senders: usize, count: u64) -> Load {
    let (next, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while next.load(Ordering::Relaxed) < count {
                std::thread::sleep(Duration::from_millis(1));
            }
            stop.store(true, Ordering::Relaxed);
        });
        run(to, senders, &next, &stop)
    })
}

fn agent() -> ureq::Agent {
    let config =
        ureq::Agent::config_builder().http_status_as_error(false).timeout_global(Some(super::wait::PATIENCE));
    config.build().into()
}

/// The numbers that arrived, each as often as it did.
pub fn arrived(ntfy: &FakeNtfy) -> Vec<u64> {
    let number = |message: &serde_json::Value| message["message"].as_str()?.parse().ok();
    ntfy.messages().iter().filter_map(number).collect()
}

/// Waits until every accepted number has arrived.
pub fn wait_for(ntfy: &FakeNtfy, accepted: &BTreeSet<u64>) {
    super::wait::until("every accepted webhook to arrive", || {
        let there: BTreeSet<u64> = arrived(ntfy).into_iter().collect();
        accepted.is_subset(&there).then_some(())
    });
}
