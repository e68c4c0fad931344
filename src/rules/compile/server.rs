//! From `servers:` to [`Target`]s.

use std::num::NonZeroUsize;
use std::time::Duration;

use actix_web::http::Uri;
use data_encoding::BASE64;

use crate::problem::{Place, Problem, Problems};
use crate::rules::decode::{At, RawSecret};
use crate::rules::external::Environment;
use crate::rules::raw;
use crate::rules::target::Target;
use crate::secret::Secret;

/// The server that notifications go to unless a rule says otherwise.
pub(super) const DEFAULT: &str = "default";
const CONNECTIONS: NonZeroUsize = NonZeroUsize::new(16).unwrap();
const MOST_CONNECTIONS: u64 = 1024;
const TIMEOUT: Duration = Duration::from_secs(10);

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
    let connections = connections(server.connections.as_ref(), problems);
    Some(Target {
        name: name.to_owned(),
        url: url?,
        authorization: authorization?,
        connections,
        timeout: timeout(server.timeout.as_ref(), problems),
    })
}

/// The server that `NTFY_URL` and `NTFY_TOKEN` describe.
pub(super) fn server_of(environment: &dyn Environment, problems: &mut Problems) -> Option<Target> {
    let url = environment.variable("NTFY_URL")?;
    match parse_root(&url) {
        Ok(url) => Some(Target {
            name: DEFAULT.to_owned(),
            url,
            authorization: environment.variable("NTFY_TOKEN").map(|token| bearer(&token)),
            connections: CONNECTIONS,
            timeout: TIMEOUT,
        }),
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

fn timeout(given: Option<&At<Duration>>, problems: &mut Problems) -> Duration {
    match given {
        Some(given) if given.value.is_zero() => {
            problems.push(Problem::at(&given.place, "timeout must not be zero").help("10s is the default"));
            TIMEOUT
        }
        Some(given) => given.value,
        None => TIMEOUT,
    }
}

fn connections(given: Option<&At<u64>>, problems: &mut Problems) -> NonZeroUsize {
    let Some(given) = given else { return CONNECTIONS };
    let valid = (1..=MOST_CONNECTIONS).contains(&given.value);
    match usize::try_from(given.value).ok().and_then(NonZeroUsize::new).filter(|_| valid) {
        Some(connections) => connections,
        None => {
            let message = format!("connections must be 1 to {MOST_CONNECTIONS}, found {}", given.value);
            problems.push(Problem::at(&given.place, message).help("16 is enough for thousands a second"));
            CONNECTIONS
        }
    }
}
