//! A gate under every answer a server gives.

use std::time::Duration;

use uuid::Uuid;

use super::{Gate, Next, Patience, Permit, Tried, Why, next_reset};
use crate::ntfy::{Cause, Failure, Part};
use crate::rules::target::Target;

const HOUR: i64 = 3_600_000;
/// The shortest waits of all schedules, so that expectations are exact.
const LUCKY: f64 = 0.0;
const NONE: [Uuid; 0] = [];

fn gate() -> Gate {
    let mut gate = Gate::new(Patience::default());
    gate.retarget(&Target::new("main", "http://n.example/"), 0);
    gate
}

fn failure(cause: Cause) -> Failure {
    Failure { cause, reason: "why".to_owned(), after: None }
}

fn tried(id: u128) -> Tried<'static> {
    Tried { id: Uuid::from_u128(id), topic: "ci", attempts: 0, rewritten: false, probe: false }
}

fn probe(id: u128) -> Tried<'static> {
    Tried { probe: true, ..tried(id) }
}

fn fail(gate: &mut Gate, cause: Cause, tried: Tried<'_>, now: i64) -> Next {
    gate.failed(&failure(cause), tried, now, LUCKY).0
}

#[test]
fn a_server_that_is_away_gets_one_probe_at_a_time_ever_more_rarely() {
    let mut gate = gate();
    assert_eq!(fail(&mut gate, Cause::Unreachable, tried(1), 0), Next::Keep);
    let mut now = 0;
    let mut waits = Vec::new();
    for _ in 0..7 {
        let Permit::Wait(Some(until)) = gate.permit(now, 0) else { panic!("open at {now}") };
        waits.push(until - now);
        now = until;
        assert_eq!(gate.permit(now, 1), Permit::Wait(None), "another is under way");
        assert_eq!(gate.permit(now, 0), Permit::Probe);
        assert_eq!(fail(&mut gate, Cause::Unreachable, probe(1), now), Next::Keep);
    }
    assert_eq!(waits, [1000, 2000, 4000, 8000, 15_000, 15_000, 15_000]);
    assert_eq!(gate.closed().map(|closed| (closed.why, closed.since)), Some((Why::Down, 0)));
    assert_eq!(gate.delivered("ci", true, now), NONE);
    assert_eq!(gate.permit(now, 3), Permit::Open);
}

#[test]
fn a_message_that_always_leads_to_no_answer_does_not_lead_for_ever() {
    let mut gate = gate();
    let stubborn = Tried { attempts: 4, ..probe(1) };
    assert_eq!(fail(&mut gate, Cause::Unreachable, stubborn, 0), Next::At(8000));
    assert_eq!(
        gate.delivered("ci", true, 1000),
        [Uuid::from_u128(1)],
        "it goes first once the server is back"
    );
}

#[test]
fn one_failure_is_the_message_s_three_in_a_row_are_the_server_s() {
    let mut gate = gate();
    assert_eq!(fail(&mut gate, Cause::Failing, tried(1), 0), Next::At(500));
    assert_eq!(fail(&mut gate, Cause::Failing, tried(2), 0), Next::At(500));
    assert_eq!(gate.delivered("ci", false, 0), NONE, "they come at their own times");
    for id in 1..=3 {
        assert_eq!(gate.permit(0, 0), Permit::Open);
        fail(&mut gate, Cause::Failing, tried(id), 0);
    }
    assert_eq!(gate.permit(0, 0), Permit::Wait(Some(1000)));
    assert_eq!(fail(&mut gate, Cause::Failing, probe(4), 1000), Next::At(1500));
    let first: Vec<_> = (1..=4).map(Uuid::from_u128).collect();
    assert_eq!(gate.delivered("ci", true, 3000), first);
}

#[test]
fn what_was_under_way_when_the_gate_closed_neither_opens_nor_lengthens_it() {
    let mut gate = gate();
    for id in 1..=16 {
        assert_eq!(fail(&mut gate, Cause::Limited { paced: true }, tried(id), 0), Next::Keep);
    }
    gate.delivered("ci", false, 10);
    assert_eq!(gate.permit(10, 0), Permit::Wait(Some(5000)));
}

#[test]
fn ntfy_s_bucket_is_learnt_and_followed_until_it_must_be_full_again() {
    let mut gate = gate();
    fail(&mut gate, Cause::Limited { paced: true }, tried(1), 0);
    assert_eq!(gate.permit(5000, 0), Permit::Probe);
    gate.started(5000);
    gate.delivered("ci", true, 5200);
    assert_eq!(gate.permit(5200, 0), Permit::Wait(Some(10_200)));
    gate.started(10_200);
    assert_eq!(gate.permit(10_200, 1), Permit::Wait(None), "one at a time");
    gate.delivered("ci", false, 10_300);
    let full = 10_300 + 60 * 5000;
    assert_eq!(gate.permit(full, 0), Permit::Open);
    gate.started(full);
    gate.delivered("ci", false, full);
    gate.delivered("ci", false, full + 5000);
    assert_eq!(gate.permit(full + 5000, 5), Permit::Open, "forgotten");
}

#[test]
fn a_limit_that_lasts_is_asked_about_ever_more_rarely_and_a_pause_asked_for_is_granted() {
    let mut gate = gate();
    let mut waits = Vec::new();
    let mut now = 0;
    for n in 0..6 {
        fail(&mut gate, Cause::Limited { paced: true }, Tried { probe: n > 0, ..tried(1) }, now);
        let Permit::Wait(Some(until)) = gate.permit(now, 0) else { panic!("open") };
        waits.push((until - now) / 1000);
        now = until;
    }
    assert_eq!(waits, [5, 10, 20, 40, 60, 60]);
    let asked = Failure { after: Some(Duration::from_secs(70)), ..failure(Cause::Limited { paced: false }) };
    assert_eq!(gate.failed(&asked, probe(1), now, LUCKY).0, Next::Keep);
    assert_eq!(gate.permit(now, 0), Permit::Wait(Some(now + 70_000)));
}

#[test]
fn a_used_up_quota_waits_for_its_reset() {
    let mut gate = gate();
    let now = 20 * HOUR;
    assert_eq!(fail(&mut gate, Cause::Quota, tried(1), now), Next::Keep);
    assert_eq!(gate.permit(now, 0), Permit::Wait(Some(24 * HOUR + 5000)));
    assert_eq!(next_reset(20 * HOUR, 21 * 3600), 21 * HOUR);
    assert_eq!(next_reset(21 * HOUR, 21 * 3600), 45 * HOUR);
}

#[test]
fn a_server_that_refuses_is_asked_rarely_and_at_once_when_something_changed() {
    let mut gate = gate();
    assert_eq!(fail(&mut gate, Cause::Misconfigured { by_ntfy: true }, tried(1), 0), Next::Keep);
    assert_eq!(gate.permit(0, 0), Permit::Wait(Some(60_000)));
    assert_eq!(fail(&mut gate, Cause::Misconfigured { by_ntfy: true }, probe(1), 60_000), Next::Keep);
    assert_eq!(gate.permit(60_000, 0), Permit::Wait(Some(180_000)));
    gate.retarget(&Target::new("main", "http://other.example/"), 61_000);
    assert_eq!(gate.permit(61_000, 0), Permit::Probe);
}

#[test]
fn a_proxy_that_minds_one_message_does_not_hold_up_the_others_for_ever() {
    let mut gate = gate();
    let cause = Cause::Misconfigured { by_ntfy: false };
    assert_eq!(fail(&mut gate, cause, Tried { attempts: 3, ..tried(1) }, 0), Next::Keep);
    assert_eq!(fail(&mut gate, cause, Tried { attempts: 4, ..probe(1) }, 60_000), Next::At(188_000));
    assert_eq!(gate.permit(60_000, 0), Permit::Wait(Some(180_000)));
    assert_eq!(gate.delivered("ci", true, 180_000), NONE, "another leads, this one comes at its time");
}

#[test]
fn a_topic_that_is_refused_holds_up_no_other() {
    let mut gate = gate();
    assert_eq!(fail(&mut gate, Cause::TopicForbidden, tried(1), 0), Next::Hold(60_000));
    assert_eq!((gate.held_until("ci", 0), gate.held_until("other", 0)), (Some(60_000), None));
    assert_eq!((gate.permit(0, 0), gate.forbidden_topics()), (Permit::Open, vec!["ci".to_owned()]));
    assert_eq!(fail(&mut gate, Cause::TopicForbidden, tried(1), 60_000), Next::Hold(180_000));
    gate.lift(100_000);
    assert_eq!(gate.held_until("ci", 100_000), None);
    let minute = Cause::TopicLimited(Duration::from_secs(60));
    assert_eq!(fail(&mut gate, minute, tried(1), 0), Next::Hold(60_000));
    assert_eq!(gate.forbidden_topics(), [""; 0]);
    gate.delivered("ci", false, 60_000);
    assert_eq!(gate.held_until("ci", 0), None);
}

#[test]
fn what_is_wrong_with_the_message_leaves_the_server_open_and_even_opens_it() {
    let mut gate = gate();
    let cut = Cause::TooLarge(Part::Message);
    assert_eq!(fail(&mut gate, cut, tried(1), 0), Next::Cut(Part::Message));
    assert_eq!(fail(&mut gate, cut, Tried { rewritten: true, ..tried(1) }, 0), Next::Bury);
    assert_eq!(fail(&mut gate, Cause::Message, tried(1), 0), Next::Bury);
    fail(&mut gate, Cause::Unreachable, tried(2), 0);
    assert_eq!(fail(&mut gate, Cause::Message, probe(2), 1000), Next::Bury);
    assert_eq!(gate.permit(1000, 0), Permit::Open);
}

#[test]
fn a_pace_of_the_rules_holds_from_the_start() {
    let mut target = Target::new("main", "http://n.example/");
    let burst = std::num::NonZeroU32::new(2).unwrap();
    target.pace = Some(crate::rules::target::Pace { burst, per: Duration::from_secs(5) });
    let mut gate = gate();
    gate.retarget(&target, 0);
    gate.started(0);
    assert_eq!(gate.permit(0, 1), Permit::Open);
    gate.started(0);
    assert_eq!(gate.permit(0, 2), Permit::Wait(Some(5000)));
    gate.delivered("ci", false, 4000);
    assert_eq!(gate.permit(5000, 1), Permit::Open);
}
