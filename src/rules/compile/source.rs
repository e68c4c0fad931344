//! From an entry of `sources:` to a [`Source`].

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use ipnet::IpNet;

use super::condition::{Scope, compile_when};
use super::publish::{Defaults, check_literals, compile_defaults, compile_publish, fallback_of};
use super::respond::compile_respond;
use super::selector::parse_selector;
use super::template::compile_template;
use super::verify::{Verification, compile_verify};
use crate::payload::{CLOUDEVENT_MEMBERS, Part};
use crate::problem::{Place, Problem, Problems, suggestion};
use crate::rules::condition::Subject;
use crate::rules::decode::{At, Entries};
use crate::rules::index::Rules;
use crate::rules::node::Key;
use crate::rules::raw;
use crate::rules::selector::{Root, Selector};
use crate::rules::source::{Binding, Dedupe, Otherwise, Rule, Source, Then};
use crate::rules::table::Tables;
use crate::rules::template::Vocabulary;

const METHODS: [&str; 6] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"];
const DEDUPE_WINDOW: Duration = Duration::from_secs(24 * 60 * 60);

/// What sources refer to beyond themselves.
pub(super) struct Surroundings<'a> {
    pub(super) tables: &'a Tables,
    pub(super) servers: &'a [&'a str],
    /// Queries that templates need, collected over all sources.
    pub(super) queries: Vec<Selector>,
    /// Tables that templates use, likewise.
    pub(super) used_tables: BTreeSet<String>,
}

/// A compiled source, or one that is off for want of a secret.
pub(super) struct Compiled {
    pub(super) source: Source,
    /// The unset variables that would turn it on.
    pub(super) waits_for: Vec<String>,
}

/// Compiles one source. `None` after mistakes that leave nothing to serve.
pub(super) fn compile_source(
    key: &Key,
    raw: &At<raw::Source>,
    around: &mut Surroundings<'_>,
    problems: &mut Problems,
) -> Option<Compiled> {
    let source = &raw.value;
    let path_names = check_path(&source.path, problems);
    let split = source.split.as_ref().and_then(|split| compile_split(split, problems));
    let defaults = compile_defaults(source.defaults.as_ref(), problems);
    if let Some(defaults) = &source.defaults {
        check_literals(&defaults.value, problems);
    }
    let mut vocabulary = Vocabulary {
        tables: around.tables,
        split: false,
        signs: signs(source),
        bindings: Vec::new(),
        queries: Vec::new(),
        used_tables: Default::default(),
        reads: Part::default(),
    };
    let respond = source.respond.as_ref().and_then(|raw| compile_respond(raw, &mut vocabulary, problems));
    vocabulary.signs = false;
    let dedupe = source.dedupe.as_ref().and_then(|dedupe| compile_dedupe(dedupe, &mut vocabulary, problems));
    vocabulary.split = source.split.is_some();
    let scope = Scope { path_names: &path_names, split: source.split.is_some(), signs: signs(source) };
    let rules = compile_rules(source, scope, &defaults, around.servers, &mut vocabulary, problems);
    around.queries.append(&mut vocabulary.queries);
    around.used_tables.append(&mut vocabulary.used_tables);
    let Verification { verifier, mut waits_for, secret_segment, secret_parameter, secret_header } =
        compile_verify(source.verify.as_ref(), &path_names, problems);
    let fallback = fallback_of(&defaults);
    let malformed = compile_otherwise(source.malformed.as_ref(), "reject", &fallback, problems);
    let unmatched = compile_otherwise(source.unmatched.as_ref(), "drop", &fallback, problems);
    let source = Source {
        name: key.name.clone(),
        path: source.path.value.clone(),
        methods: compile_methods(&source.methods, problems),
        allow: compile_allow(&source.allow, problems),
        verifier,
        secret_segment,
        secret_parameter,
        secret_header,
        dedupe,
        malformed,
        unmatched,
        respond,
        fallback,
        reads: reads(vocabulary.reads, split.as_ref(), &rules),
        rules: Rules::new(rules),
        split,
    };
    if raw.value.enabled.as_ref().is_some_and(|enabled| !enabled.value) {
        waits_for.push("enabled: true".to_owned());
    }
    Some(Compiled { source, waits_for })
}

/// The part of the body that the source looks at: what its templates do, its split, and the queries of its rules.
fn reads(by_templates: Part, split: Option<&Selector>, rules: &[Rule]) -> Part {
    let mut part = by_templates;
    CLOUDEVENT_MEMBERS.iter().for_each(|name| part.add(std::iter::once(*name)));
    let conditions = rules.iter().filter_map(|rule| rule.when.as_ref()).flat_map(|when| when.tests());
    let asked = conditions.filter_map(|(subject, _)| match subject {
        Subject::Payload(selector) => Some(selector),
        _ => None,
    });
    let bound = rules.iter().flat_map(|rule| &rule.bindings).filter_map(|(_, binding)| match binding {
        Binding::Select(selector) => Some(selector),
        Binding::Render(_) => None,
    });
    for selector in split.into_iter().chain(asked).chain(bound).filter(|one| one.root() == Root::Body) {
        part.add(selector.names().into_iter());
    }
    part
}

/// The names of the path's parameters; reports what is no path.
fn check_path(path: &At<String>, problems: &mut Problems) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let Some(rest) = path.value.strip_prefix('/').filter(|rest| !rest.is_empty()) else {
        let message = format!("path {:?} must begin with `/` and name a place", path.value);
        problems.push(Problem::at(&path.place, message).help("write it like /hooks/github"));
        return names;
    };
    for segment in rest.split('/') {
        match parameter_of(segment) {
            Ok(None) => {}
            Ok(Some(name)) if names.iter().any(|known| known == name) => {
                let message = format!("path names the segment {name:?} twice");
                problems.push(Problem::at(&path.place, message).help("give each segment its own name"));
            }
            Ok(Some(name)) => names.push(name.to_owned()),
            Err(reason) => {
                let message = format!("invalid segment {segment:?} in path {:?}: {reason}", path.value);
                problems.push(
                    Problem::at(&path.place, message).help(
                        "a segment is plain text such as `hooks`, or a name in braces such as `{team}`",
                    ),
                );
            }
        }
    }
    names
}

fn parameter_of(segment: &str) -> Result<Option<&str>, &'static str> {
    let named = segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    match named {
        Some(name) if is_name(name) => Ok(Some(name)),
        Some(_) => Err("a name is letters, digits and `_`"),
        None if segment.is_empty() => Err("it is empty"),
        None if segment.contains(['{', '}']) => Err("a name in braces must be the whole segment"),
        None if !segment.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~".contains(&b)) => {
            Err("use letters, digits and -._~")
        }
        None => Ok(None),
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

fn compile_split(split: &At<String>, problems: &mut Problems) -> Option<Selector> {
    let selector = parse_selector(&split.value, &split.place, problems)?;
    if selector.root() == Root::Item || !split.value.starts_with('$') {
        let message = format!("split {:?} must begin with `$`", split.value);
        problems.push(Problem::at(&split.place, message).help("it selects the items from the whole body"));
        return None;
    }
    Some(selector)
}

fn compile_methods(methods: &[At<String>], problems: &mut Problems) -> Vec<String> {
    if methods.is_empty() {
        return vec!["POST".to_owned()];
    }
    for method in methods.iter().filter(|method| !METHODS.contains(&method.value.as_str())) {
        problems.push(
            Problem::at(&method.place, format!("unknown method {:?}", method.value))
                .help(suggestion(&method.value, METHODS)),
        );
    }
    methods.iter().map(|method| method.value.clone()).collect()
}

/// Networks, or single addresses.
fn compile_allow(raw: &[At<String>], problems: &mut Problems) -> Vec<IpNet> {
    let mut networks = Vec::new();
    for text in raw {
        let network = text.value.parse::<IpNet>().or_else(|_| text.value.parse::<IpAddr>().map(IpNet::from));
        match network {
            Ok(network) => networks.push(network.trunc()),
            Err(_) => {
                let message = format!("invalid network {:?}", text.value);
                problems.push(
                    Problem::at(&text.place, message).help("write it like 192.0.2.0/24 or 2001:db8::/32"),
                );
            }
        }
    }
    networks
}

fn compile_dedupe(
    dedupe: &raw::Dedupe,
    vocabulary: &mut Vocabulary<'_>,
    problems: &mut Problems,
) -> Option<Dedupe> {
    let window = dedupe.0.window.as_ref().map_or(DEDUPE_WINDOW, |window| window.value);
    Some(Dedupe { key: compile_template(&dedupe.0.key, vocabulary, problems)?, window })
}

fn compile_otherwise(
    word: Option<&At<String>>,
    quiet: &str,
    fallback: &Option<crate::rules::source::Fallback>,
    problems: &mut Problems,
) -> Otherwise {
    let Some(word) = word else { return Otherwise::Quiet };
    match word.value.as_str() {
        "notify" if fallback.is_none() => problems.push(
            Problem::at(&word.place, "notify needs a default topic")
                .help("add `defaults: { topic: … }` to the source"),
        ),
        "notify" => return Otherwise::Notify,
        text if text == quiet => {}
        text => problems.push(
            Problem::at(&word.place, format!("unknown word {text:?}")).help(format!("use {quiet} or notify")),
        ),
    }
    Otherwise::Quiet
}

fn compile_rules(
    source: &raw::Source,
    scope: Scope<'_>,
    defaults: &Defaults,
    servers: &[&str],
    vocabulary: &mut Vocabulary<'_>,
    problems: &mut Problems,
) -> Vec<Rule> {
    check_order(&source.rules, problems);
    source
        .rules
        .iter()
        .filter_map(|rule| compile_rule(rule, scope, defaults, servers, vocabulary, problems))
        .collect()
}

/// Rules that can never be reached, and names that stand twice.
fn check_order(rules: &[At<raw::Rule>], problems: &mut Problems) {
    let mut catch_all: Option<&At<raw::Rule>> = None;
    for (index, rule) in rules.iter().enumerate() {
        let name = &rule.value.name;
        if let Some(before) = catch_all {
            let message = format!("rule {:?} is never reached", name.value);
            problems.push(Problem::at(&name.place, message).help(format!(
                "rule {:?} before it matches everything: move that one to the end",
                before.value.name.value
            )));
        }
        if rules[..index].iter().any(|earlier| earlier.value.name.value == name.value) {
            problems.push(
                Problem::at(&name.place, format!("rule name {:?} is used twice", name.value))
                    .help("give each rule of a source its own name"),
            );
        }
        let goes_on = rule.value.go_on.as_ref().is_some_and(|flag| flag.value);
        if rule.value.when.is_none() && !goes_on {
            catch_all = catch_all.or(Some(rule));
        }
    }
}

/// Whether the source has a signature, whose secret answers may sign by.
fn signs(source: &raw::Source) -> bool {
    let verify = source.verify.as_ref().and_then(|verify| verify.value.as_ref());
    verify.is_some_and(|verify| verify.scheme.is_some() || verify.hmac.is_some())
}

fn compile_rule(
    raw: &At<raw::Rule>,
    scope: Scope<'_>,
    defaults: &Defaults,
    servers: &[&str],
    vocabulary: &mut Vocabulary<'_>,
    problems: &mut Problems,
) -> Option<Rule> {
    let rule = &raw.value;
    let when = rule.when.as_ref().map(|when| compile_when(&when.0, scope, problems));
    vocabulary.bindings.clear();
    let bindings = compile_bindings(&rule.bindings, scope, vocabulary, problems);
    let publish = rule
        .publish
        .iter()
        .filter_map(|publish| compile_publish(publish, defaults, servers, vocabulary, problems))
        .collect();
    vocabulary.signs = scope.signs;
    let respond = rule.respond.as_ref().and_then(|raw| compile_respond(raw, vocabulary, problems));
    vocabulary.signs = false;
    vocabulary.bindings.clear();
    check_effect(rule, &raw.place, problems);
    let drop = rule.drop.as_ref().is_some_and(|drop| drop.value == Some(true));
    Some(Rule {
        name: rule.name.value.as_str().into(),
        place: format!("{}:{}", rule.name.place.file.path, rule.name.place.line),
        when: match when {
            Some(when) => Some(when?),
            None => None,
        },
        bindings,
        then: if drop { Then::Drop } else { Then::Publish(publish) },
        respond,
        go_on: rule.go_on.as_ref().is_some_and(|flag| flag.value),
    })
}

/// A rule does exactly one thing.
fn check_effect(rule: &raw::Rule, place: &Place, problems: &mut Problems) {
    // One that cannot be read is reported already.
    let drop = rule.drop.as_ref().filter(|drop| drop.value != Some(false));
    let goes_on = rule.go_on.as_ref().is_some_and(|flag| flag.value);
    let name = &rule.name.value;
    match (drop, rule.publish.is_empty()) {
        (Some(drop), false) => problems.push(
            Problem::at(&drop.place, format!("rule {name:?} both drops and publishes"))
                .help("remove one of the two"),
        ),
        (Some(drop), true) if goes_on => problems.push(
            Problem::at(&drop.place, format!("rule {name:?} both drops and continues"))
                .help("remove one of the two"),
        ),
        (None, true) if !goes_on && rule.respond.is_none() => problems.push(
            Problem::at(place, format!("rule {name:?} does nothing"))
                .help("add `publish:`, or `drop: true` to end here on purpose"),
        ),
        _ => {}
    }
}

fn compile_bindings(
    raw: &Entries<At<String>>,
    scope: Scope<'_>,
    vocabulary: &mut Vocabulary<'_>,
    problems: &mut Problems,
) -> Vec<(String, Binding)> {
    let mut bindings = Vec::new();
    for (key, text) in &raw.0 {
        if !is_name(&key.name) {
            let message = format!("invalid name {:?} in let", key.name);
            problems.push(Problem::at(&key.place, message).help("a name is letters, digits and `_`"));
        }
        let binding = compile_binding(text, scope, vocabulary, problems);
        // Known from here on even after a mistake, so that one mistake does not become many.
        vocabulary.bindings.push(key.name.clone());
        bindings.extend(binding.map(|binding| (key.name.clone(), binding)));
    }
    bindings
}

fn compile_binding(
    text: &At<String>,
    scope: Scope<'_>,
    vocabulary: &mut Vocabulary<'_>,
    problems: &mut Problems,
) -> Option<Binding> {
    if text.value.starts_with('@') && !scope.split {
        let message = format!("{:?} asks about an item, but the source has no split", text.value);
        problems.push(Problem::at(&text.place, message).help("begin with `$` to ask about the body"));
        return None;
    }
    if text.value.starts_with(['$', '@']) {
        return parse_selector(&text.value, &text.place, problems).map(Binding::Select);
    }
    compile_template(text, vocabulary, problems).map(Binding::Render)
}
