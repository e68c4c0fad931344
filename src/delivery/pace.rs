//! Token buckets: how fast a server may be sent to. Pure; times are Unix milliseconds.

use std::time::Duration;

use crate::clock::millis;

/// `burst` at once, then one every `per`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Bucket {
    burst: f64,
    per_ms: f64,
    tokens: f64,
    at: i64,
}

impl Bucket {
    pub(super) fn full(burst: u32, per: Duration, now: i64) -> Self {
        Self { tokens: f64::from(burst), ..Self::empty(burst, per, now) }
    }

    pub(super) fn empty(burst: u32, per: Duration, now: i64) -> Self {
        Self { burst: f64::from(burst), per_ms: millis(per).max(1) as f64, tokens: 0.0, at: now }
    }

    /// When the next one may go: now or later.
    pub(super) fn next(&self, now: i64) -> i64 {
        let missing = 1.0 - self.tokens(now);
        if missing <= 0.0 { now } else { now + (missing * self.per_ms).ceil() as i64 }
    }

    pub(super) fn take(&mut self, now: i64) {
        (self.tokens, self.at) = (self.tokens(now) - 1.0, now);
    }

    /// Forgets what has accrued of the next token. For a server's own bucket, of which only the ends of attempts are
    /// known: it began to refill before that, so counting from there is never too fast.
    pub(super) fn count_from(&mut self, now: i64) {
        (self.tokens, self.at) = (self.tokens(now).floor(), now);
    }

    pub(super) fn is_full(&self, now: i64) -> bool {
        self.tokens(now) >= self.burst
    }

    fn tokens(&self, now: i64) -> f64 {
        let gained = (now - self.at).max(0) as f64 / self.per_ms;
        (self.tokens + gained).min(self.burst)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::Bucket;

    const PER: Duration = Duration::from_secs(5);

    #[test]
    fn a_full_bucket_gives_its_burst_at_once_and_then_one_each_interval() {
        let mut bucket = Bucket::full(3, PER, 1000);
        let mut times = Vec::new();
        let mut now = 1000;
        for _ in 0..5 {
            now = bucket.next(now);
            bucket.take(now);
            times.push(now);
        }
        assert_eq!(times, [1000, 1000, 1000, 6000, 11_000]);
    }

    #[test]
    fn an_empty_bucket_counts_from_the_end_of_the_latest_attempt() {
        let mut bucket = Bucket::empty(60, PER, 0);
        assert_eq!(bucket.next(0), 5000);
        bucket.take(5000);
        bucket.count_from(5400);
        assert_eq!(bucket.next(5400), 10_400);
        assert!(!bucket.is_full(5400 + 59 * 5000));
        assert!(bucket.is_full(5400 + 60 * 5000));
    }

    proptest! {
        #[test]
        fn no_more_than_the_burst_and_what_accrued_is_ever_given(
            burst in 1_u32..100, waits in proptest::collection::vec(0_i64..20_000, 1..200),
        ) {
            let mut bucket = Bucket::full(burst, PER, 0);
            let (mut now, mut given) = (0, 0_u32);
            for wait in waits {
                now += wait;
                if bucket.next(now) == now {
                    bucket.take(now);
                    given += 1;
                }
                prop_assert!(f64::from(given) <= f64::from(burst) + now as f64 / 5000.0 + 1e-6);
            }
        }
    }
}
