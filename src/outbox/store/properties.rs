//! Whatever happens in whatever order, memory and disk agree, and nothing vanishes.

use proptest::prelude::*;
use tempfile::TempDir;
use uuid::Uuid;

use super::tests::{alone, options, webhook};
use super::{Settlement, Store};
use crate::outbox::work::{DeadFilter, Order};

/// One thing that can happen to a store.
#[derive(Debug, Clone)]
enum Event {
    Enqueue,
    Claim(usize),
    /// The claimed one with this number, modulo how many there are, ends like this.
    Settle(usize, Ending),
    Revive(usize),
    Discard(usize),
    ReviveDead,
    Divert,
    Expire,
    /// The process ends and another begins.
    Reopen,
}

#[derive(Debug, Clone)]
enum Ending {
    Delivered,
    Kept,
    Later,
    Rewritten,
    Dead,
    Released,
}

fn ending() -> impl Strategy<Value = Ending> {
    prop_oneof![
        Just(Ending::Delivered),
        Just(Ending::Kept),
        Just(Ending::Later),
        Just(Ending::Rewritten),
        Just(Ending::Dead),
        Just(Ending::Released),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => Just(Event::Enqueue),
        3 => (0_usize..4).prop_map(Event::Claim),
        5 => (any::<usize>(), ending()).prop_map(|(which, ending)| Event::Settle(which, ending)),
        1 => any::<usize>().prop_map(Event::Revive),
        1 => any::<usize>().prop_map(Event::Discard),
        1 => Just(Event::ReviveDead),
        1 => Just(Event::Divert),
        1 => Just(Event::Expire),
        1 => Just(Event::Reopen),
    ]
}

/// A store, and what a person would have written down beside it.
struct World {
    data: TempDir,
    store: Option<Store>,
    all: Vec<Uuid>,
    claimed: Vec<Uuid>,
}

impl World {
    fn new() -> Self {
        let data = TempDir::new().unwrap();
        let store = Some(Store::open(data.path(), &options()).unwrap());
        Self { data, store, all: Vec::new(), claimed: Vec::new() }
    }

    fn store(&mut self) -> &mut Store {
        self.store.as_mut().unwrap()
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Enqueue => {
                let one = webhook("{}");
                self.all.push(one.notifications[0].id);
                alone(self.store(), |store| store.enqueue(&one)).unwrap();
            }
            Event::Claim(limit) => {
                let found =
                    alone(self.store(), |store| store.claim("main", limit, Order::Topic, 100)).unwrap();
                self.claimed.extend(found.deliveries.iter().map(|pending| pending.id));
            }
            Event::Settle(which, ending) => self.settle(which, &ending),
            Event::Revive(which) => self.wish(which, Store::revive),
            Event::Discard(which) => self.wish(which, Store::discard),
            Event::ReviveDead => {
                let filter = DeadFilter { source: None, since: None, before: i64::MAX };
                alone(self.store(), |store| store.revive_dead(&filter)).unwrap();
            }
            Event::Divert => {
                alone(self.store(), |store| store.divert("main", "other", i64::MAX)).unwrap();
            }
            Event::Expire => {
                alone(self.store(), |store| store.expire("main", i64::MAX, "late")).unwrap();
            }
            Event::Reopen => {
                // Closed first: two cannot have it.
                self.store = None;
                self.store = Some(Store::open(self.data.path(), &options()).unwrap());
                self.claimed.clear();
            }
        }
    }

    fn settle(&mut self, which: usize, ending: &Ending) {
        if self.claimed.is_empty() {
            return;
        }
        let id = self.claimed.swap_remove(which % self.claimed.len());
        let reason = "why".to_owned();
        let settlement = match ending {
            Ending::Delivered => Settlement::Delivered { receipt: None },
            Ending::Kept => Settlement::Retry { at: None, reason },
            Ending::Later => Settlement::Retry { at: Some(101), reason },
            Ending::Rewritten => Settlement::Rewrite { payload: "{}".to_owned(), reason },
            Ending::Dead => Settlement::Dead { reason },
            Ending::Released => Settlement::Release,
        };
        alone(self.store(), |store| store.settle(id, &settlement, std::time::Duration::ZERO)).unwrap();
    }

    fn wish<T>(
        &mut self,
        which: usize,
        wish: impl FnOnce(&mut Store, &[Uuid]) -> Result<T, super::Unavailable>,
    ) {
        if let Some(id) = self.all.get(which % self.all.len().max(1)).copied() {
            alone(self.store(), |store| wish(store, &[id])).map(drop).unwrap();
        }
    }

    fn count(&mut self, condition: &str) -> u64 {
        let query = format!("SELECT count(*) FROM notification WHERE {condition}");
        let count: i64 = self.store().db.query_row(&query, [], |row| row.get(0)).unwrap();
        count.unsigned_abs()
    }

    fn check(&mut self) {
        let depth = alone(self.store(), Store::depth).unwrap();
        assert_eq!((depth.waiting, depth.dead), (self.count("state = 0"), self.count("state = 2")));
        assert_eq!(self.count("true"), self.all.len() as u64, "nothing vanishes");
        for id in self.claimed.clone() {
            assert!(self.store().ledger.claimed_seq(id).is_some(), "a claim holds until it is settled");
        }
        let mut servers = self.store().servers();
        servers.sort();
        let waiting: Vec<String> = ["main", "other"]
            .into_iter()
            .filter(|server| self.count(&format!("state = 0 AND server = '{server}'")) > 0)
            .map(str::to_owned)
            .collect();
        assert_eq!(servers, waiting);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn memory_and_disk_agree_after_every_event_and_nothing_vanishes(events in proptest::collection::vec(event(), 1..60)) {
        let mut world = World::new();
        for event in events {
            world.happen(event);
            world.check();
        }
    }
}
