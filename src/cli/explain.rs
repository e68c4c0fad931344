//! `hookbell explain`: what the rules make of one webhook, and why. Sends nothing.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Args;

use uuid::Uuid;

use super::{check, trace};
use crate::cases::{Case, Outcome as CaseOutcome, Runner, load};
use crate::outbox::{Browser, RecordedWebhook, unix_ms};
use crate::pipeline::{Reception, Trace, receive};
use crate::problem::suggestion;
use crate::rules::compile::compile_folder;
use crate::rules::external::ProcessEnvironment;
use crate::rules::request::Request;
use crate::rules::set::RuleSet;
use crate::rules::source::Source;

/// The largest body that is read, in bytes.
const LIMIT: usize = 64 * 1024 * 1024;

/// Flags of `explain`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  hookbell explain --source github -H 'X-GitHub-Event: push' push.json\n  hookbell explain --case 'a failed run is urgent'"
)]
pub(super) struct Arguments {
    /// The source, by name
    #[arg(long, value_name = "NAME", required_unless_present_any = ["path", "case", "id"])]
    source: Option<String>,
    /// The source, by the path a sender would use, with its query
    #[arg(long, value_name = "PATH", conflicts_with = "source")]
    path: Option<String>,
    /// The request of a test case, by its name or a part of it
    #[arg(long, value_name = "NAME", conflicts_with_all = ["source", "path", "headers", "headers_file", "body", "id"])]
    case: Option<String>,
    /// A recorded webhook, by the id that its sender was answered
    #[arg(long, value_name = "ID", conflicts_with_all = ["source", "path", "headers", "headers_file", "body"])]
    id: Option<Uuid>,
    /// The folder of the store, for --id
    #[arg(long, value_name = "DIR", env = "HOOKBELL_DATA", default_value = "data")]
    data: PathBuf,
    /// A header, as `Name: value`; may be given several times
    #[arg(short = 'H', long = "header", value_name = "HEADER")]
    headers: Vec<String>,
    /// A file of headers, one `Name: value` a line
    #[arg(long, value_name = "FILE")]
    headers_file: Option<PathBuf>,
    /// The method
    #[arg(long, value_name = "METHOD", default_value = "POST")]
    method: String,
    /// The folder of rules
    #[arg(long, value_name = "DIR", env = "HOOKBELL_RULES", default_value = "rules")]
    rules: PathBuf,
    /// The body: a file, or - for standard input
    #[arg(value_name = "BODY_FILE", required_unless_present_any = ["case", "id"])]
    body: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode> {
    if let Some(name) = &arguments.case {
        return explain_case(&arguments.rules, name);
    }
    let set = match compile_folder(&arguments.rules, &ProcessEnvironment) {
        Ok(set) => set,
        Err(problems) => {
            eprint!("{}", check::report(&problems));
            return Ok(ExitCode::FAILURE);
        }
    };
    let (source, request, raw) = match arguments.id {
        Some(id) => recorded(&set, &arguments.data, id)?,
        None => given(&set, arguments)?,
    };
    let mut story = Trace::default();
    let reception = Reception { limit: LIMIT, verify: false };
    let decision = receive(&set, source, request, &raw, reception, Some(&mut story))?;
    println!("source \"{}\" ({})", source.name, source.path);
    print!("{}", trace::render(&story, &decision));
    Ok(ExitCode::SUCCESS)
}

fn explain_case(rules: &Path, name: &str) -> Result<ExitCode> {
    let files = match load(rules) {
        Ok(files) => files,
        Err(problems) => {
            eprint!("{}", check::report(&problems));
            return Ok(ExitCode::FAILURE);
        }
    };
    let cases: Vec<&Case> = files.iter().flat_map(|file| &file.cases).collect();
    let whole = cases.iter().find(|case| case.name == name);
    let Some(case) = whole.or_else(|| cases.iter().find(|case| case.name.contains(name))) else {
        bail!("unknown case {name:?}; {}", suggestion(name, cases.iter().map(|case| case.name.as_str())));
    };
    let report = Runner::new(rules).run(case);
    println!("source \"{}\", case \"{}\" ({})", case.source, case.name, case.place);
    match (report.decision(), &report.outcome) {
        (_, CaseOutcome::Broken(reason)) => bail!("{reason}"),
        (Some(decision), _) => print!("{}", trace::render(&report.trace, decision)),
        (None, _) => println!("refused: {}", report.refusal().map(ToString::to_string).unwrap_or_default()),
    }
    Ok(ExitCode::SUCCESS)
}

type Subject<'a> = (&'a Source, Request, Vec<u8>);

fn given<'a>(set: &'a RuleSet, arguments: &Arguments) -> Result<Subject<'a>> {
    let (source, path) = find_source(set, arguments)?;
    let query =
        arguments.path.as_deref().and_then(|path| path.split_once('?')).map_or("", |(_, query)| query);
    let request = Request {
        method: arguments.method.to_ascii_uppercase(),
        query: Request::parse_query(query),
        path: Request::decode_path(path),
        body: serde_json::Value::Null,
        received_at: unix_ms(),
        headers: headers(arguments)?,
        ..Request::default()
    };
    let body = arguments.body.as_deref().unwrap_or(Path::new("-"));
    Ok((source, request, read_body(body)?))
}

/// A webhook as the store has it: without its secrets.
fn recorded<'a>(set: &'a RuleSet, data: &Path, id: Uuid) -> Result<Subject<'a>> {
    let found = Browser::open(data)?.webhook(id).map_err(anyhow::Error::msg)?;
    let Some(RecordedWebhook { record, .. }) = found else {
        bail!("no webhook with the id {id} is recorded in {:?}", data.display().to_string());
    };
    let request = Request {
        method: record.method,
        headers: record.headers,
        query: record.query,
        path: record.path,
        body: serde_json::Value::Null,
        received_at: record.received_at,
        ..Request::default()
    };
    Ok((source_named(set, &record.source)?, request, record.body.into()))
}

/// Also a source that is off: what it would do can be seen before it is on.
fn find_source<'a>(set: &'a RuleSet, arguments: &Arguments) -> Result<(&'a Source, Vec<(String, String)>)> {
    let Some(path) = &arguments.path else {
        return Ok((source_named(set, arguments.source.as_deref().unwrap_or_default())?, Vec::new()));
    };
    let path = path.split('?').next().unwrap_or_default();
    let Some(routed) = set.route(path) else {
        bail!("no source that is on has the path {path:?}; name one with --source instead");
    };
    Ok((routed.source, routed.path))
}

fn source_named<'a>(set: &'a RuleSet, name: &str) -> Result<&'a Source> {
    let all: Vec<&Source> = set.sources().iter().chain(set.off().iter().map(|off| &off.source)).collect();
    match all.iter().find(|source| source.name == name) {
        Some(source) => Ok(source),
        None => bail!(
            "unknown source {name:?}; {}",
            suggestion(name, all.iter().map(|source| source.name.as_str()))
        ),
    }
}

fn read_body(path: &Path) -> Result<Vec<u8>> {
    if path == Path::new("-") {
        let mut body = Vec::new();
        std::io::stdin().read_to_end(&mut body).context("cannot read the body from standard input")?;
        return Ok(body);
    }
    std::fs::read(path).with_context(|| format!("cannot read the body from {:?}", path.display().to_string()))
}

fn headers(arguments: &Arguments) -> Result<Vec<(String, String)>> {
    let file = match &arguments.headers_file {
        Some(path) => std::fs::read_to_string(path)
            .with_context(|| format!("cannot read headers from {:?}", path.display().to_string()))?,
        None => String::new(),
    };
    file.lines()
        .filter(|line| !line.trim().is_empty())
        .chain(arguments.headers.iter().map(String::as_str))
        .map(parse_header)
        .collect()
}

pub(super) fn parse_header(line: &str) -> Result<(String, String)> {
    match line.split_once(':') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_ascii_lowercase(), value.trim().to_owned()))
        }
        _ => bail!("invalid header {line:?}; write it like 'X-GitHub-Event: push'"),
    }
}
