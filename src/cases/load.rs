//! From `tests/*.yaml` to [`Case`]s, with every mistake collected.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value as Json;

use super::environment::CaseEnvironment;
use super::expectation::{Expectation, compile_expectation};
use super::raw;
use crate::problem::{Place, Problem, Problems, SourceFile};
use crate::rules::decode::{At, Decode, Entries};
use crate::rules::node::{Node, Value};
use crate::rules::request::Request;

/// When webhooks come unless a case says otherwise: 2026-01-01T00:00:00Z, in Unix milliseconds.
const CLOCK: i64 = 1_767_225_600_000;

/// The cases of one file.
#[derive(Debug)]
pub struct CaseFile {
    /// Its path.
    pub path: String,
    /// Its cases.
    pub cases: Vec<Case>,
}

/// One request, and what must come of it.
#[derive(Debug)]
pub struct Case {
    /// Its sentence.
    pub name: String,
    /// The source's name.
    pub source: String,
    /// Where it stands.
    pub place: Place,
    pub(super) environment: CaseEnvironment,
    /// Complete but for its body.
    pub(super) request: Request,
    pub(super) raw: Vec<u8>,
    pub(super) sign: bool,
    pub(super) verify: bool,
    pub(super) expect: Expectation,
}

/// Reads the cases of every `*.yaml` in `rules`/tests. None at all is no mistake.
pub fn load(rules: &Path) -> Result<Vec<CaseFile>, Vec<Problem>> {
    let mut problems = Problems::default();
    let mut paths: Vec<PathBuf> = fs::read_dir(rules.join("tests"))
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| matches!(path.extension().and_then(|e| e.to_str()), Some("yaml" | "yml")))
        .collect();
    paths.sort();
    let files = paths.iter().filter_map(|path| load_file(path, &mut problems)).collect();
    if problems.is_empty() { Ok(files) } else { Err(problems.into_sorted()) }
}

fn load_file(path: &Path, problems: &mut Problems) -> Option<CaseFile> {
    let name = path.display().to_string();
    let text = fs::read_to_string(path)
        .map_err(|error| problems.push(Problem::anywhere(format!("cannot read {name:?}: {}", error.kind()))))
        .ok()?;
    let file = Arc::new(SourceFile::new(name.clone(), text));
    let node = Node::parse(&file).map_err(|problem| problems.push(problem)).ok()?;
    let raw = raw::File::decode(&node, problems)?;
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let source = raw.source.as_ref().map_or(stem, |source| source.value.clone());
    check_names(&raw.cases, problems);
    let cases =
        raw.cases.iter().filter_map(|case| compile_case(case, &source, &raw.env, path, problems)).collect();
    Some(CaseFile { path: name, cases })
}

fn check_names(cases: &[At<raw::Case>], problems: &mut Problems) {
    for (index, case) in cases.iter().enumerate() {
        let name = &case.value.name;
        if cases[..index].iter().any(|earlier| earlier.value.name.value == name.value) {
            problems.push(
                Problem::at(&name.place, format!("case name {:?} is used twice", name.value))
                    .help("give each case a sentence of its own"),
            );
        }
    }
}

fn compile_case(
    raw: &At<raw::Case>,
    source: &str,
    shared: &Entries<At<String>>,
    file: &Path,
    problems: &mut Problems,
) -> Option<Case> {
    let case = &raw.value;
    let request = &case.request.value;
    let variables = shared.0.iter().chain(&case.env.0);
    let environment: BTreeMap<String, String> =
        variables.map(|(key, value)| (key.name.clone(), value.value.clone())).collect();
    let headers = headers_of(request, file, problems);
    let body = body_of(request, file, problems);
    let received_at = clock_of(case.clock.as_ref(), problems);
    let expect = compile_expectation(&case.expect, problems);
    Some(Case {
        name: case.name.value.clone(),
        source: source.to_owned(),
        place: case.name.place.clone(),
        environment: CaseEnvironment(environment),
        request: Request {
            method: request.method.as_ref().map_or("POST", |method| &method.value).to_ascii_uppercase(),
            headers: headers?,
            query: pairs(&request.query),
            path: pairs(&request.path),
            body: Json::Null,
            received_at: received_at?,
            ..Request::default()
        },
        raw: body?,
        sign: request.sign.as_ref().is_some_and(|flag| flag.value),
        verify: request.verify.as_ref().is_some_and(|flag| flag.value),
        expect: expect?,
    })
}

fn pairs(entries: &Entries<At<String>>) -> Vec<(String, String)> {
    entries.0.iter().map(|(key, value)| (key.name.clone(), value.value.clone())).collect()
}

fn headers_of(request: &raw::Request, file: &Path, problems: &mut Problems) -> Option<Vec<(String, String)>> {
    let mut headers: Vec<(String, String)> = Vec::new();
    if let Some(name) = &request.headers_file {
        let text = String::from_utf8_lossy(&read_beside(name, file, problems)?).into_owned();
        let lines = text.lines().filter_map(|line| line.split_once(':'));
        // A record omits its signature; without it the case would look like a wrong one.
        let lines = lines.filter(|(_, value)| !value.contains("<omitted>"));
        headers
            .extend(lines.map(|(name, value)| (name.trim().to_ascii_lowercase(), value.trim().to_owned())));
    }
    for (key, value) in &request.headers.0 {
        let name = key.name.to_ascii_lowercase();
        headers.retain(|(known, _)| *known != name);
        headers.push((name, value.value.clone()));
    }
    Some(headers)
}

fn body_of(request: &raw::Request, file: &Path, problems: &mut Problems) -> Option<Vec<u8>> {
    match (&request.body, &request.body_file) {
        (Some(_), Some(second)) => {
            problems
                .push(Problem::at(&second.place, "a request has one body").help("remove body or body_file"));
            None
        }
        (None, Some(name)) => read_beside(name, file, problems),
        (Some(node), None) => match &node.value {
            Value::Text(text) => Some(text.clone().into_bytes()),
            _ => Some(node.to_json(problems)?.to_string().into_bytes()),
        },
        (None, None) => Some(Vec::new()),
    }
}

fn read_beside(name: &At<String>, file: &Path, problems: &mut Problems) -> Option<Vec<u8>> {
    let path = file.parent().unwrap_or(Path::new("")).join(&name.value);
    fs::read(&path)
        .map_err(|error| {
            let message = format!("cannot read {:?}: {}", name.value, error.kind());
            problems.push(Problem::at(&name.place, message).help("the path counts from this file"));
        })
        .ok()
}

fn clock_of(clock: Option<&At<String>>, problems: &mut Problems) -> Option<i64> {
    let Some(clock) = clock else { return Some(CLOCK) };
    match clock.value.parse::<jiff::Timestamp>() {
        Ok(at) => Some(at.as_millisecond()),
        Err(_) => {
            problems.push(
                Problem::at(&clock.place, format!("expected a time, found {:?}", clock.value))
                    .help("write it like 2026-12-01T09:30:00Z"),
            );
            None
        }
    }
}
