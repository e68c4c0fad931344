//! What is amiss right now.

use std::collections::BTreeMap;
use std::path::Path;

use crate::delivery::{Board, Condition, Trouble, Why};
use crate::rules::live::Live;
use crate::words::counted;

/// A server that is down this long is worth a message, in milliseconds: a restart is not.
const DOWN: i64 = 5 * 60 * 1000;
/// Less free space than both of these is nearly full.
const FREE_BYTES: u64 = 1 << 30;
const FREE_SHARE: u64 = 10;

/// A kind of trouble, once for each thing it can befall.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sign {
    RulesStale,
    ServerClosed(String),
    TopicsRefused(String),
    StoreNearlyFull,
}

/// All present trouble, each with a message.
pub(super) type Signs = BTreeMap<Sign, String>;

pub(super) fn look(live: &Live, board: &Board, data: &Path, now: i64) -> Signs {
    let mut signs = Signs::new();
    if let Some(stale) = live.stale() {
        let mistakes = counted(stale.problems.len() as u64, "mistake");
        let first = stale.problems.first().map(|problem| {
            let place = problem.place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default();
            format!("{place}{}", problem.message)
        });
        let first = first.unwrap_or_default();
        signs.insert(
            Sign::RulesStale,
            format!("The rules on disk hold {mistakes}, older ones stay in force.\n{first}"),
        );
    }
    for (server, condition) in board.conditions() {
        signs.extend(of_server(&server, &condition, now));
    }
    signs.extend(nearly_full(data).map(|message| (Sign::StoreNearlyFull, message)));
    signs
}

fn of_server(server: &str, condition: &Condition, now: i64) -> Vec<(Sign, String)> {
    let mut signs = Vec::new();
    if let Some(message) = condition.trouble.as_ref().and_then(|trouble| in_words(server, trouble, now)) {
        signs.push((Sign::ServerClosed(server.to_owned()), message));
    }
    if !condition.refused_topics.is_empty() {
        let topics = condition.refused_topics.join(", ");
        let message = format!(
            "Server \"{server}\" does not let us publish to {topics}.\nTheir notifications wait: correct the token's permissions."
        );
        signs.push((Sign::TopicsRefused(server.to_owned()), message));
    }
    signs
}

fn in_words(server: &str, trouble: &Trouble, now: i64) -> Option<String> {
    let (what, remedy) = match trouble.why {
        Why::Refused => ("refuses us", "correct its url or credentials"),
        Why::Quota => ("has no messages left for today", "they go on when its quota starts anew"),
        Why::Down if now.saturating_sub(trouble.since) >= DOWN => ("is down", "they go on once it is back"),
        Why::Down | Why::Limited => return None,
    };
    Some(format!("Server \"{server}\" {what}: {}\nIts notifications wait: {remedy}.", trouble.reason))
}

/// A disk that cannot be asked is not called full.
fn nearly_full(data: &Path) -> Option<String> {
    let disk = rustix::fs::statvfs(data).ok()?;
    let (free, all) = (disk.f_bavail * disk.f_frsize, disk.f_blocks * disk.f_frsize);
    let nearly = free < FREE_BYTES && free < all / FREE_SHARE;
    nearly.then(|| {
        let free = bytesize::ByteSize(free);
        format!("Only {free} are free on the disk of the store.\nWithout space, webhooks are answered 503.")
    })
}
