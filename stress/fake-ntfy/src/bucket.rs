//! A token bucket.

use std::time::Duration;

/// Starts full, loses a token to each taker and gains one per interval until it is full again.
#[derive(Debug, PartialEq)]
pub(crate) struct Bucket {
    capacity: u64,
    interval_ms: u64,
    tokens: u64,
    /// When the latest token was gained.
    refilled_unix_ms: i64,
}

impl Bucket {
    pub(crate) fn full(capacity: u64, interval: Duration, now_unix_ms: i64) -> Bucket {
        let interval_ms = u64::try_from(interval.as_millis()).unwrap_or(u64::MAX);
        Bucket { capacity, interval_ms, tokens: capacity, refilled_unix_ms: now_unix_ms }
    }

    /// Takes a token, or says that there is none.
    pub(crate) fn take(&mut self, now_unix_ms: i64) -> bool {
        self.refill(now_unix_ms);
        let left = self.tokens.checked_sub(1);
        self.tokens = left.unwrap_or(0);
        left.is_some()
    }

    fn refill(&mut self, now_unix_ms: i64) {
        let passed = u64::try_from(now_unix_ms.saturating_sub(self.refilled_unix_ms)).unwrap_or(0);
        let missing = self.capacity - self.tokens;
        // Without an interval the bucket is always full.
        let gained = passed.checked_div(self.interval_ms).unwrap_or(missing);
        if gained >= missing {
            self.tokens = self.capacity;
            self.refilled_unix_ms = self.refilled_unix_ms.max(now_unix_ms);
        } else {
            self.tokens += gained;
            self.refilled_unix_ms += (gained * self.interval_ms) as i64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(capacity: u64) -> Bucket {
        Bucket::full(capacity, Duration::from_secs(5), 0)
    }

    fn taken(bucket: &mut Bucket, times: [i64; 4]) -> [bool; 4] {
        times.map(|now| bucket.take(now))
    }

    #[test]
    fn a_full_bucket_gives_its_capacity_and_no_more() {
        assert_eq!(taken(&mut bucket(3), [0, 0, 0, 0]), [true, true, true, false]);
        assert_eq!(taken(&mut bucket(0), [0, 5_000, 10_000, 15_000]), [false; 4]);
    }

    #[test]
    fn a_token_comes_back_when_the_interval_is_over_and_not_before() {
        assert_eq!(taken(&mut bucket(1), [0, 4_999, 5_000, 5_001]), [true, false, true, false]);
    }

    #[test]
    fn a_part_of_an_interval_is_kept_for_the_next_token() {
        assert_eq!(taken(&mut bucket(2), [0, 0, 7_000, 10_000]), [true; 4]);
        assert_eq!(taken(&mut bucket(1), [0, 7_000, 11_999, 12_000]), [true, true, false, true]);
    }

    #[test]
    fn idle_time_fills_the_bucket_to_its_capacity_and_no_further() {
        let mut bucket = bucket(3);
        assert_eq!(taken(&mut bucket, [0, 0, 0, 0]), [true, true, true, false]);
        assert_eq!(taken(&mut bucket, [i64::MAX; 4]), [true, true, true, false]);
    }

    #[test]
    fn a_clock_that_goes_back_gives_nothing() {
        assert_eq!(taken(&mut bucket(1), [10_000, 0, i64::MIN, 14_999]), [true, false, false, false]);
    }

    #[test]
    fn without_an_interval_there_is_always_a_token() {
        let mut bucket = Bucket::full(1, Duration::ZERO, 0);
        assert_eq!(taken(&mut bucket, [0; 4]), [true; 4]);
    }
}
