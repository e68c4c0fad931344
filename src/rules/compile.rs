//! From a folder of YAML files to a [`RuleSet`]: everything checked, every mistake collected.

mod condition;
mod folder;
mod lint;
mod publish;
mod respond;
mod selector;
mod server;
mod source;
mod template;
mod verify;

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

pub(crate) use self::condition::compile_matcher_of_value as compile_matcher;
use self::source::{Compiled, Surroundings, compile_source};
use super::decode::{At, Decode, Entries};
use super::external::{Environment, resolve};
use super::node::{Key, Node};
use super::raw::Document;
use super::set::{Off, RuleSet};
use super::table::{Table, Tables};
use super::target::{Operator, Targets};
use super::template::Engine;
use crate::problem::{Hidden, Problem, Problems, SourceFile};

/// Compiles every rules file below `folder`. On failure, all mistakes of all files in reading order.
pub fn compile_folder(folder: &Path, environment: &dyn Environment) -> Result<RuleSet, Vec<Problem>> {
    let mut problems = Problems::default();
    let files = folder::read(folder, &mut problems);
    let set = compile_files(&files, environment, &mut problems);
    match set {
        Some(set) if problems.is_empty() => Ok(set),
        _ => Err(problems.into_sorted()),
    }
}

/// Compiles one text as if it were a rules folder of its own, called `path` in messages.
pub fn compile_text(path: &str, text: &str, environment: &dyn Environment) -> Result<RuleSet, Vec<Problem>> {
    let mut problems = Problems::default();
    let file = Arc::new(SourceFile::new(path, text));
    let set = compile_files(&[file], environment, &mut problems);
    match set {
        Some(set) if problems.is_empty() => Ok(set),
        _ => Err(problems.into_sorted()),
    }
}

fn compile_files(
    files: &[Arc<SourceFile>],
    environment: &dyn Environment,
    problems: &mut Problems,
) -> Option<RuleSet> {
    let mut warnings = Vec::new();
    let documents: Vec<Document> =
        files.iter().filter_map(|file| read_document(file, environment, &mut warnings, problems)).collect();
    let tables = compile_tables(&documents, problems);
    let targets = compile_targets(&documents, environment, problems);
    let servers: Vec<&str> = documents
        .iter()
        .flat_map(|document| document.servers.0.iter().map(|(key, _)| key.name.as_str()))
        .chain(targets.keys().map(String::as_str))
        .collect();
    let operator = compile_operator(&documents, &servers, problems);
    let mut around = Surroundings {
        tables: &tables,
        servers: &servers,
        queries: Vec::new(),
        used_tables: BTreeSet::new(),
    };
    let sources = entries(&documents, |document| &document.sources, "source", problems);
    let compiled: Vec<(&Key, Compiled)> = sources
        .into_iter()
        .filter_map(|(key, raw)| Some((key, compile_source(key, raw, &mut around, problems)?)))
        .collect();
    let Surroundings { queries, used_tables, .. } = around;
    warnings.extend(lint::lint(&documents, &compiled, &used_tables, &targets));
    let router = route(&documents, &compiled, problems);
    let (on, off): (Vec<_>, Vec<_>) =
        compiled.into_iter().map(|(_, c)| c).partition(|c| c.waits_for.is_empty());
    let off = off.into_iter().map(|c| Off { waits_for: c.waits_for, source: c.source }).collect();
    let sources = on.into_iter().map(|c| c.source).collect();
    let targets = Arc::new(targets);
    let engine = Engine::new(tables, queries);
    Some(RuleSet { sources, off, router, targets, operator, engine, warnings })
}

fn read_document(
    file: &Arc<SourceFile>,
    environment: &dyn Environment,
    warnings: &mut Vec<Problem>,
    problems: &mut Problems,
) -> Option<Document> {
    let mut node = Node::parse(file).map_err(|problem| problems.push(problem)).ok()?;
    let mut hidden = Hidden { written: lint::plain_secrets(&node, warnings), external: Vec::new() };
    resolve(&mut node, environment, problems, &mut hidden.external);
    file.hide(hidden);
    Document::decode(&node, problems)
}

/// The entries of all files, each name once.
fn entries<'d, T>(
    documents: &'d [Document],
    section: impl Fn(&'d Document) -> &'d Entries<T>,
    what: &str,
    problems: &mut Problems,
) -> Vec<(&'d Key, &'d T)> {
    let mut seen: HashMap<&str, &Key> = HashMap::new();
    let mut all = Vec::new();
    for (key, value) in documents.iter().flat_map(|document| section(document).0.iter()) {
        if let Some(first) = seen.insert(&key.name, key) {
            let message = format!("{what} {:?} is defined twice", key.name);
            problems.push(Problem::at(&key.place, message).help(format!("the first is at {}", first.place)));
        } else {
            all.push((key, value));
        }
    }
    all
}

fn compile_tables(documents: &[Document], problems: &mut Problems) -> Tables {
    entries(documents, |document| &document.tables, "table", problems)
        .into_iter()
        .map(|(key, rows)| (key.name.clone(), compile_table(rows, problems)))
        .collect()
}

fn compile_table(rows: &Entries<At<String>>, problems: &mut Problems) -> Table {
    let mut table = Table::default();
    for (key, value) in &rows.0 {
        if !key.name.contains(['*', '?', '[', '{']) {
            table.exact.insert(key.name.clone(), value.value.clone());
            continue;
        }
        match condition::parse_glob(&key.name) {
            Ok(glob) => table.globs.push((glob, value.value.clone())),
            Err(error) => problems.push(condition::invalid_glob(&key.name, &error, &key.place)),
        }
    }
    table
}

fn compile_targets(
    documents: &[Document],
    environment: &dyn Environment,
    problems: &mut Problems,
) -> Targets {
    let servers = entries(documents, |document| &document.servers, "server", problems);
    let defined = servers.iter().any(|(key, _)| key.name == server::DEFAULT);
    let mut targets: Targets = servers
        .iter()
        .filter_map(|(key, raw)| server::compile_server(&key.name, raw, problems))
        .map(|target| (target.name.clone(), Arc::new(target)))
        .collect();
    if !defined && let Some(target) = server::server_of(environment, problems) {
        targets.insert(target.name.clone(), Arc::new(target));
    }
    server::check_fallbacks(&servers, &targets, problems);
    targets
}

/// The one operator of all files.
fn compile_operator(
    documents: &[Document],
    servers: &[&str],
    problems: &mut Problems,
) -> Option<Arc<Operator>> {
    let mut all = documents.iter().filter_map(|document| document.operator.as_ref());
    let first = all.next()?;
    for second in all {
        problems.push(
            Problem::at(&second.place, "operator is defined twice")
                .help(format!("the first is at {}", first.place)),
        );
    }
    server::compile_operator(first, servers, problems).map(Arc::new)
}

/// Finds sources by path. Also sources that are off take part, so that turning one on is no surprise.
fn route(
    documents: &[Document],
    compiled: &[(&Key, Compiled)],
    problems: &mut Problems,
) -> matchit::Router<usize> {
    let mut router = matchit::Router::new();
    let mut everything = matchit::Router::new();
    let mut index = 0;
    for (key, entry) in compiled {
        let source = &entry.source;
        if let Err(error) = everything.insert(source.path.clone(), key.name.clone()) {
            problems.push(path_conflict(documents, key, source, &error, &everything));
        }
        if entry.waits_for.is_empty() {
            // A conflict is reported above.
            let _ = router.insert(source.path.clone(), index);
            index += 1;
        }
    }
    router
}

fn path_conflict(
    documents: &[Document],
    key: &Key,
    source: &super::source::Source,
    error: &matchit::InsertError,
    everything: &matchit::Router<String>,
) -> Problem {
    let place = documents
        .iter()
        .flat_map(|document| &document.sources.0)
        .find(|(other, _)| other == key)
        .map_or(&key.place, |(_, raw)| &raw.value.path.place);
    let message = match error {
        matchit::InsertError::Conflict { .. } => {
            let sample = source.path.replace(['{', '}'], "");
            match everything.at(&sample) {
                Ok(other) => format!("source {:?} already has the path {:?}", other.value, source.path),
                Err(_) => format!("another source already has the path {:?}", source.path),
            }
        }
        other => format!("invalid path {:?}: {other}", source.path),
    };
    Problem::at(place, message).help("give each source a path of its own")
}
