//! What time it is, and how to wait: one clock for everything that has a schedule, so that a test can let hours pass
//! in seconds.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A wall clock. Copies agree.
#[derive(Debug, Clone, Copy)]
pub struct Clock(Option<Faster>);

/// A clock that runs ahead.
#[derive(Debug, Clone, Copy)]
struct Faster {
    start: Instant,
    start_ms: i64,
    speed: u32,
}

impl Clock {
    /// The system's own.
    pub fn system() -> Self {
        Self(None)
    }

    /// A clock that starts at `start_ms` (Unix milliseconds) and runs `speed` times as fast as the world.
    pub fn faster(start_ms: i64, speed: u32) -> Self {
        Self(Some(Faster { start: Instant::now(), start_ms, speed: speed.max(1) }))
    }

    /// Now, in Unix milliseconds.
    pub fn now_ms(&self) -> i64 {
        match self.0 {
            None => unix_ms(),
            Some(Faster { start, start_ms, speed }) => {
                let passed = start.elapsed().saturating_mul(speed);
                start_ms.saturating_add(i64::try_from(passed.as_millis()).unwrap_or(i64::MAX))
            }
        }
    }

    /// Resolves at `at` (Unix milliseconds), at once when that has passed.
    pub async fn sleep_until(&self, at: i64) {
        let left = Duration::from_millis(at.saturating_sub(self.now_ms()).max(0).unsigned_abs());
        let speed = self.0.map_or(1, |faster| faster.speed);
        tokio::time::sleep(left / speed).await;
    }
}

/// Now by the system's clock, in Unix milliseconds.
pub fn unix_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// A duration in whole milliseconds, as schedules count.
pub fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
