//! Many webhooks from several threads over kept connections, each with an id of its own.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use super::raw::Connection;

/// The path that [`Load`] posts to.
pub const PATH: &str = "/hooks/load";

/// A running load.
pub struct Load {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

/// What came of a load.
#[derive(Default, Debug)]
pub struct Outcome {
    /// The ids that were answered 200.
    pub accepted: BTreeSet<String>,
    /// Every other answer, and every connection that broke.
    pub failures: Vec<String>,
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    sent: AtomicUsize,
    outcome: Mutex<Outcome>,
}

impl Load {
    /// Starts posting from `threads` threads, each with `pause` between its webhooks. A thread ends with its
    /// connection.
    pub fn start(to: SocketAddr, name: &str, threads: usize, pause: Duration) -> Self {
        let shared = Arc::new(Shared::default());
        let start = |thread| {
            let (shared, name) = (shared.clone(), format!("{name}-{thread}"));
            std::thread::spawn(move || shared.run(to, &name, pause))
        };
        Self { threads: (0..threads).map(start).collect(), shared }
    }

    /// Webhooks answered so far, whatever the answer.
    pub fn sent(&self) -> usize {
        self.shared.sent.load(Relaxed)
    }

    /// Ends it after the webhooks under way.
    pub fn stop(self) -> Outcome {
        self.shared.stop.store(true, Relaxed);
        self.threads.into_iter().for_each(|thread| thread.join().expect("a thread of the load"));
        std::mem::take(&mut self.shared.outcome.lock().expect("the outcome"))
    }
}

impl Shared {
    fn run(&self, to: SocketAddr, name: &str, pause: Duration) {
        let mut connection = Connection::open(to).expect("a connection for the load");
        for number in 0.. {
            if self.stop.load(Relaxed) {
                return;
            }
            let id = format!("{name}-{number}");
            let answer = connection.post(PATH, &format!(r#"{{"id":"{id}"}}"#));
            self.sent.fetch_add(1, Relaxed);
            let mut outcome = self.outcome.lock().expect("the outcome");
            match answer {
                Ok(answer) if answer.status == 200 => drop(outcome.accepted.insert(id)),
                Ok(answer) => outcome.failures.push(format!("{id}: {} {}", answer.status, answer.text)),
                Err(error) => {
                    outcome.failures.push(format!("{id}: {error}"));
                    return;
                }
            }
            drop(outcome);
            std::thread::sleep(pause);
        }
    }
}

/// Rules with one source that makes the body's id the message.
pub fn rules(title: &str, server: &str) -> String {
    format!(
        "servers: {{ default: {{ url: {{ env: NTFY_URL }}, {server} }} }}\n\
         sources:\n  load:\n    path: {PATH}\n    rules:\n      - name: all\n        \
         publish: {{ topic: load, title: \"{title}\", message: \"{{{{body.id}}}}\" }}\n"
    )
}

/// The messages that arrived, as a set.
pub fn arrived(ntfy: &fake_ntfy::FakeNtfy) -> BTreeSet<String> {
    ntfy.messages().iter().filter_map(|message| Some(message["message"].as_str()?.to_owned())).collect()
}
