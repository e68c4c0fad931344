//! From `when:` to a [`Condition`].

use globset::GlobBuilder;
use regex::Regex;
use serde_json::Value as Json;

use super::selector::parse_selector;
use crate::problem::{Problem, Problems};
use crate::rules::condition::{Condition, Subject};
use crate::rules::decode::{Decode, mismatch, unknown_key};
use crate::rules::matcher::{Comparison, Matcher, Test, number};
use crate::rules::node::{Key, Node, Value};

const MATCHERS: &[&str] = &[
    "equals",
    "in",
    "not",
    "matches",
    "glob",
    "contains",
    "starts_with",
    "ends_with",
    "exists",
    "gt",
    "gte",
    "lt",
    "lte",
];
const SUBJECTS: &[&str] = &["headers", "query", "path", "method", "any", "all", "not"];

/// What a condition may refer to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scope<'a> {
    /// The source's path parameters.
    pub(super) path_names: &'a [String],
    /// Whether the source has a `split`, so that `@` means something.
    pub(super) split: bool,
    /// Whether the source has a signature, so that answers may `sign`.
    pub(super) signs: bool,
}

/// Compiles a mapping of conditions, all of which must hold.
pub(super) fn compile_when(node: &Node, scope: Scope<'_>, problems: &mut Problems) -> Option<Condition> {
    let Value::Map(entries) = &node.value else {
        return mismatch(node, "a mapping of conditions such as { $.a: 1 }", problems);
    };
    if entries.is_empty() {
        problems.push(
            Problem::at(&node.place, "there is no condition in this mapping")
                .help("add one, or leave `when:` out to match always"),
        );
        return None;
    }
    let mut parts: Vec<Condition> =
        entries.iter().filter_map(|(key, value)| compile_entry(key, value, scope, problems)).collect();
    match parts.len() {
        1 => parts.pop(),
        _ => Some(Condition::All(parts)),
    }
}

fn compile_entry(key: &Key, value: &Node, scope: Scope<'_>, problems: &mut Problems) -> Option<Condition> {
    match key.name.as_str() {
        "any" => Some(Condition::Any(compile_parts(value, scope, problems)?)),
        "all" => Some(Condition::All(compile_parts(value, scope, problems)?)),
        "not" => Some(Condition::Not(Box::new(compile_when(value, scope, problems)?))),
        _ => {
            let subject = compile_subject(key, scope, problems);
            let textual = !matches!(subject, Some(Subject::Payload(_)));
            let matcher = compile_matcher(value, textual, problems);
            Some(Condition::Test(subject?, matcher?))
        }
    }
}

fn compile_parts(node: &Node, scope: Scope<'_>, problems: &mut Problems) -> Option<Vec<Condition>> {
    match &node.value {
        Value::List(items) if !items.is_empty() => {
            Some(items.iter().filter_map(|item| compile_when(item, scope, problems)).collect())
        }
        _ => mismatch(node, "a list of conditions such as [{ $.a: 1 }, { $.b: 2 }]", problems),
    }
}

fn compile_subject(key: &Key, scope: Scope<'_>, problems: &mut Problems) -> Option<Subject> {
    let name = key.name.as_str();
    if name.starts_with('@') && !scope.split {
        problems.push(
            Problem::at(&key.place, format!("{name:?} asks about an item, but the source has no split"))
                .help("begin with `$` to ask about the body, or add `split:` to the source"),
        );
        return None;
    }
    if name.starts_with(['$', '@']) {
        return parse_selector(name, &key.place, problems).map(Subject::Payload);
    }
    match name.split_once('.') {
        Some(("headers", header)) if !header.is_empty() => Some(Subject::Header(header.to_ascii_lowercase())),
        Some(("query", parameter)) if !parameter.is_empty() => Some(Subject::Query(parameter.to_owned())),
        Some(("path", segment)) if scope.path_names.iter().any(|known| known == segment) => {
            Some(Subject::Path(segment.to_owned()))
        }
        Some(("path", segment)) => {
            let known = scope.path_names.iter().map(String::as_str);
            let help = match known.clone().next() {
                Some(_) => crate::problem::suggestion(segment, known),
                None => format!("write the path like /hooks/{{{segment}}}/…"),
            };
            let message = format!("the source's path has no segment {segment:?}");
            problems.push(Problem::at(&key.place, message).help(help));
            None
        }
        None if name == "method" => Some(Subject::Method),
        _ => {
            problems.push(unknown_subject(key));
            None
        }
    }
}

fn unknown_subject(key: &Key) -> Problem {
    if key.name.starts_with("body") {
        let path = key.name.replacen("body", "$", 1);
        return Problem::at(&key.place, format!("unknown condition {:?}", key.name))
            .help(format!("the body is asked by jsonpath: {path:?}"));
    }
    let first = key.name.split('.').next().unwrap_or_default();
    let help = match crate::problem::nearest(first, SUBJECTS.iter().copied()) {
        Some(name) => format!("did you mean {:?}?", key.name.replacen(first, name, 1)),
        None => "use $.path, @.path, headers.NAME, query.NAME, path.NAME, method, any, all or not".to_owned(),
    };
    Problem::at(&key.place, format!("unknown condition {:?}", key.name)).help(help)
}

/// Compiles the matcher of a JSON value, as test cases use it.
pub(crate) fn compile_matcher_of_value(node: &Node, problems: &mut Problems) -> Option<Matcher> {
    compile_matcher(node, false, problems)
}

fn compile_matcher(node: &Node, textual: bool, problems: &mut Problems) -> Option<Matcher> {
    match &node.value {
        Value::Map(entries) if entries.is_empty() => {
            mismatch(node, "at least one matcher such as equals", problems)
        }
        Value::Map(entries) => {
            let mut matcher = Matcher::default();
            let mut complete = true;
            for (key, value) in entries {
                complete &= add_part(&mut matcher, key, value, textual, problems).is_some();
            }
            complete.then_some(matcher)
        }
        Value::List(_) => Some(single(Test::In(json_list(node, textual, problems)?))),
        _ => Some(single(Test::Equals(json(node, textual, problems)?))),
    }
}

fn single(test: Test) -> Matcher {
    Matcher { tests: vec![test], ..Matcher::default() }
}

fn add_part(
    matcher: &mut Matcher,
    key: &Key,
    value: &Node,
    textual: bool,
    problems: &mut Problems,
) -> Option<()> {
    match key.name.as_str() {
        "not" => matcher.not = Some(Box::new(compile_matcher(value, textual, problems)?)),
        "exists" => matcher.exists = Some(bool::decode(value, problems)?),
        _ => matcher.tests.push(compile_test(key, value, textual, problems)?),
    }
    Some(())
}

fn compile_test(key: &Key, value: &Node, textual: bool, problems: &mut Problems) -> Option<Test> {
    match key.name.as_str() {
        "equals" => Some(Test::Equals(json(value, textual, problems)?)),
        "in" => Some(Test::In(json_list(value, textual, problems)?)),
        "contains" => Some(Test::Contains(json(value, textual, problems)?)),
        "starts_with" => Some(Test::StartsWith(String::decode(value, problems)?)),
        "ends_with" => Some(Test::EndsWith(String::decode(value, problems)?)),
        "matches" => compile_regex(value, problems).map(Test::Matches),
        "glob" => compile_glob(value, problems).map(Test::Glob),
        "gt" => Some(Test::Compare(Comparison::Gt, limit(value, problems)?)),
        "gte" => Some(Test::Compare(Comparison::Gte, limit(value, problems)?)),
        "lt" => Some(Test::Compare(Comparison::Lt, limit(value, problems)?)),
        "lte" => Some(Test::Compare(Comparison::Lte, limit(value, problems)?)),
        _ => {
            let mut problem = unknown_key(key, MATCHERS);
            problem.message = format!("unknown matcher {:?}", key.name);
            problems.push(problem);
            None
        }
    }
}

fn limit(node: &Node, problems: &mut Problems) -> Option<f64> {
    match json(node, false, problems).as_ref().and_then(number) {
        Some(limit) => Some(limit),
        None => mismatch(node, "a number", problems),
    }
}

/// An unanchored regular expression, as everywhere.
fn compile_regex(node: &Node, problems: &mut Problems) -> Option<Regex> {
    let text = String::decode(node, problems)?;
    match Regex::new(&text) {
        Ok(regex) => Some(regex),
        Err(error) => {
            // The library draws several lines; its last one says what is wrong.
            let drawn = error.to_string();
            let reason = drawn.lines().last().unwrap_or_default().trim_start_matches("error: ");
            problems.push(
                Problem::at(&node.place, format!("invalid regular expression {text:?}: {reason}")).help(
                    "see https://docs.rs/regex for the syntax; in yaml, single quotes keep backslashes",
                ),
            );
            None
        }
    }
}

/// A glob over the whole text, in which `*` also crosses `/`.
pub(super) fn parse_glob(text: &str) -> Result<globset::GlobMatcher, globset::Error> {
    GlobBuilder::new(text).literal_separator(false).build().map(|glob| glob.compile_matcher())
}

fn compile_glob(node: &Node, problems: &mut Problems) -> Option<globset::GlobMatcher> {
    let text = String::decode(node, problems)?;
    match parse_glob(&text) {
        Ok(glob) => Some(glob),
        Err(error) => {
            problems.push(invalid_glob(&text, &error, &node.place));
            None
        }
    }
}

pub(super) fn invalid_glob(text: &str, error: &globset::Error, place: &crate::problem::Place) -> Problem {
    Problem::at(place, format!("invalid glob {text:?}: {}", error.kind()))
        .help("use * for any text, ? for one character, [ab] and {a,b} for alternatives")
}

/// The value as JSON. Headers, query and path are always text, so a number to compare with becomes text too.
fn json(node: &Node, textual: bool, problems: &mut Problems) -> Option<Json> {
    if textual && let Some(text) = node.scalar_text() {
        return Some(Json::String(text));
    }
    node.to_json(problems)
}

fn json_list(node: &Node, textual: bool, problems: &mut Problems) -> Option<Vec<Json>> {
    match &node.value {
        Value::List(items) => items.iter().map(|item| json(item, textual, problems)).collect(),
        _ => mismatch(node, "a list", problems),
    }
}
