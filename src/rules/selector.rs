//! JSONPath (RFC 9535), parsed once at load.

use jsonpath_rust::parser::errors::JsonPathError;
use jsonpath_rust::parser::model::{JpQuery, Segment, Selector as Select};
use jsonpath_rust::parser::parse_json_path;
use jsonpath_rust::query::js_path_process;
use pest::error::LineColLocation;
use serde_json::Value;

/// A compiled query. `$…` starts at the body, `@…` at the item of a `split`.
#[derive(Debug, Clone)]
pub struct Selector {
    text: String,
    root: Root,
    query: Query,
}

/// What a query starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Root {
    /// `$`: the whole body.
    Body,
    /// `@`: the item.
    Item,
}

#[derive(Debug, Clone)]
enum Query {
    /// Names and indexes only, which most queries are: a walk without an allocation.
    Walk(Vec<Step>),
    General(JpQuery),
}

#[derive(Debug, Clone)]
enum Step {
    Name(String),
    Index(usize),
}

/// A text that is no JSONPath.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid jsonpath {text:?}: {reason}")]
pub struct InvalidSelector {
    /// The text.
    pub text: String,
    /// What was wrong.
    pub reason: String,
    /// Where, in characters from 1 within the text.
    pub column: Option<usize>,
}

impl Selector {
    /// Parses `text`, which begins with `$` or `@`.
    pub fn parse(text: &str) -> Result<Self, InvalidSelector> {
        let root = if text.starts_with('@') { Root::Item } else { Root::Body };
        // The library knows only `$`; the item is then handed to it as the root.
        let absolute = match root {
            Root::Item => format!("${}", &text[1..]),
            Root::Body => text.to_owned(),
        };
        let query = parse_json_path(&absolute).map_err(|error| invalid(text, &error))?;
        Ok(Self { text: text.to_owned(), root, query: simplify(query) })
    }

    /// The query as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What it starts from.
    pub fn root(&self) -> Root {
        self.root
    }

    /// The names that lead to all it looks at, one inside the other.
    pub fn names(&self) -> Vec<&str> {
        match &self.query {
            Query::Walk(steps) => steps.iter().map_while(Step::name).collect(),
            // A filter that starts at the root again looks elsewhere too.
            Query::General(_) if self.text[1..].contains('$') => Vec::new(),
            Query::General(query) => query.segments.iter().map_while(name).collect(),
        }
    }

    /// The nodes it selects below `root`, in order. A function that does not fit, such as `match()` on a
    /// missing member, selects nothing.
    pub fn select<'v>(&self, root: &'v Value) -> Vec<&'v Value> {
        match &self.query {
            Query::Walk(steps) => walk(steps, root).into_iter().collect(),
            Query::General(query) => js_path_process(query, root)
                .map(|found| found.into_iter().map(|node| node.val).collect())
                .unwrap_or_default(),
        }
    }
}

impl Step {
    fn name(&self) -> Option<&str> {
        match self {
            Self::Name(name) => Some(name),
            Self::Index(_) => None,
        }
    }
}

fn name(segment: &Segment) -> Option<&str> {
    match segment {
        Segment::Selector(Select::Name(name)) => Some(unquote(name)),
        _ => None,
    }
}

fn walk<'v>(steps: &[Step], root: &'v Value) -> Option<&'v Value> {
    steps.iter().try_fold(root, |value, step| match step {
        Step::Name(name) => value.as_object()?.get(name),
        Step::Index(index) => value.as_array()?.get(*index),
    })
}

fn simplify(query: JpQuery) -> Query {
    let step = |segment: &Segment| match segment {
        Segment::Selector(Select::Name(_)) => name(segment).map(|name| Step::Name(name.to_owned())),
        Segment::Selector(Select::Index(index)) => usize::try_from(*index).ok().map(Step::Index),
        _ => None,
    };
    match query.segments.iter().map(step).collect() {
        Some(steps) => Query::Walk(steps),
        None => Query::General(query),
    }
}

/// The library keeps the quotes of `['a']` in some versions.
fn unquote(name: &str) -> &str {
    let inner = |quote: char| name.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    inner('\'').or_else(|| inner('"')).unwrap_or(name)
}

fn invalid(text: &str, error: &JsonPathError) -> InvalidSelector {
    let (reason, column) = match error {
        JsonPathError::PestError(error) => {
            let column = match error.line_col {
                LineColLocation::Pos((_, column)) | LineColLocation::Span((_, column), _) => column,
            };
            (format!("unexpected {}", unexpected(text, column)), Some(column))
        }
        other => (other.to_string(), None),
    };
    InvalidSelector { text: text.to_owned(), reason, column }
}

fn unexpected(text: &str, column: usize) -> String {
    match text.chars().nth(column - 1) {
        Some(c) => format!("{:?} at character {column}", c.to_string()),
        None => "end".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn select(query: &str, value: &Value) -> Vec<Value> {
        Selector::parse(query).expect("a query").select(value).into_iter().cloned().collect()
    }

    #[test]
    fn names_and_indexes_walk_and_the_rest_is_jsonpath() {
        let value = json!({"a": {"b-c": [1, {"d": 2}]}, "list": [{"s": "x", "n": 1}, {"s": "y", "n": 2}]});
        assert_eq!(select("$.a['b-c'][1].d", &value), [json!(2)]);
        assert_eq!(select("$.a[\"b-c\"][0]", &value), [json!(1)]);
        assert_eq!(select("$.list[?@.s=='y'].n", &value), [json!(2)]);
        assert_eq!(select("$.list[*].s", &value), [json!("x"), json!("y")]);
        assert_eq!(select("$.list[-1].n", &value), [json!(2)]);
        assert_eq!(select("$", &value), std::slice::from_ref(&value));
        assert_eq!(select("$.nope.deeper[3]", &value), Vec::<Value>::new());
        assert_eq!(select("@.list[0].n", &value), [json!(1)]);
    }

    #[test]
    fn the_names_before_anything_else_lead_to_all_it_looks_at() {
        let names = |query| Selector::parse(query).unwrap().names().join(" ");
        assert_eq!(names("$.a['b-c'].d"), "a b-c d");
        assert_eq!(names("$.a.b[0].c"), "a b");
        assert_eq!(names("$.a.list[?@.s=='y'].n"), "a list");
        assert_eq!(names("$.a..b"), "a");
        assert_eq!(names("$.a['b','c'].d"), "a");
        for everything in ["$", "$..a", "$.*", "$.a[?@.s==$.b]"] {
            assert_eq!(names(everything), "", "{everything}");
        }
    }

    #[test]
    fn a_function_on_a_missing_member_selects_nothing() {
        assert_eq!(select("$[?match(@.nope, 'x.*')]", &json!([{"a": "x1"}])), Vec::<Value>::new());
    }

    #[test]
    fn an_invalid_query_says_where() {
        let error = Selector::parse("$.a[").expect_err("not a query");
        assert_eq!(error.to_string(), "invalid jsonpath \"$.a[\": unexpected end");
        assert_eq!(error.column, Some(5));
    }
}
