//! When requests of an open loop are due.

use std::time::{Duration, Instant};

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// When the request of a number is due after the start.
pub(crate) fn due(number: u64, rate: u32) -> Duration {
    let (rate, second) = (u64::from(rate), 1_000_000_000);
    Duration::from_secs(number / rate) + Duration::from_nanos(number % rate * second / rate)
}

/// Tells when each request is due, at that time. A thread sleeps more exactly than tokio's timer, whose tick is 1 ms.
pub(crate) fn dispatch(rate: u32, length: Duration) -> UnboundedReceiver<Instant> {
    let (sender, receiver) = unbounded_channel();
    std::thread::spawn(move || {
        let start = Instant::now();
        for wait in (0..).map(|number| due(number, rate)).take_while(|wait| *wait < length) {
            std::thread::sleep((start + wait).saturating_duration_since(Instant::now()));
            if sender.send(start + wait).is_err() {
                return;
            }
        }
    });
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_due_at_equal_distances_for_ever() {
        assert_eq!([0, 1, 999, 1000].map(|n| due(n, 1000).as_micros()), [0, 1_000, 999_000, 1_000_000]);
        assert_eq!([0, 1, 2, 3].map(|n| due(n, 3).as_millis()), [0, 333, 666, 1000]);
        assert_eq!(due(u64::from(u32::MAX) * 5, u32::MAX), Duration::from_secs(5));
    }

    #[tokio::test]
    async fn as_many_are_told_as_are_due_and_none_of_them_early() {
        let mut receiver = dispatch(1000, Duration::from_millis(50));
        let mut told = Vec::new();
        while let Some(due) = receiver.recv().await {
            assert!(due <= Instant::now());
            told.push(due);
        }
        assert_eq!(told.len(), 50);
        assert!(told.windows(2).all(|pair| pair[1] - pair[0] == Duration::from_millis(1)));
    }
}
