//! Waiting for what happens elsewhere, with a limit that fails the test.

use std::time::{Duration, Instant};

/// How long anything may take on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Asks until there is an answer, and panics with `what` when none comes in time.
pub fn until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(start.elapsed() < PATIENCE, "waited {PATIENCE:?} in vain for: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
