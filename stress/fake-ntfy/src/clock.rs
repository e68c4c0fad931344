//! A clock that may start at any time and run at any speed.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Virtual Unix time.
pub(crate) struct Clock {
    started: Instant,
    start_unix_ms: i64,
    speed: u32,
}

impl Clock {
    /// A clock that starts now, at that Unix time in seconds or at the real one.
    pub(crate) fn start(now_unix: Option<u64>, speed: u32) -> Clock {
        let given = now_unix.map(|seconds| i64::try_from(seconds.saturating_mul(1000)).unwrap_or(i64::MAX));
        Clock { started: Instant::now(), start_unix_ms: given.unwrap_or_else(real_unix_ms), speed }
    }

    /// The virtual Unix time in milliseconds.
    pub(crate) fn now_unix_ms(&self) -> i64 {
        self.after(self.started.elapsed())
    }

    fn after(&self, real: Duration) -> i64 {
        let passed_ms = real.as_micros().saturating_mul(self.speed.into()) / 1000;
        self.start_unix_ms.saturating_add(i64::try_from(passed_ms).unwrap_or(i64::MAX))
    }
}

/// The real Unix time in milliseconds.
pub(crate) fn real_unix_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(speed: u32, real: Duration) -> i64 {
        Clock::start(Some(1_000), speed).after(real)
    }

    #[test]
    fn virtual_time_is_the_start_plus_real_time_by_the_speed() {
        assert_eq!(after(1, Duration::ZERO), 1_000_000);
        assert_eq!(after(1, Duration::from_millis(1_500)), 1_001_500);
        assert_eq!(after(1_000, Duration::from_micros(1_500)), 1_001_500);
    }

    #[test]
    fn a_clock_without_speed_stands_still() {
        assert_eq!(after(0, Duration::from_secs(3600)), 1_000_000);
    }

    #[test]
    fn times_too_large_stay_at_the_largest() {
        assert_eq!(after(u32::MAX, Duration::MAX), i64::MAX);
        assert_eq!(Clock::start(Some(u64::MAX), 1).now_unix_ms(), i64::MAX);
    }

    #[test]
    fn a_clock_without_a_start_shows_the_real_time() {
        let before = real_unix_ms();
        let shown = Clock::start(None, 0).now_unix_ms();
        assert!((before..=real_unix_ms()).contains(&shown), "{shown}");
    }
}
