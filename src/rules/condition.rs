//! `when`: a tree of conditions about one webhook.

use serde_json::Value;

use super::matcher::Matcher;
use super::request::{Facts, values_of};
use super::selector::{Root, Selector};

/// A compiled condition.
#[derive(Debug, Clone)]
pub enum Condition {
    /// Every part holds. Also what a `when` mapping is.
    All(Vec<Condition>),
    /// At least one part holds.
    Any(Vec<Condition>),
    /// The part does not hold.
    Not(Box<Condition>),
    /// What is found at the subject satisfies the matcher.
    Test(Subject, Matcher),
}

/// What a condition looks at.
#[derive(Debug, Clone)]
pub enum Subject {
    /// `$…` or `@…`.
    Payload(Selector),
    /// `headers.NAME`, the name in lower case.
    Header(String),
    /// `query.NAME`.
    Query(String),
    /// `path.NAME`.
    Path(String),
    /// `method`.
    Method,
}

/// One line of a trace: a condition, what it found, whether it held.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The condition in words, such as `$.action equals "completed"`.
    pub condition: String,
    /// What was found; empty when nothing was. Combinators find nothing themselves.
    pub found: Vec<Value>,
    /// Whether it held.
    pub held: bool,
    /// How deep it stands below combinators.
    pub depth: usize,
}

impl Condition {
    /// Whether it holds. Stops at the first part that decides.
    pub fn holds(&self, facts: Facts<'_>) -> bool {
        match self {
            Self::All(parts) => parts.iter().all(|part| part.holds(facts)),
            Self::Any(parts) => parts.iter().any(|part| part.holds(facts)),
            Self::Not(part) => !part.holds(facts),
            Self::Test(subject, matcher) => subject.look(facts, |found| matcher.holds(found)),
        }
    }

    /// Whether it holds, with every part's finding in reading order.
    pub fn explain(&self, facts: Facts<'_>, findings: &mut Vec<Finding>) -> bool {
        self.explain_below(facts, findings, 0, true)
    }

    fn explain_below(&self, facts: Facts<'_>, out: &mut Vec<Finding>, depth: usize, top: bool) -> bool {
        let (name, parts) = match self {
            Self::Test(subject, matcher) => return explain_test(subject, matcher, facts, out, depth),
            // The outermost conjunction is the mapping itself and needs no line.
            Self::All(parts) if top => {
                // Each part is looked at, also after one that does not hold.
                let mut held = true;
                for part in parts {
                    held &= part.explain_below(facts, out, depth, false);
                }
                return held;
            }
            Self::All(parts) => ("all", parts.as_slice()),
            Self::Any(parts) => ("any", parts.as_slice()),
            Self::Not(part) => ("not", std::slice::from_ref(part.as_ref())),
        };
        let line = out.len();
        out.push(Finding { condition: name.to_owned(), found: Vec::new(), held: false, depth });
        let each: Vec<bool> = parts
            .iter()
            .map(|part| part.explain_below(facts, out, depth + 1, matches!(self, Self::Not(_))))
            .collect();
        out[line].held = match self {
            Self::Any(_) => each.contains(&true),
            Self::Not(_) => each == [false],
            _ => !each.contains(&false),
        };
        out[line].held
    }

    /// Every leaf below this condition.
    pub fn tests(&self) -> Vec<(&Subject, &Matcher)> {
        match self {
            Self::All(parts) | Self::Any(parts) => parts.iter().flat_map(Self::tests).collect(),
            Self::Not(part) => part.tests(),
            Self::Test(subject, matcher) => vec![(subject, matcher)],
        }
    }
}

fn explain_test(
    subject: &Subject,
    matcher: &Matcher,
    facts: Facts<'_>,
    out: &mut Vec<Finding>,
    depth: usize,
) -> bool {
    let (found, held) = subject
        .look(facts, |found| (found.iter().map(|value| (*value).clone()).collect(), matcher.holds(found)));
    out.push(Finding { condition: format!("{} {matcher}", subject.text()), found, held, depth });
    held
}

impl Subject {
    /// Hands the values found to `judge`. A closure, since texts become values only for its duration.
    pub(super) fn look<T>(&self, facts: Facts<'_>, judge: impl FnOnce(&[&Value]) -> T) -> T {
        let texts: Vec<Value> = match self {
            Self::Payload(selector) => {
                let root = match selector.root() {
                    Root::Body => Some(facts.body),
                    Root::Item => facts.item,
                };
                return judge(&root.map(|root| selector.select(root)).unwrap_or_default());
            }
            Self::Header(name) => owned(values_of(&facts.request.headers, name)),
            Self::Query(name) => owned(values_of(&facts.request.query, name)),
            Self::Path(name) => owned(values_of(&facts.request.path, name)),
            Self::Method => vec![Value::String(facts.request.method.clone())],
        };
        judge(&texts.iter().collect::<Vec<_>>())
    }

    /// The subject as it was written.
    pub fn text(&self) -> String {
        match self {
            Self::Payload(selector) => selector.text().to_owned(),
            Self::Header(name) => format!("headers.{name}"),
            Self::Query(name) => format!("query.{name}"),
            Self::Path(name) => format!("path.{name}"),
            Self::Method => "method".to_owned(),
        }
    }
}

fn owned<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<Value> {
    texts.map(|text| Value::String(text.to_owned())).collect()
}
