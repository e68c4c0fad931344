//! From `verify:` to a [`Verifier`].

use std::time::Duration;

use crate::auth::{
    Algorithm, Encoding, InvalidScheme, KeyForm, Secrets, Signature, Signs, Timestamp, TimestampPlace,
    Verifier, scheme, scheme_names,
};
use crate::problem::{Place, Problem, Problems, suggestion};
use crate::rules::decode::{At, Given, RawSecret};
use crate::rules::raw;
use crate::secret::Secret;

/// How far a timestamp may be from now.
const TOLERANCE: Duration = Duration::from_secs(5 * 60);

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
        raw.client_certificate.as_ref().map(|way| &way.place),
    ];
    let given: Vec<&Place> = ways.into_iter().flatten().collect();
    match given.as_slice() {
        [_] => {}
        [] => {
            let help = "use one of scheme, hmac, token, basic, bearer, path_secret and client_certificate";
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
        return compile_scheme(name, &raw.secrets, problems);
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
    if let Some(Given { value: Some(certificate), place }) = &raw.client_certificate {
        return compile_certificate(certificate, place, problems);
    }
    match raw.path_secret.as_ref().and_then(|given| Some((given.value.as_ref()?, &given.place))) {
        Some((path_secret, place)) => compile_path_secret(path_secret, place, path_names, problems),
        None => Verification::default(),
    }
}

fn compile_certificate(raw: &raw::ClientCertificate, place: &Place, problems: &mut Problems) -> Verification {
    if raw.subjects.is_empty() {
        problems.push(Problem::at(place, "no subject may send").help("add `subjects: [\"CN=…\"]`"));
    }
    let verifier = Verifier::Certificate {
        header: raw.header.value.to_ascii_lowercase(),
        subjects: raw.subjects.iter().map(|subject| subject.value.clone()).collect(),
    };
    Verification { verifier: Some(verifier), ..Verification::default() }
}

fn compile_scheme(name: &At<String>, secrets: &[At<RawSecret>], problems: &mut Problems) -> Verification {
    if !scheme_names().any(|known| known == name.value) {
        let help = suggestion(&name.value, scheme_names());
        problems.push(Problem::at(&name.place, format!("unknown scheme {:?}", name.value)).help(help));
    }
    let secrets = compile_secrets(secrets, &name.place, problems);
    let verification = secrets.verification(|secrets| match scheme(&name.value, secrets) {
        Ok(verifier) => Some(verifier),
        Err(InvalidScheme::Unknown(_)) => None,
        Err(error @ InvalidScheme::Key(_)) => {
            let help = "copy it whole from the sender, with its whsec_ if it has one";
            problems.push(Problem::at(&name.place, error.to_string()).help(help));
            None
        }
    });
    // A token in clear travels in a header of its own.
    let secret_header = (name.value == "gitlab").then(|| "x-gitlab-token".to_owned());
    Verification { secret_header, ..verification }
}

fn compile_hmac(hmac: &raw::Hmac, place: &Place, problems: &mut Problems) -> Verification {
    let algorithms = "sha1, sha256 or sha512";
    let algorithm = word(hmac.algorithm.as_ref(), Algorithm::Sha256, Algorithm::parse, algorithms, problems);
    let encodings = "hex, base64 or base64url";
    let encoding = word(hmac.encoding.as_ref(), Encoding::Hex, Encoding::parse, encodings, problems);
    let key = word(hmac.key.as_ref(), KeyForm::Text, KeyForm::parse, "text, base64 or hex", problems);
    let separator = compile_separator(hmac.separator.as_ref(), problems);
    let signs = compile_signs(hmac, place, problems);
    let timestamp = hmac.timestamp.as_ref().and_then(|given| compile_timestamp(given, problems));
    if hmac.header.is_empty() {
        problems.push(Problem::at(place, "missing key \"header\"").help("add `header:` to this mapping"));
    }
    let secrets = compile_secrets(&hmac.secrets, place, problems);
    if let Some(key) = key {
        check_keys(key, &hmac.secrets, problems);
    }
    secrets.verification(|secrets| {
        Some(Verifier::Signature(Signature {
            headers: lower(&hmac.header),
            separator,
            prefix: hmac.prefix.as_ref().map(|prefix| prefix.value.clone()).unwrap_or_default(),
            algorithm: algorithm?,
            encoding: encoding?,
            key: key?,
            signs: signs?,
            timestamp,
            ids: lower(&hmac.id),
            base: hmac.url.as_ref().map(|url| url.value.clone()),
            secrets,
        }))
    })
}

fn lower(names: &[At<String>]) -> Vec<String> {
    names.iter().map(|name| name.value.to_ascii_lowercase()).collect()
}

fn compile_separator(given: Option<&At<String>>, problems: &mut Problems) -> Option<char> {
    let given = given?;
    let mut chars = given.value.chars();
    match (chars.next(), chars.next()) {
        (Some(separator), None) => Some(separator),
        _ => {
            let message = format!("separator {:?} is not one character", given.value);
            problems.push(Problem::at(&given.place, message).help("write it like \",\" or \" \""));
            None
        }
    }
}

/// What is signed must be there to be signed.
fn compile_signs(hmac: &raw::Hmac, place: &Place, problems: &mut Problems) -> Option<Signs> {
    let Some(given) = &hmac.signs else { return Some(Signs::body()) };
    let signs = match Signs::parse(&given.value) {
        Ok(signs) => signs,
        Err(error) => {
            let help = "use {body}, {timestamp}, {id} and {url}, and text between them";
            problems.push(Problem::at(&given.place, error.to_string()).help(help));
            return None;
        }
    };
    let needs = [
        (
            signs.needs_timestamp() && hmac.timestamp.is_none(),
            "timestamp",
            "timestamp: { header: X-Timestamp }",
        ),
        (signs.needs_id() && hmac.id.is_empty(), "id", "id: X-Request-Id"),
        (signs.needs_url() && hmac.url.is_none(), "url", "url: https://hooks.example.com"),
    ];
    for (_, ingredient, remedy) in needs.into_iter().filter(|(missing, ..)| *missing) {
        let message = format!("the signature covers {{{ingredient}}}, and nothing says where that is");
        problems.push(Problem::at(place, message).help(format!("add `{remedy}`")));
    }
    Some(signs)
}

fn compile_timestamp(given: &Given<raw::SignedAt>, problems: &mut Problems) -> Option<Timestamp> {
    let raw = given.value.as_ref()?;
    let place = match (raw.header.as_slice(), &raw.entry, &raw.body) {
        ([_, ..], None, None) => TimestampPlace::Header(lower(&raw.header)),
        ([], Some(entry), None) => TimestampPlace::Entry(entry.value.clone()),
        ([], None, Some(body)) => TimestampPlace::Body(body.value.clone()),
        _ => {
            let message = "a timestamp stands in one place";
            problems.push(Problem::at(&given.place, message).help("set one of header, entry and body"));
            return None;
        }
    };
    let unit = |text: &str| match text {
        "s" => Some(false),
        "ms" => Some(true),
        _ => None,
    };
    let millis = word(raw.unit.as_ref(), false, unit, "s or ms", problems)?;
    let tolerance = raw.tolerance.as_ref().map_or(TOLERANCE, |tolerance| tolerance.value);
    Some(Timestamp { place, millis, tolerance, absent: None })
}

fn check_keys(key: KeyForm, secrets: &[At<RawSecret>], problems: &mut Problems) {
    for secret in secrets {
        if let RawSecret::Known(known) = &secret.value
            && key.of(known).is_none()
        {
            let message = "a secret has not the form that `key:` says";
            problems.push(Problem::at(&secret.place, message).help("copy it whole, or change `key:`"));
        }
    }
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
    let header = raw.header.as_ref().map(|header| header.value.to_ascii_lowercase());
    let parameter = raw.query.as_ref().map(|query| query.value.clone());
    if header.is_none() && parameter.is_none() {
        let problem = Problem::at(place, "a token travels in a header or in the query");
        problems.push(problem.help("set header, query, or both where the sender may use either"));
        return Verification::default();
    }
    let verification = known.verification(|secrets| Some(token(header.clone(), parameter.clone(), secrets)));
    Verification { secret_header: header, secret_parameter: parameter, ..verification }
}

/// In whichever place the sender may put it.
fn token(header: Option<String>, parameter: Option<String>, secrets: Secrets) -> Verifier {
    match (header, parameter) {
        (Some(header), Some(parameter)) => Verifier::Any(vec![
            Verifier::HeaderToken { header, secrets: secrets.clone() },
            Verifier::QueryToken { parameter, secrets },
        ]),
        (None, Some(parameter)) => Verifier::QueryToken { parameter, secrets },
        (header, None) => Verifier::HeaderToken { header: header.unwrap_or_default(), secrets },
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
