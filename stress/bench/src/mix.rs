//! What is sent, in which shares and order, each with an id of its own.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Result, ensure};

use crate::request::{ID, Ready, Request};

/// A kind of request: its share, and its right answer.
#[derive(Clone, Debug)]
pub(crate) struct Kind {
    pub(crate) name: String,
    pub(crate) weight: u32,
    pub(crate) right: u16,
    pub(crate) request: Request,
}

pub(crate) struct Mix {
    kinds: Vec<(Kind, Ready)>,
    /// The order of one round, which repeats.
    round: Vec<usize>,
    /// What the ids of this run begin with.
    run: u32,
    sent: u64,
}

/// A request that is about to be sent.
#[derive(Clone, Copy)]
pub(crate) struct Next {
    pub(crate) kind: usize,
    pub(crate) right: u16,
}

impl Mix {
    pub(crate) fn new(kinds: Vec<Kind>, url: &str) -> Result<Mix> {
        ensure!(kinds.iter().any(|kind| kind.weight > 0), "there is nothing to send");
        let round = round(&kinds.iter().map(|kind| kind.weight).collect::<Vec<_>>());
        let host = url.trim_start_matches("http://").trim_end_matches('/');
        let kinds = kinds.into_iter().map(|kind| (kind.clone(), kind.request.ready(host))).collect();
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok(Mix { kinds, round, run: (since.as_millis() as u32).rotate_left(8) ^ std::process::id(), sent: 0 })
    }

    /// Puts the next request into the buffer.
    pub(crate) fn next(&mut self, buffer: &mut Vec<u8>) -> Next {
        let kind = self.round[(self.sent % self.round.len() as u64) as usize];
        self.sent += 1;
        let (known, ready) = &self.kinds[kind];
        ready.write(&id(self.run, self.sent), buffer);
        Next { kind, right: known.right }
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.kinds.iter().map(|(kind, _)| kind.name.clone()).collect()
    }
}

/// One round of the mix: every kind as often as its weight says, and as evenly spread as can be.
fn round(weights: &[u32]) -> Vec<usize> {
    let all: i64 = weights.iter().map(|&weight| i64::from(weight)).sum();
    let mut due = vec![0_i64; weights.len()];
    let mut order = Vec::new();
    for _ in 0..all {
        due.iter_mut().zip(weights).for_each(|(due, &weight)| *due += i64::from(weight));
        let most = (0..due.len()).max_by_key(|&kind| (due[kind], std::cmp::Reverse(kind))).unwrap_or(0);
        due[most] -= all;
        order.push(most);
    }
    order
}

/// The id of a request: the run, and its number in the run.
fn id(run: u32, number: u64) -> [u8; ID] {
    let digits = (u128::from(run) << 64) | u128::from(number);
    std::array::from_fn(|place| b"0123456789abcdef"[(digits >> (4 * (ID - 1 - place)) & 15) as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(weight: u32, right: u16) -> Kind {
        let request = Request { path: "/".into(), id_header: Some("Id"), ..Request::default() };
        Kind { name: right.to_string(), weight, right, request }
    }

    #[test]
    fn a_round_has_every_kind_as_often_as_its_weight_says() {
        let weights = [5, 2, 1, 5, 3, 1, 1, 0, 1];
        let order = round(&weights);
        let counts: Vec<_> =
            (0..weights.len()).map(|kind| order.iter().filter(|&&k| k == kind).count() as u32).collect();
        assert_eq!(counts, weights);
    }

    #[test]
    fn a_round_is_spread_evenly() {
        assert_eq!(round(&[3, 1]), [0, 0, 1, 0]);
        let order = round(&[5, 5]);
        assert!(order.windows(2).all(|pair| pair[0] != pair[1]), "{order:?}");
    }

    #[test]
    fn rounds_repeat_and_ids_do_not() {
        let mut mix = Mix::new(vec![kind(2, 200), kind(1, 401)], "http://127.0.0.1:1").unwrap();
        let mut seen = std::collections::BTreeSet::new();
        let mut rights = Vec::new();
        for _ in 0..6 {
            let mut buffer = Vec::new();
            rights.push(mix.next(&mut buffer).right);
            assert!(seen.insert(buffer));
        }
        assert_eq!(rights, [200, 401, 200, 200, 401, 200]);
    }

    #[test]
    fn an_id_is_hexadecimal_and_of_one_length() {
        assert_eq!(&id(0xdead_beef, 0x1f), b"deadbeef000000000000001f");
        assert_eq!(&id(1, u64::MAX), b"00000001ffffffffffffffff");
    }

    #[test]
    fn nothing_to_send_is_a_mistake() {
        assert!(Mix::new(vec![kind(0, 200)], "http://127.0.0.1:1").is_err());
    }
}
