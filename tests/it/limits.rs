//! ntfy's own limits: a storm drains slowly, in order, without loss and without hammering.

use std::time::Duration;

use fake_ntfy::{Behaviour, FakeNtfy, Limits, Options};
use hookbell::clock::{Clock, unix_ms};

use crate::support::fast::FastGateway;
use crate::support::load::{self, NUMBERS};

const SPEED: u32 = 200;

fn limited(limits: Limits) -> FakeNtfy {
    let behaviour = Behaviour { limits: Some(limits), ..Behaviour::default() };
    FakeNtfy::start(Options { behaviour, ..Options::default() })
}

fn gateway(ntfy: &FakeNtfy) -> FastGateway {
    let rules = format!("servers: {{ default: {{ url: \"{}\" }} }}\n{NUMBERS}", ntfy.url());
    FastGateway::start(&rules, Clock::faster(ntfy.virtual_now_unix_ms(), SPEED))
}

#[test]
fn a_storm_of_500_webhooks_drains_through_the_default_limits_in_order_and_none_twice() {
    let ntfy = limited(Limits { speed: SPEED, ..Limits::default() });
    let gateway = gateway(&ntfy);
    let load = load::send(gateway.webhooks, 1, 500);
    assert_eq!((load.refused.len(), load.unanswered), (0, 0));
    ntfy.wait_for_messages(500, Duration::from_secs(60));
    // One sender, so the numbers are in the order of arrival; more may have been sent than asked for.
    let expected: Vec<u64> = load.accepted.iter().copied().take(500).collect();
    assert_eq!(load::arrived(&ntfy)[..500], expected);
    let stats = ntfy.stats();
    let limited = stats.by_code.get(&42901).copied().unwrap_or(0);
    assert!(limited > 0, "the limits did not bite: {stats:?}");
    assert!(limited * 20 <= stats.requests, "{limited} of {} attempts were answered 429", stats.requests);
}

#[test]
fn a_used_up_quota_parks_the_rest_until_the_next_day() {
    // A quarter of an hour before midnight.
    let now = (unix_ms() / 86_400_000 + 1) * 86_400 - 900;
    let now_unix = Some(u64::try_from(now).expect("after 1970"));
    let ntfy = limited(Limits { messages: Some(10), speed: SPEED, now_unix, ..Limits::default() });
    let gateway = gateway(&ntfy);
    let load = load::send(gateway.webhooks, 1, 15);
    ntfy.wait_for_messages(15, Duration::from_secs(30));
    let expected: Vec<u64> = load.accepted.iter().copied().take(15).collect();
    assert_eq!(load::arrived(&ntfy)[..15], expected);
    assert_eq!(ntfy.stats().by_code.get(&42908), Some(&1), "{:?}", ntfy.stats());
    assert!(ntfy.virtual_now_unix_ms() >= (now + 900) * 1000, "delivered before the reset");
}
