//! From `servers:` to [`Target`]s.

use std::collections::BTreeSet;
use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Duration;

use actix_web::http::Uri;
use data_encoding::BASE64;

use crate::notification::Topic;
use crate::problem::{Place, Problem, Problems, suggestion};
use crate::rules::decode::{At, RawSecret};
use crate::rules::external::Environment;
use crate::rules::node::Key;
use crate::rules::raw;
use crate::rules::target::{Fallback, Operator, Pace, Target, Targets};
use crate::secret::Secret;

/// The server that notifications go to unless a rule says otherwise.
pub(super) const DEFAULT: &str = "default";
const MOST_CONNECTIONS: u64 = 1024;
const FALLBACK_AFTER: Duration = Duration::from_secs(10 * 60);

/// Compiles one entry.
pub(super) fn compile_server(name: &str, raw: &At<raw::Server>, problems: &mut Problems) -> Option<Target> {
    let server = &raw.value;
    let url = match parse_root(&server.url.value) {
        Ok(url) => Some(url),
        Err((message, help)) => {
            problems.push(Problem::at(&server.url.place, message).help(help));
            None
        }
    };
    let authorization = authorization(server, problems);
    let plain = Target::new(name, "");
    let options = Target {
        connections: connections(server.connections.as_ref(), problems).unwrap_or(plain.connections),
        timeout: span("timeout", server.timeout.as_ref(), plain.timeout, problems),
        pace: server.pace.as_ref().and_then(|pace| compile_pace(&pace.value, problems)),
        ordered: server.ordered.as_ref().is_none_or(|ordered| ordered.value),
        fallback: compile_fallback(server, problems),
        expire: span("expire", server.expire.as_ref(), plain.expire, problems),
        quota_reset: quota_reset(server.quota_reset.as_ref(), problems),
        ..plain
    };
    Some(Target { url: url?, authorization: authorization?, ..options })
}

/// The server that `NTFY_URL` and `NTFY_TOKEN` describe.
pub(super) fn server_of(environment: &dyn Environment, problems: &mut Problems) -> Option<Target> {
    let url = environment.variable("NTFY_URL")?;
    match parse_root(&url) {
        Ok(url) => {
            let authorization = environment.variable("NTFY_TOKEN").map(|token| bearer(&token));
            Some(Target { authorization, ..Target::new(DEFAULT, url) })
        }
        Err((message, help)) => {
            let message = format!("environment variable \"NTFY_URL\": {message}");
            problems.push(Problem::anywhere(message).help(help));
            None
        }
    }
}

/// The root of an ntfy server with its closing slash. ntfy takes JSON at its root only, and refuses to be
/// hosted below a path, so a path is always a mistake: mostly the topic.
fn parse_root(url: &str) -> Result<String, (String, String)> {
    let example = "write it like https://ntfy.example.com".to_owned();
    if url.contains('@') {
        let message = "server url must not hold a user or password".to_owned();
        return Err((message, "use `token:`, or `username:` and `password:`".to_owned()));
    }
    let Ok(uri) = url.parse::<Uri>() else {
        return Err((format!("invalid server url {url:?}"), example));
    };
    let (Some(scheme @ ("http" | "https")), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
        return Err((format!("server url {url:?} must begin with http:// or https://"), example));
    };
    if !uri.path().trim_matches('/').is_empty() || uri.query().is_some() {
        let root = format!("{scheme}://{authority}");
        let message = format!("server url {url:?} must not have a path");
        return Err((message, format!("use {root:?}; the topic belongs to `topic:`")));
    }
    Ok(format!("{scheme}://{authority}/"))
}

/// `None` after a mistake; `Some(None)` without credentials.
fn authorization(server: &raw::Server, problems: &mut Problems) -> Option<Option<Secret>> {
    match (&server.token, &server.username, &server.password) {
        (None, None, None) => Some(None),
        (Some(token), None, None) => Some(Some(bearer(known(token, problems)?.expose()))),
        (None, Some(username), Some(password)) => {
            let password = known(password, problems)?;
            let pair = format!("{}:{}", username.value, password.expose());
            Some(Some(Secret::new(format!("Basic {}", BASE64.encode(pair.as_bytes())))))
        }
        (token, username, password) => {
            let place = [token.as_ref().map(|t| &t.place), username.as_ref().map(|u| &u.place)]
                .into_iter()
                .flatten()
                .chain(password.as_ref().map(|p| &p.place))
                .next();
            if let Some(place) = place {
                problems.push(
                    Problem::at(place, "credentials do not fit together")
                        .help("use `token:` alone, or `username:` and `password:` together"),
                );
            }
            None
        }
    }
}

fn bearer(token: &str) -> Secret {
    Secret::new(format!("Bearer {token}"))
}

/// The secret's text; an unset variable is a mistake here.
fn known<'a>(secret: &'a At<RawSecret>, problems: &mut Problems) -> Option<&'a Secret> {
    match &secret.value {
        RawSecret::Known(secret) => Some(secret),
        RawSecret::Unset(name) => {
            problems.push(unset(name, &secret.place));
            None
        }
    }
}

fn unset(name: &str, place: &Place) -> Problem {
    Problem::at(place, format!("environment variable {name:?} is not set"))
        .help("set it, or add `default:` beside `env:`")
}

/// A time that must not be zero.
fn span(key: &str, given: Option<&At<Duration>>, default: Duration, problems: &mut Problems) -> Duration {
    match given {
        Some(given) if given.value.is_zero() => {
            let message = format!("{key} must not be zero");
            let usual = spell(default);
            problems.push(Problem::at(&given.place, message).help(format!("{usual} is the default")));
            default
        }
        Some(given) => given.value,
        None => default,
    }
}

fn spell(span: Duration) -> String {
    match span.as_secs() {
        hours if hours % 3600 == 0 => format!("{}h", hours / 3600),
        minutes if minutes % 60 == 0 => format!("{}m", minutes / 60),
        seconds => format!("{seconds}s"),
    }
}

fn connections(given: Option<&At<u64>>, problems: &mut Problems) -> Option<NonZeroUsize> {
    let given = given?;
    let valid = (1..=MOST_CONNECTIONS).contains(&given.value);
    let connections = usize::try_from(given.value).ok().and_then(NonZeroUsize::new).filter(|_| valid);
    if connections.is_none() {
        let message = format!("connections must be 1 to {MOST_CONNECTIONS}, found {}", given.value);
        problems.push(Problem::at(&given.place, message).help("16 is enough for thousands a second"));
    }
    connections
}

fn compile_pace(raw: &raw::Pace, problems: &mut Problems) -> Option<Pace> {
    let per = raw.per.value;
    if per.is_zero() {
        let problem = Problem::at(&raw.per.place, "per must not be zero");
        problems.push(problem.help("5s is what ntfy allows by default"));
    }
    let Some(burst) = &raw.burst else { return Some(Pace { burst: NonZeroU32::MIN, per }) };
    let valid = u32::try_from(burst.value).ok().and_then(NonZeroU32::new);
    if valid.is_none() {
        let message = format!("burst must be 1 or more, found {}", burst.value);
        problems.push(Problem::at(&burst.place, message).help("60 is what ntfy allows by default"));
    }
    Some(Pace { burst: valid?, per })
}

/// That the server exists is checked once all are known.
fn compile_fallback(server: &raw::Server, problems: &mut Problems) -> Option<Fallback> {
    let after = span("fallback_after", server.fallback_after.as_ref(), FALLBACK_AFTER, problems);
    match (&server.fallback, &server.fallback_after) {
        (Some(_), Some(given)) if server.expire.as_ref().is_some_and(|expire| expire.value <= after) => {
            let message = "a notification expires before it can go to the fallback";
            problems
                .push(Problem::at(&given.place, message).help("make `fallback_after` shorter than `expire`"));
            None
        }
        (Some(fallback), _) => Some(Fallback { server: fallback.value.clone(), after }),
        (None, Some(given)) => {
            problems.push(
                Problem::at(&given.place, "fallback_after without a fallback")
                    .help("name the server that takes over with `fallback:`"),
            );
            None
        }
        (None, None) => None,
    }
}

/// Fallbacks must lead somewhere else, and not in a circle.
pub(super) fn check_fallbacks(
    servers: &[(&Key, &At<raw::Server>)],
    targets: &Targets,
    problems: &mut Problems,
) {
    let written = servers.iter().map(|(key, _)| key.name.as_str());
    let known: BTreeSet<&str> = written.chain(targets.keys().map(String::as_str)).collect();
    let next = |name: &str| {
        let (_, server) = servers.iter().find(|(key, _)| key.name == name)?;
        server.value.fallback.as_ref()
    };
    for (key, server) in servers {
        let Some(fallback) = &server.value.fallback else { continue };
        if !known.contains(fallback.value.as_str()) {
            let message = format!("unknown server {:?}", fallback.value);
            let help = suggestion(&fallback.value, known.iter().copied());
            problems.push(Problem::at(&fallback.place, message).help(help));
            continue;
        }
        let chain = std::iter::successors(Some(fallback), |at| next(&at.value)).take(servers.len());
        if chain.into_iter().any(|at| at.value == key.name) {
            let message = format!("the fallbacks of server {:?} lead back to it", key.name);
            problems.push(
                Problem::at(&fallback.place, message).help("end the chain at a server without `fallback:`"),
            );
        }
    }
}

fn quota_reset(given: Option<&At<String>>, problems: &mut Problems) -> u32 {
    let Some(given) = given else { return 0 };
    let parse = |text: &str| {
        let (hours, minutes) = text.split_once(':')?;
        let number = |part: &str| (part.len() == 2).then(|| part.parse::<u32>().ok()).flatten();
        let (hours, minutes) = (number(hours)?, number(minutes)?);
        (hours < 24 && minutes < 60).then_some(hours * 3600 + minutes * 60)
    };
    parse(&given.value).unwrap_or_else(|| {
        let message = format!("invalid time {:?}", given.value);
        problems.push(Problem::at(&given.place, message).help("write it like \"00:00\", in UTC"));
        0
    })
}

/// Who hears of the gateway's own troubles.
pub(super) fn compile_operator(
    raw: &At<raw::Operator>,
    servers: &[&str],
    problems: &mut Problems,
) -> Option<Operator> {
    let operator = &raw.value;
    let server = operator.server.as_ref().map_or(DEFAULT, |server| server.value.as_str());
    if !servers.is_empty() && !servers.contains(&server) {
        let place = operator.server.as_ref().map_or(&operator.topic.place, |server| &server.place);
        let message = format!("unknown server {server:?}");
        problems.push(Problem::at(place, message).help(suggestion(server, servers.iter().copied())));
    }
    match Topic::parse(&operator.topic.value) {
        Ok(topic) => Some(Operator { server: server.to_owned(), topic }),
        Err(error) => {
            problems.push(Problem::at(&operator.topic.place, error.to_string()).help("choose another name"));
            None
        }
    }
}
