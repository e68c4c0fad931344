//! From `verify:` to a [`Verifier`].

use crate::auth::{Algorithm, Encoding, Hmac, Secrets, Verifier, scheme, scheme_names};
use crate::problem::{Place, Problem, Problems, suggestion};
use crate::rules::decode::{At, Given, RawSecret};
use crate::rules::raw;
use crate::secret::Secret;

/// A verifier, or the variables it waits for, and where in a request its secret travels.
#[derive(Default)]
pub(super) struct Verification {
    pub(super) verifier: Option<Verifier>,
    /// Unset variables; not empty only when no secret at all is known.
    pub(super) waits_for: Vec<String>,
    pub(super) secret_segment: Option<String>,
    pub(super) secret_parameter: Option<String>,
    pub(super) secret_header: Option<String>,
}

/// Compiles `verify:`.
pub(super) fn compile_verify(
    given: Option<&Given<raw::Verify>>,
    path_names: &[String],
    problems: &mut Problems,
) -> Verification {
    let Some(Given { place, value: Some(raw) }) = given else { return Verification::default() };
    let ways = [
        raw.scheme.as_ref().map(|way| &way.place),
        raw.hmac.as_ref().map(|way| &way.place),
        raw.token.as_ref().map(|way| &way.place),
        raw.basic.as_ref().map(|way| &way.place),
        raw.bearer.as_ref().map(|way| &way.place),
        raw.path_secret.as_ref().map(|way| &way.place),
    ];
    let given: Vec<&Place> = ways.into_iter().flatten().collect();
    match given.as_slice() {
        [_] => {}
        [] => {
            let help = "use one of scheme, hmac, token, basic, bearer and path_secret";
            problems.push(Problem::at(place, "verify names no way to verify").help(help));
            return Verification::default();
        }
        [_, second, ..] => {
            problems.push(Problem::at(second, "verify names two ways").help("keep one of them"));
            return Verification::default();
        }
    }
    if let (None, Some(first)) = (&raw.scheme, raw.secrets.first()) {
        problems.push(
            Problem::at(&first.place, "these secrets belong to no scheme")
                .help("move them into the mapping that uses them"),
        );
    }
    compile_way(raw, path_names, problems)
}

fn compile_way(raw: &raw::Verify, path_names: &[String], problems: &mut Problems) -> Verification {
    if let Some(name) = &raw.scheme {
        let known = scheme(&name.value);
        if known.is_none() {
            problems.push(
                Problem::at(&name.place, format!("unknown scheme {:?}", name.value))
                    .help(suggestion(&name.value, scheme_names())),
            );
        }
        return compile_secrets(&raw.secrets, &name.place, problems)
            .verification(|secrets| Some(Verifier::Hmac(known?.with(secrets))));
    }
    if let Some(hmac) = &raw.hmac {
        return hmac
            .value
            .as_ref()
            .map_or_else(Verification::default, |raw| compile_hmac(raw, &hmac.place, problems));
    }
    if let Some(token) = &raw.token {
        return token
            .value
            .as_ref()
            .map_or_else(Verification::default, |raw| compile_token(raw, &token.place, problems));
    }
    if let Some(basic) = &raw.basic {
        let Some(given) = &basic.value else { return Verification::default() };
        let pair = |secret: &Secret| Secret::new(format!("{}:{}", given.username.value, secret.expose()));
        let known = compile_secrets(&given.passwords, &basic.place, problems).map(pair);
        return known.verification(|secrets| Some(Verifier::Basic(secrets)));
    }
    if let Some(bearer) = &raw.bearer {
        let Some(given) = &bearer.value else { return Verification::default() };
        return compile_secrets(&given.secrets, &bearer.place, problems)
            .verification(|secrets| Some(Verifier::Bearer(secrets)));
    }
    match raw.path_secret.as_ref().and_then(|given| Some((given.value.as_ref()?, &given.place))) {
        Some((path_secret, place)) => compile_path_secret(path_secret, place, path_names, problems),
        None => Verification::default(),
    }
}

fn compile_hmac(hmac: &raw::Hmac, place: &Place, problems: &mut Problems) -> Verification {
    let algorithm = word(
        hmac.algorithm.as_ref(),
        Algorithm::Sha256,
        Algorithm::parse,
        "sha1, sha256 or sha512",
        problems,
    );
    let encoding = word(hmac.encoding.as_ref(), Encoding::Hex, Encoding::parse, "hex or base64", problems);
    compile_secrets(&hmac.secrets, place, problems).verification(|secrets| {
        Some(Verifier::Hmac(Hmac {
            header: hmac.header.value.to_ascii_lowercase(),
            algorithm: algorithm?,
            encoding: encoding?,
            prefix: hmac.prefix.as_ref().map(|prefix| prefix.value.clone()).unwrap_or_default(),
            secrets,
        }))
    })
}

fn word<T>(
    given: Option<&At<String>>,
    default: T,
    parse: fn(&str) -> Option<T>,
    choice: &str,
    problems: &mut Problems,
) -> Option<T> {
    let Some(given) = given else { return Some(default) };
    let parsed = parse(&given.value);
    if parsed.is_none() {
        problems.push(
            Problem::at(&given.place, format!("unknown word {:?}", given.value))
                .help(format!("use {choice}")),
        );
    }
    parsed
}

fn compile_token(raw: &raw::Token, place: &Place, problems: &mut Problems) -> Verification {
    let known = compile_secrets(&raw.secrets, place, problems);
    match (&raw.header, &raw.query) {
        (Some(header), None) => {
            let header = header.value.to_ascii_lowercase();
            let hidden = Some(header.clone());
            let verification = known.verification(|secrets| Some(Verifier::HeaderToken { header, secrets }));
            Verification { secret_header: hidden, ..verification }
        }
        (None, Some(query)) => {
            let parameter = query.value.clone();
            let hidden = Some(parameter.clone());
            let verification =
                known.verification(|secrets| Some(Verifier::QueryToken { parameter, secrets }));
            Verification { secret_parameter: hidden, ..verification }
        }
        _ => {
            problems.push(
                Problem::at(place, "a token travels in a header or in the query")
                    .help("set one of header and query"),
            );
            Verification::default()
        }
    }
}

fn compile_path_secret(
    raw: &raw::PathSecret,
    place: &Place,
    path_names: &[String],
    problems: &mut Problems,
) -> Verification {
    let segment = &raw.segment;
    if !path_names.contains(&segment.value) {
        let message = format!("the source's path has no segment {:?}", segment.value);
        let help = format!("write the path like /hooks/…/{{{}}}", segment.value);
        problems.push(Problem::at(&segment.place, message).help(help));
    }
    let name = segment.value.clone();
    let hidden = Some(name.clone());
    let verification = compile_secrets(&raw.secrets, place, problems)
        .verification(|secrets| Some(Verifier::PathSecret { segment: name, secrets }));
    Verification { secret_segment: hidden, ..verification }
}

/// The secrets that are known, and the variables that would hold the others.
struct KnownSecrets {
    known: Vec<Secret>,
    unset: Vec<String>,
}

fn compile_secrets(raw: &[At<RawSecret>], place: &Place, problems: &mut Problems) -> KnownSecrets {
    let mut secrets = KnownSecrets { known: Vec::new(), unset: Vec::new() };
    if raw.is_empty() {
        problems.push(Problem::at(place, "there is no secret").help("add `secrets: [{ env: NAME }]`"));
    }
    for secret in raw {
        match &secret.value {
            RawSecret::Unset(name) => secrets.unset.push(name.clone()),
            RawSecret::Known(text) if text.expose().is_empty() => {
                problems
                    .push(Problem::at(&secret.place, "a secret must not be empty").help("use {env: NAME}"));
            }
            RawSecret::Known(text) => secrets.known.push(text.clone()),
        }
    }
    secrets
}

impl KnownSecrets {
    fn map(self, change: impl Fn(&Secret) -> Secret) -> Self {
        Self { known: self.known.iter().map(change).collect(), unset: self.unset }
    }

    fn verification(self, verifier: impl FnOnce(Secrets) -> Option<Verifier>) -> Verification {
        match Secrets::new(self.known) {
            // One secret of several is enough: the other may be set for the next rotation.
            Ok(secrets) => Verification { verifier: verifier(secrets), ..Verification::default() },
            Err(_) => Verification { waits_for: self.unset, ..Verification::default() },
        }
    }
}
