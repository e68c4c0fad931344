//! Finds the rules of a source that can match, without asking each: thousands cost what one costs.
//!
//! Rules are told apart by a text that one and the same place must equal, such as `headers.x-github-event: push`. The
//! place that most rules of a source ask about decides; a rule that does not ask about it is always tried.

use std::collections::HashMap;

use serde_json::Value;

use super::condition::{Condition, Subject};
use super::request::Facts;
use super::source::Rule;

/// The rules of one source, in order, and where to look for them.
#[derive(Debug, Default)]
pub struct Rules {
    list: Vec<Rule>,
    subject: Option<Subject>,
    /// The rules that want this text at the subject, by position.
    by_text: HashMap<String, Vec<usize>>,
    /// The positions of all others.
    rest: Vec<usize>,
}

impl Rules {
    /// Rules that are tried in this order.
    pub fn new(list: Vec<Rule>) -> Self {
        let subject = most_asked(&list);
        let (mut by_text, mut rest) = (HashMap::<String, Vec<usize>>::new(), Vec::new());
        for (position, rule) in list.iter().enumerate() {
            match subject.as_ref().and_then(|subject| wanted(rule, subject)) {
                Some(texts) => {
                    texts
                        .into_iter()
                        .for_each(|text| by_text.entry(text.to_owned()).or_default().push(position));
                }
                None => rest.push(position),
            }
        }
        Self { list, subject, by_text, rest }
    }

    /// All of them, in order.
    pub fn all(&self) -> &[Rule] {
        &self.list
    }

    /// Those that can match, in order: all that do, and more.
    pub fn candidates(&self, facts: Facts<'_>) -> Vec<&Rule> {
        let mut keyed = self.subject.as_ref().map(|subject| self.keyed(subject, facts)).unwrap_or_default();
        // Several values may be found, and each may be wanted by several.
        keyed.sort_unstable();
        keyed.dedup();
        merge(keyed, &self.rest).map(|position| &self.list[position]).collect()
    }

    fn keyed(&self, subject: &Subject, facts: Facts<'_>) -> Vec<usize> {
        let positions = |value: &&Value| self.by_text.get(value.as_str()?);
        subject.look(facts, |found| found.iter().filter_map(positions).flatten().copied().collect())
    }
}

/// Two ascending lists as one.
fn merge(first: Vec<usize>, second: &[usize]) -> impl Iterator<Item = usize> {
    let (mut first, mut second) = (first.into_iter().peekable(), second.iter().copied().peekable());
    std::iter::from_fn(move || match (first.peek(), second.peek()) {
        (Some(a), Some(b)) if a < b => first.next(),
        (Some(_), None) => first.next(),
        _ => second.next(),
    })
}

/// The place that most rules want a text of. One rule alone is not worth a look-up.
fn most_asked(rules: &[Rule]) -> Option<Subject> {
    let mut asked: HashMap<String, (usize, &Subject)> = HashMap::new();
    for (subject, _) in rules.iter().flat_map(texts_wanted) {
        asked.entry(subject.text()).or_insert((0, subject)).0 += 1;
    }
    let (count, subject) = asked.into_values().max_by_key(|(count, subject)| (*count, subject.text()))?;
    (count > 1).then(|| subject.clone())
}

/// What the rule wants at the subject, when it cannot match without.
fn wanted<'r>(rule: &'r Rule, subject: &Subject) -> Option<Vec<&'r str>> {
    let text = subject.text();
    texts_wanted(rule).into_iter().find(|(asked, _)| asked.text() == text).map(|(_, texts)| texts)
}

/// The places where a rule wants one of some texts, whatever else it wants.
fn texts_wanted(rule: &Rule) -> Vec<(&Subject, Vec<&str>)> {
    let parts = match &rule.when {
        None => return Vec::new(),
        Some(Condition::All(parts)) => parts.as_slice(),
        Some(part) => std::slice::from_ref(part),
    };
    parts.iter().filter_map(texts_of).collect()
}

fn texts_of(part: &Condition) -> Option<(&Subject, Vec<&str>)> {
    match part {
        Condition::Test(subject, matcher) => Some((subject, matcher.texts()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::compile::compile_text;
    use crate::rules::external::Environment;
    use crate::rules::request::Request;

    struct NoVariables;

    impl Environment for NoVariables {
        fn variable(&self, _: &str) -> Option<String> {
            None
        }
    }

    const RULES: &str = "
sources:
  a:
    path: /a
    rules:
      - { name: push, when: { headers.x-event: push, $.n: 1 }, drop: true }
      - { name: any, when: { $.n: 1 }, drop: true }
      - { name: two, when: { headers.x-event: { in: [push, tag] } }, drop: true }
      - { name: release, when: { headers.x-event: release }, drop: true }
      - { name: not tag, when: { headers.x-event: { not: tag } }, drop: true }
      - { name: all, drop: true }
";

    fn candidates(rules: &Rules, event: &[&str]) -> Vec<String> {
        let headers = event.iter().map(|value| ("x-event".to_owned(), (*value).to_owned())).collect();
        let request = Request { headers, ..Request::default() };
        let facts = Facts { request: &request, body: &json!({}), item: None };
        rules.candidates(facts).into_iter().map(|rule| rule.name.to_string()).collect()
    }

    #[test]
    fn rules_are_found_by_the_text_that_most_ask_for_and_the_others_stay_at_their_place() {
        let set = compile_text("t.yaml", RULES, &NoVariables).expect("rules");
        let rules = &set.sources()[0].rules;
        assert_eq!(candidates(rules, &["push"]), ["push", "any", "two", "not tag", "all"]);
        assert_eq!(candidates(rules, &["tag"]), ["any", "two", "not tag", "all"]);
        assert_eq!(candidates(rules, &["release", "tag"]), ["any", "two", "release", "not tag", "all"]);
        assert_eq!(candidates(rules, &[]), ["any", "not tag", "all"]);
    }
}
