//! Where a lane's notifications go.

use std::sync::Arc;

use super::{Shared, Targets};
use crate::ntfy::Answer;
use crate::outbox::Pending;
use crate::rules::target::Target;

/// Where a lane's notifications go. A lane without a route keeps them: the rules know other
/// servers, but not its own.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Route {
    Ntfy(Arc<Target>),
    /// There is no server at all: print them, one after the other.
    Terminal,
}

impl Route {
    pub(super) fn of(server: &str, targets: &Targets) -> Option<Self> {
        match targets.get(server) {
            Some(target) => Some(Self::Ntfy(Arc::clone(target))),
            None => targets.is_empty().then_some(Self::Terminal),
        }
    }

    pub(super) fn connections(&self) -> usize {
        match self {
            Self::Ntfy(target) => target.connections.get(),
            Self::Terminal => 1,
        }
    }

    pub(super) fn ordered(&self) -> bool {
        match self {
            Self::Ntfy(target) => target.ordered,
            Self::Terminal => true,
        }
    }

    /// Makes one attempt.
    pub(super) async fn send(&self, shared: &Shared, pending: &Pending, probe: bool) -> Answer {
        match self {
            Self::Ntfy(target) => shared.publisher.publish(target, &pending.payload, probe).await,
            Self::Terminal => {
                (shared.options.terminal)(&pending.payload);
                Answer::Delivered { receipt: None }
            }
        }
    }
}
