//! Sending: closed loop, open loop, or connections that only stay.

use std::cell::RefCell;
use std::io::{Error, ErrorKind};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::{JoinHandle, spawn_local};
use tokio::time::{sleep, timeout};

use crate::connection::Connection;
use crate::mix::Mix;
use crate::pace;
use crate::tally::Tally;
use crate::usage::processor_time;

#[derive(Clone, Copy)]
pub(crate) enum Manner {
    /// Each connection sends when it has its answer.
    Closed,
    /// Requests are sent when they are due, whatever came of those before, and wait when no connection is free.
    Open { rate: u32 },
    /// Each connection sends once and then stays.
    Idle,
}

pub(crate) struct Plan {
    pub(crate) target: SocketAddr,
    pub(crate) manner: Manner,
    pub(crate) connections: usize,
    pub(crate) length: Duration,
    pub(crate) timeout: Duration,
}

/// What all connections share; they live in one thread.
struct Shared {
    mix: RefCell<Mix>,
    tally: RefCell<Tally>,
    timeout: Duration,
}

/// What came of it, and the share of one processor that it took to send.
pub(crate) async fn run(plan: &Plan, mix: Mix) -> (Tally, f64) {
    let tally = RefCell::new(Tally::new(mix.names()));
    let shared = Rc::new(Shared { mix: RefCell::new(mix), tally, timeout: plan.timeout });
    let (start, used) = (Instant::now(), processor_time());
    let due = match plan.manner {
        Manner::Open { rate } => Some(Rc::new(Mutex::new(pace::dispatch(rate, plan.length)))),
        _ => None,
    };
    let tasks: Vec<JoinHandle<()>> = (0..plan.connections)
        .map(|_| {
            let sender = Sender::new(&shared, plan.target);
            match &due {
                Some(due) => spawn_local(sender.open(Rc::clone(due), start + plan.length + plan.timeout)),
                None if matches!(plan.manner, Manner::Idle) => spawn_local(sender.idle(start + plan.length)),
                None => spawn_local(sender.closed(start + plan.length)),
            }
        })
        .collect();
    for task in tasks {
        task.await.expect("no task panics or is aborted");
    }
    let share = (processor_time() - used).as_secs_f64() / start.elapsed().as_secs_f64();
    let mut tally = shared.tally.replace(Tally::new(Vec::new()));
    tally.took = start.elapsed();
    (tally, share)
}

struct Sender {
    shared: Rc<Shared>,
    connection: Connection,
    request: Vec<u8>,
}

impl Sender {
    fn new(shared: &Rc<Shared>, target: SocketAddr) -> Sender {
        Sender { shared: Rc::clone(shared), connection: Connection::to(target), request: Vec::new() }
    }

    async fn closed(mut self, end: Instant) {
        while Instant::now() < end {
            if !self.send(Instant::now()).await {
                // A server that takes no connection must not be asked as fast as it refuses.
                sleep(Duration::from_millis(50)).await;
            }
        }
        self.shared.tally.borrow_mut().connections += self.connection.opened;
    }

    /// What is still due after the end is given up, so that the run ends however slow the server is.
    async fn open(mut self, due: Rc<Mutex<UnboundedReceiver<Instant>>>, end: Instant) {
        loop {
            // Not in the loop's head: the lock would be held while sending.
            let next = due.lock().await.recv().await;
            let Some(due) = next else { break };
            if Instant::now() < end {
                self.send(due).await;
            } else {
                self.shared
                    .tally
                    .borrow_mut()
                    .failed(&Error::other("never sent: no connection was free in time"));
            }
        }
        self.shared.tally.borrow_mut().connections += self.connection.opened;
    }

    async fn idle(mut self, end: Instant) {
        self.send(Instant::now()).await;
        sleep(end.saturating_duration_since(Instant::now())).await;
        self.shared.tally.borrow_mut().connections += self.connection.opened;
    }

    /// Sends the next request, whose latency counts from then; whether there was an answer.
    async fn send(&mut self, since: Instant) -> bool {
        let next = self.shared.mix.borrow_mut().next(&mut self.request);
        let answer = timeout(self.shared.timeout, self.connection.exchange(&self.request)).await;
        let mut tally = self.shared.tally.borrow_mut();
        match answer.unwrap_or_else(|_| Err(Error::new(ErrorKind::TimedOut, "no answer in time"))) {
            Ok(status) => tally.answered(next.kind, next.right, status, since.elapsed()),
            Err(e) => {
                tally.failed(&e);
                return false;
            }
        }
        true
    }
}
