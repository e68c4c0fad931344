//! When to try again: pure arithmetic, with the chance injected.

use std::time::Duration;

/// A schedule that doubles from a base up to a cap. Only usable values exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    base: Duration,
    cap: Duration,
}

/// Why a [`Backoff`] cannot be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BackoffError {
    /// The base is zero, which would try again without end and without pause.
    #[error("the first wait is `0s`; make it at least 1ms")]
    NoBase,
    /// The cap is below the base.
    #[error("the longest wait `{cap:?}` is below the first wait `{base:?}`; raise it")]
    CapBelowBase {
        /// The first wait.
        base: Duration,
        /// The longest wait.
        cap: Duration,
    },
}

impl Default for Backoff {
    /// From 1 second to 5 minutes.
    fn default() -> Self {
        Self { base: Duration::from_secs(1), cap: Duration::from_secs(300) }
    }
}

impl Backoff {
    /// A schedule whose first wait is about `base` and whose longest is `cap`.
    ///
    /// # Errors
    /// [`BackoffError`] for a base below a millisecond or a cap below the base.
    pub fn new(base: Duration, cap: Duration) -> Result<Self, BackoffError> {
        if base < Duration::from_millis(1) {
            return Err(BackoffError::NoBase);
        }
        if cap < base {
            return Err(BackoffError::CapBelowBase { base, cap });
        }
        Ok(Self { base, cap })
    }

    /// The wait before the next attempt when `attempts` failed before the latest one, for a
    /// `chance` in `[0, 1)`. Half of the wait is certain, so that a server gets its rest; half is
    /// chance, so that notifications which failed together do not return together.
    pub fn after(&self, attempts: u32, chance: f64) -> Duration {
        let factor = 1_u32.checked_shl(attempts).unwrap_or(u32::MAX);
        let full = self.base.saturating_mul(factor).min(self.cap);
        full.mul_f64(0.5 + 0.5 * chance.clamp(0.0, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::{Backoff, BackoffError};

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn waits_double_up_to_the_cap() {
        let backoff = Backoff::new(SECOND, 5 * SECOND).unwrap();
        let waits: Vec<_> = (0..5).map(|n| backoff.after(n, 1.0)).collect();
        assert_eq!(waits, [SECOND, 2 * SECOND, 4 * SECOND, 5 * SECOND, 5 * SECOND]);
    }

    #[test]
    fn half_of_a_wait_is_certain() {
        assert_eq!(Backoff::default().after(0, 0.0), Duration::from_millis(500));
    }

    #[test]
    fn a_schedule_without_a_pause_cannot_be_made() {
        assert_eq!(Backoff::new(Duration::ZERO, SECOND), Err(BackoffError::NoBase));
        let error = Backoff::new(2 * SECOND, SECOND).unwrap_err();
        assert_eq!(error.to_string(), "the longest wait `1s` is below the first wait `2s`; raise it");
    }

    proptest! {
        #[test]
        fn every_wait_is_between_half_the_base_and_the_cap(
            base in 1_u64..10_000, over in 0_u64..1_000_000, attempts: u32, chance in 0.0..1.0,
        ) {
            let (base, cap) = (Duration::from_millis(base), Duration::from_millis(base + over));
            let wait = Backoff::new(base, cap).unwrap().after(attempts, chance);
            prop_assert!(wait >= base / 2 && wait <= cap);
        }

        #[test]
        fn more_attempts_never_shorten_the_wait(attempts in 0_u32..100, chance in 0.0..1.0) {
            let backoff = Backoff::default();
            prop_assert!(backoff.after(attempts, chance) <= backoff.after(attempts + 1, chance));
        }
    }
}
