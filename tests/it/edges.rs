//! The edge: senders that are slow, many, broken or hostile.

mod heads;
mod many;

use crate::support::Gateway;
use crate::support::gateway::Plan;

/// A gateway that takes anything and keeps nothing.
fn quiet() -> Plan {
    Gateway::with_rules("sources: { quiet: { path: /hooks/load, rules: [{ name: quiet, drop: true }] } }\n")
}
