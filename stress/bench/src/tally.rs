//! What came of the requests.

use std::collections::BTreeMap;
use std::io::{Error, ErrorKind};
use std::time::Duration;

use hdrhistogram::Histogram;

/// Longer latencies are counted as this.
const LONGEST_US: u64 = 600_000_000;

pub(crate) struct Tally {
    pub(crate) latency: Histogram<u64>,
    /// Answers of each kind, by status; the names are those of the mix.
    pub(crate) answers: Vec<BTreeMap<u16, u64>>,
    pub(crate) names: Vec<String>,
    pub(crate) wrong: u64,
    /// Requests without an answer, by why.
    pub(crate) errors: BTreeMap<String, u64>,
    /// Connections that could not be opened for want of a local port.
    pub(crate) no_port: u64,
    pub(crate) connections: u64,
    pub(crate) took: Duration,
}

impl Tally {
    pub(crate) fn new(names: Vec<String>) -> Tally {
        Tally {
            latency: Histogram::new_with_max(LONGEST_US, 3).expect("constants that fit"),
            answers: vec![BTreeMap::new(); names.len()],
            names,
            wrong: 0,
            errors: BTreeMap::new(),
            no_port: 0,
            connections: 0,
            took: Duration::ZERO,
        }
    }

    pub(crate) fn answered(&mut self, kind: usize, right: u16, status: u16, latency: Duration) {
        let us = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
        self.latency.saturating_record(us.clamp(1, LONGEST_US));
        *self.answers[kind].entry(status).or_default() += 1;
        self.wrong += u64::from(status != right);
    }

    pub(crate) fn failed(&mut self, error: &Error) {
        if error.kind() == ErrorKind::AddrNotAvailable {
            self.no_port += 1;
        } else {
            *self.errors.entry(error.to_string()).or_default() += 1;
        }
    }

    pub(crate) fn all_right(&self) -> bool {
        !self.latency.is_empty() && self.wrong == 0 && self.no_port == 0 && self.errors.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_wrong_when_it_is_not_the_kinds_own() {
        let mut tally = Tally::new(vec!["good".into(), "bad".into()]);
        assert!(!tally.all_right(), "no answer at all is not right");
        tally.answered(0, 200, 200, Duration::from_millis(1));
        tally.answered(1, 401, 401, Duration::from_secs(3600));
        assert!(tally.all_right());
        tally.answered(1, 401, 200, Duration::ZERO);
        assert!(!tally.all_right());
        assert_eq!((tally.wrong, &tally.answers[1]), (1, &[(200, 1), (401, 1)].into()));
    }

    #[test]
    fn want_of_ports_is_counted_apart() {
        let mut tally = Tally::new(vec![]);
        tally.failed(&Error::from(ErrorKind::AddrNotAvailable));
        tally.failed(&Error::from(ErrorKind::ConnectionRefused));
        assert_eq!((tally.no_port, tally.errors.values().sum::<u64>()), (1, 1));
    }
}
