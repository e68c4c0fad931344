//! What no case has touched: rules, conditions, and paths in templates that led nowhere in every case.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::pipeline::{RuleTrace, Trace};
use crate::problem::nearest;
use crate::rules::source::{Binding, Source};
use crate::rules::template::Note;

/// Everything the cases have touched, by source and rule.
#[derive(Debug, Default)]
pub struct Coverage {
    /// By source and rule, in order of appearance.
    rules: Vec<RuleCoverage>,
    /// One body of each source, for suggestions.
    bodies: BTreeMap<String, Json>,
}

#[derive(Debug)]
struct RuleCoverage {
    source: String,
    rule: String,
    place: String,
    matched: bool,
    /// The templates of its `let`, by field: where a YAML alias repeats one, a path is covered in all rules by a case of any.
    shared: BTreeMap<String, String>,
    /// How often each condition held and failed, in order.
    conditions: Vec<(String, u32, u32)>,
    /// By field and path, how often something was there and how often nothing.
    paths: BTreeMap<(String, String), (u32, u32)>,
}

/// Something no case has touched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// Where the rule stands.
    pub place: String,
    /// What is untouched.
    pub text: String,
}

impl Coverage {
    /// Counts one run.
    pub(super) fn add(&mut self, source: &Source, trace: &Trace, raw: &[u8]) {
        self.expect(source);
        if let Ok(body) = serde_json::from_slice(raw) {
            merge(self.bodies.entry(source.name.clone()).or_insert(Json::Null), body);
        }
        for rule in trace.items.iter().flat_map(|item| &item.rules) {
            let known = self.rules.iter_mut().find(|r| r.source == source.name && r.rule == *rule.name);
            if let Some(known) = known {
                known.add(rule);
            }
        }
    }

    /// Makes every rule of a source known, so that untouched ones are.
    pub(super) fn expect(&mut self, source: &Source) {
        if self.rules.iter().any(|rule| rule.source == source.name) {
            return;
        }
        self.rules.extend(source.rules.all().iter().map(|rule| RuleCoverage {
            source: source.name.clone(),
            rule: rule.name.to_string(),
            place: rule.place.clone(),
            matched: false,
            shared: templates(&rule.bindings),
            conditions: Vec::new(),
            paths: BTreeMap::new(),
        }));
    }

    /// How many rules there are, and how many of them a case matched.
    pub fn rules(&self) -> (usize, usize) {
        (self.rules.len(), self.rules.iter().filter(|rule| rule.matched).count())
    }

    /// All gaps, in the order of the rules.
    pub fn gaps(&self) -> Vec<Gap> {
        let gaps =
            |rule: &RuleCoverage| rule.gaps(self.bodies.get(&rule.source), |key| self.elsewhere(rule, key));
        self.rules.iter().flat_map(gaps).collect()
    }

    /// Whether a rule with the very same template has found something at its path.
    fn elsewhere(&self, rule: &RuleCoverage, key: &(String, String)) -> bool {
        let Some(text) = rule.shared.get(&key.0) else { return false };
        let twins = self.rules.iter().filter(|other| other.source == rule.source);
        twins
            .filter(|other| other.shared.get(&key.0) == Some(text))
            .any(|other| other.paths.get(key).is_some_and(|(there, _)| *there > 0))
    }
}

fn templates(bindings: &[(String, Binding)]) -> BTreeMap<String, String> {
    let text = |(name, binding): &(String, Binding)| match binding {
        Binding::Render(template) => Some((format!("let.{name}"), template.text().to_owned())),
        Binding::Select(_) => None,
    };
    bindings.iter().filter_map(text).collect()
}

impl RuleCoverage {
    fn add(&mut self, trace: &RuleTrace) {
        self.matched |= trace.matched;
        for (index, finding) in trace.findings.iter().enumerate() {
            if self.conditions.len() <= index {
                self.conditions.push((finding.condition.clone(), 0, 0));
            }
            let (_, held, failed) = &mut self.conditions[index];
            *(if finding.held { held } else { failed }) += 1;
        }
        for note in &trace.notes {
            let (path, found) = match &note.note {
                Note::Found(path) => (path, true),
                Note::Missing(path) | Note::Absent(path) => (path, false),
                Note::PrintedAsJson(_) | Note::Joined(_) => continue,
            };
            let (there, nowhere) = self.paths.entry((note.field.clone(), path.clone())).or_default();
            *(if found { there } else { nowhere }) += 1;
        }
    }

    fn gaps(&self, body: Option<&Json>, elsewhere: impl Fn(&(String, String)) -> bool) -> Vec<Gap> {
        let gap = |text: String| Gap { place: self.place.clone(), text };
        if !self.matched {
            return vec![gap(format!(
                "rule {:?} of source {:?}: no case matches it",
                self.rule, self.source
            ))];
        }
        let conditions = self
            .conditions
            .iter()
            .filter(|(_, held, _)| *held == 0)
            .map(|(condition, ..)| gap(format!("rule {:?}: in no case holds: {condition}", self.rule)));
        let nowhere = self.paths.iter().filter(|(key, (there, _))| *there == 0 && !elsewhere(key));
        let paths = nowhere.map(|((field, path), _)| {
            let hint = body.and_then(|body| did_you_mean(path, body)).unwrap_or_default();
            gap(format!("rule {:?}, {field}: in no case is there anything at {path}{hint}", self.rule))
        });
        conditions.chain(paths).collect()
    }
}

/// All keys that the bodies have together, so that a suggestion is as good as the cases are many.
fn merge(into: &mut Json, from: Json) {
    match (into, from) {
        (Json::Object(into), Json::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key).or_insert(Json::Null), value);
            }
        }
        (into, from) if into.is_null() => *into = from,
        _ => {}
    }
}

/// The key that the first wrong segment of a `body.…` path most likely stands for.
fn did_you_mean(path: &str, body: &Json) -> Option<String> {
    let rest = path.strip_prefix("@root.").unwrap_or(path).strip_prefix("body.")?;
    let (mut at, mut walked) = (body, "body".to_owned());
    for segment in rest.split('.') {
        let next = at.get(segment).or_else(|| at.get(segment.parse::<usize>().ok()?));
        match next {
            Some(next) => at = next,
            None => {
                let keys = at.as_object()?.keys().map(String::as_str);
                return nearest(segment, keys).map(|key| format!("; did you mean {walked}.{key}?"));
            }
        }
        walked = format!("{walked}.{segment}");
    }
    None
}
