//! Who is told that new work is on disk, so that nobody polls for it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::Notify;

/// Wakes the one who follows a server.
#[derive(Debug, Default)]
pub struct Waker {
    notify: Notify,
    urged: AtomicBool,
}

impl Waker {
    /// Resolves after an arrival, also one that came before the call.
    pub async fn woken(&self) {
        self.notify.notified().await;
    }

    /// Whether an operator wants something to be sent now, whatever the server did so far. Told once.
    pub fn take_urge(&self) -> bool {
        self.urged.swap(false, Ordering::Relaxed)
    }
}

/// One waker for each followed server, and one for all the others.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    // Weak, so that the last holder's end is the unsubscription.
    followed: Mutex<HashMap<String, Weak<Waker>>>,
    stranger: Notify,
}

impl Arrivals {
    /// The waker of `server`, made if there is none.
    pub(super) fn subscribe(&self, server: &str) -> Arc<Waker> {
        let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(waker) = followed.get(server).and_then(Weak::upgrade) {
            return waker;
        }
        let waker = Arc::new(Waker::default());
        followed.insert(server.to_owned(), Arc::downgrade(&waker));
        waker
    }

    /// Wakes who follows `server`. A waker keeps one call for a holder that is busy.
    pub(super) fn announce(&self, server: &str, urged: bool) {
        let followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        match followed.get(server).and_then(Weak::upgrade) {
            Some(waker) => {
                waker.urged.fetch_or(urged, Ordering::Relaxed);
                waker.notify.notify_one();
            }
            None => self.stranger.notify_one(),
        }
    }

    /// Resolves after an announcement that nobody follows.
    pub(super) async fn stranger(&self) {
        self.stranger.notified().await;
    }
}
