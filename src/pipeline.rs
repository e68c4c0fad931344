//! From a webhook to a decision. Pure: the same rules and request always give the same decision, so
//! `explain`, tests and the running gateway cannot differ.

mod fallback;
mod receive;
mod render;
mod trace;
mod values;

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

pub use self::receive::{Reception, Refusal, check_head, receive};
pub use self::trace::{FieldNote, ItemTrace, RuleTrace, Trace};
use self::values::Scope;
use crate::auth::Verifier;
use crate::notification::Notification;
use crate::rules::request::Request;
use crate::rules::set::RuleSet;
use crate::rules::source::{Otherwise, Respond, Rule, Source, Then};
use crate::rules::template::Template;

/// What a webhook means.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Decision {
    /// What to send, in order.
    pub notifications: Vec<Planned>,
    /// The rules that matched, in order; a rule that matched several items stands once.
    pub matched: Vec<Arc<str>>,
    /// What repeats of the webhook share, where its source has `dedupe`; none when that renders to nothing.
    pub key: Option<String>,
    /// What the sender is answered, where the rules say that.
    pub response: Option<Response>,
}

/// An answer to a sender.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// 200 to 299 or 400 to 499.
    pub status: u16,
    /// A media type.
    pub content_type: String,
    /// The body.
    pub body: String,
}

/// A notification to send.
#[derive(Debug, Clone, PartialEq)]
pub struct Planned {
    /// The server's name.
    pub server: Arc<str>,
    /// The rule that made it, or `malformed` or `unmatched`.
    pub rule: Arc<str>,
    /// The notification.
    pub notification: Notification,
}

/// Runs a webhook through the rules of its source. `raw` is the body as it came, for fallbacks.
/// With a `trace`, every condition is evaluated and everything noticed is written down.
pub fn decide(
    rules: &RuleSet,
    source: &Source,
    request: Request,
    raw: &[u8],
    mut trace: Option<&mut Trace>,
) -> Decision {
    let items = source
        .split
        .as_ref()
        .map(|split| split.select(&request.body).into_iter().cloned().collect::<Vec<Value>>());
    let mut run = Run { rules, source, raw, decision: Decision::default() };
    let mut scope = Scope::new(source, request);
    run.decision.key = render::key(source, &scope, rules.engine());
    match items {
        None => run.try_rules(&mut scope, None, trace.as_deref_mut()),
        // A body without items is one that no rule matches.
        Some(items) if items.is_empty() => run.apply_unmatched(),
        Some(items) => {
            for (index, item) in items.into_iter().enumerate() {
                scope.set_item(item);
                run.try_rules(&mut scope, Some(index), trace.as_deref_mut());
            }
        }
    }
    if run.decision.response.is_none() {
        run.respond(source.respond.as_ref(), &scope);
    }
    run.decision
}

/// What a body that cannot be read becomes where the source wants a notification of it.
pub fn notify_malformed(source: &Source, raw: &[u8]) -> Decision {
    let notifications = fallback::raw_body(source, "malformed", raw).into_iter().collect();
    Decision { notifications, ..Decision::default() }
}

struct Run<'a> {
    rules: &'a RuleSet,
    source: &'a Source,
    raw: &'a [u8],
    decision: Decision,
}

impl Run<'_> {
    fn try_rules(&mut self, scope: &mut Scope, index: Option<usize>, trace: Option<&mut Trace>) {
        let mut item = ItemTrace { index, rules: Vec::new() };
        let mut matched = false;
        let rules = &self.source.rules;
        // A trace tells of every rule that was passed over, too.
        let tried: Vec<&Rule> =
            if trace.is_some() { rules.all().iter().collect() } else { rules.candidates(scope.facts()) };
        for rule in tried {
            let mut rule_trace = trace.is_some().then(|| RuleTrace::of(rule));
            let holds = holds(rule, scope, rule_trace.as_mut());
            if holds {
                matched = true;
                self.apply(rule, scope, rule_trace.as_mut());
            }
            item.rules.extend(rule_trace);
            if holds && !rule.go_on {
                break;
            }
        }
        if !matched {
            self.apply_unmatched();
        }
        if let Some(trace) = trace {
            trace.items.push(item);
        }
    }

    fn apply(&mut self, rule: &Rule, scope: &mut Scope, mut trace: Option<&mut RuleTrace>) {
        if !self.decision.matched.contains(&rule.name) {
            self.decision.matched.push(rule.name.clone());
        }
        let engine = self.rules.engine();
        let bound = scope.bind(rule, engine, trace.as_deref_mut());
        // The first rule that answers counts.
        if self.decision.response.is_none() {
            self.respond(rule.respond.as_ref(), scope);
        }
        let Then::Publish(publishes) = &rule.then else { return };
        for publish in publishes {
            let rendered = bound
                .clone()
                .and_then(|()| render::notification(publish, scope, engine, trace.as_deref_mut()));
            let planned = rendered.or_else(|failure| {
                if let Some(trace) = trace.as_deref_mut() {
                    trace.failures.push(failure.to_string());
                }
                fallback::rule_failed(self.source, rule, publish, &failure, self.raw).ok_or(failure)
            });
            self.decision.notifications.extend(planned.ok().map(|notification| Planned {
                server: publish.server.clone(),
                rule: rule.name.clone(),
                notification,
            }));
        }
    }

    /// An answer that cannot be rendered is the usual one instead.
    fn respond(&mut self, respond: Option<&Respond>, scope: &Scope) {
        let Some(respond) = respond else { return };
        let signature = match &self.source.verifier {
            Some(Verifier::Signature(signature)) => Some(signature),
            _ => None,
        };
        let engine = self.rules.engine();
        let render =
            |body: &Template| body.render_answer(engine, scope.values(), signature).map(Cow::into_owned);
        let body = respond.body.as_ref().map(render);
        match body.transpose() {
            Ok(body) => {
                self.decision.response = Some(Response {
                    status: respond.status,
                    content_type: respond.content_type.clone(),
                    body: body.unwrap_or_default(),
                });
            }
            Err(error) => tracing::warn!(source = self.source.name, %error, "the answer cannot be rendered"),
        }
    }

    fn apply_unmatched(&mut self) {
        if self.source.unmatched == Otherwise::Notify {
            self.decision.notifications.extend(fallback::raw_body(self.source, "unmatched", self.raw));
        }
    }
}

fn holds(rule: &Rule, scope: &Scope, trace: Option<&mut RuleTrace>) -> bool {
    let Some(when) = &rule.when else {
        if let Some(trace) = trace {
            trace.matched = true;
        }
        return true;
    };
    match trace {
        Some(trace) => {
            trace.matched = when.explain(scope.facts(), &mut trace.findings);
            trace.matched
        }
        None => when.holds(scope.facts()),
    }
}

#[cfg(test)]
mod tests;
