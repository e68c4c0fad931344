use std::time::Duration;

use tempfile::TempDir;
use uuid::Uuid;

use crate::outbox::store::browse::Browser;
use crate::outbox::store::tests::{alone, options, webhook};
use crate::outbox::store::{Order, Store};
use crate::outbox::{Kept, Once, Record, Search, Settlement, State, Verdict, VerdictOutcome, Webhook};

/// A store that holds one webhook of each kind, and their ids by name.
fn shelf() -> (TempDir, Store, Vec<(&'static str, Uuid)>) {
    let data = TempDir::new().unwrap();
    let mut store = Store::open(data.path(), &options()).unwrap();
    let mut names = Vec::new();
    let mut put = |store: &mut Store, name: &'static str, webhook: Webhook| {
        names.push((name, webhook.id));
        alone(store, |store| store.enqueue(&webhook)).unwrap();
    };
    put(&mut store, "delivered", recorded(r#"{"title":"100 % done"}"#));
    put(&mut store, "dead", recorded(r#"{"title":"b"}"#));
    let claimed = alone(&mut store, |store| store.claim("main", 2, Order::Topic, 1)).unwrap().deliveries;
    let ends = [Settlement::Delivered { receipt: None }, Settlement::Dead { reason: "no".to_owned() }];
    for (pending, end) in claimed.iter().zip(&ends) {
        alone(&mut store, |store| store.settle(pending.id, end, Duration::ZERO)).unwrap();
    }
    let once = Once { key: "k".to_owned(), window: Duration::from_secs(60) };
    put(&mut store, "waiting", Webhook { once: Some(once.clone()), ..recorded(r#"{"message":"c_d"}"#) });
    put(&mut store, "duplicate", Webhook { once: Some(once), ..recorded("{}") });
    for (name, outcome) in [("dropped", VerdictOutcome::Dropped), ("unmatched", VerdictOutcome::Unmatched)] {
        let verdict = Verdict { outcome, rules: Vec::new(), first: None };
        put(&mut store, name, Webhook { verdict, notifications: Vec::new(), ..recorded("{}") });
    }
    (data, store, names)
}

fn recorded(payload: &str) -> Webhook {
    let record = Record { body: "{}".into(), received_at: 1, ..Record::default() };
    Webhook { record: Some(Kept::from(&record)), ..webhook(payload) }
}

#[test]
fn webhooks_are_found_by_state_by_text_and_page_by_page() {
    let (data, _store, names) = shelf();
    let browser = Browser::open(data.path()).unwrap();
    let find = |search: Search| -> Vec<&str> {
        let found = browser.arrivals(&Search { limit: search.limit.max(1), ..search }).unwrap();
        let name = |id| names.iter().find(|(_, known)| *known == id).unwrap().0;
        found.iter().map(|arrival| name(arrival.id)).collect()
    };
    let all = Search { limit: 9, ..Search::default() };
    assert_eq!(find(all.clone()), ["unmatched", "dropped", "duplicate", "waiting", "dead", "delivered"]);
    for (state, name) in State::ALL {
        assert_eq!(find(Search { state: Some(state), ..all.clone() }), [name]);
        assert_eq!((State::named(name), state.name()), (Some(state), name));
    }
    let text = |text: &str| find(Search { text: Some(text.to_owned()), ..all.clone() });
    assert_eq!(text("C_D"), ["waiting"]);
    assert_eq!(text("100 %"), ["delivered"], "signs of patterns mean themselves");
    assert_eq!(text("c%d"), [""; 0]);
    assert_eq!(text(&names[1].1.to_string()), ["dead"]);
    assert_eq!(find(Search { source: Some("other".to_owned()), ..all.clone() }), [""; 0]);
    let first = browser.arrivals(&Search { limit: 2, ..all.clone() }).unwrap();
    assert_eq!(find(Search { before: Some(first[1].row), limit: 2, ..all }), ["duplicate", "waiting"]);
}

#[test]
fn a_list_shows_what_each_webhook_became_and_the_counts_add_up() {
    let (data, _store, _) = shelf();
    let browser = Browser::open(data.path()).unwrap();
    let found = browser.arrivals(&Search { limit: 9, ..Search::default() }).unwrap();
    let became: Vec<Vec<_>> =
        found.iter().map(|one| one.notifications.iter().map(|n| (n.state, &*n.text)).collect()).collect();
    let expected: [&[(&str, &str)]; 6] =
        [&[], &[], &[], &[("waiting", "c_d")], &[("dead", "b")], &[("delivered", "100 % done")]];
    assert_eq!(became, expected);
    // The webhook that was delivered, died and waits, and the repeat of the last.
    assert_eq!(browser.hits(0).unwrap(), [("test".to_owned(), "any".to_owned(), 4)]);
    assert_eq!(browser.hits(2).unwrap(), []);
    let by_minute = browser.delivered_by_minute(0).unwrap();
    assert_eq!(by_minute.iter().map(|(_, count)| count).sum::<u64>(), 1);
}
