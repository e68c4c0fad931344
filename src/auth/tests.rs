use serde_json::Value;

use super::*;
use crate::secret::Secret;

fn secrets(texts: &[&str]) -> Secrets {
    Secrets::new(texts.iter().map(|text| Secret::new(*text)).collect()).expect("usable secrets")
}

fn pairs(entries: &[(&str, &str)]) -> Vec<(String, String)> {
    entries.iter().map(|(name, value)| (name.to_ascii_lowercase(), (*value).to_owned())).collect()
}

/// 2026-01-01, when most vectors were signed.
const NOW: i64 = 1_767_225_600_000;

fn claim<'a>(headers: &'a [(String, String)], raw: &'a [u8]) -> Claim<'a> {
    Claim { headers, query: &[], path: &[], raw, target: "/hooks/x?a=1", now_ms: NOW, through_proxy: true }
}

fn verify(verifier: &Verifier, headers: &[(&str, &str)], raw: &[u8]) -> Result<(), Refusal> {
    verifier.verify(&claim(&pairs(headers), raw))
}

fn preset(name: &str, texts: &[&str]) -> Verifier {
    scheme(name, secrets(texts)).expect("a preset")
}

/// One signed webhook of a sender's.
struct Vector {
    name: String,
    scheme: String,
    secret: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    /// When it was signed.
    at: i64,
}

impl Vector {
    fn verify(
        &self,
        secret: &str,
        headers: &[(String, String)],
        body: &[u8],
        now_ms: i64,
    ) -> Result<(), Refusal> {
        preset(&self.scheme, &[secret]).verify(&Claim { now_ms, ..claim(headers, body) })
    }

    /// The header that proves, among those that are there.
    fn proof(&self) -> usize {
        let carries = |(name, _): &(String, String)| {
            name.contains("signature") || name.contains("token") || name.contains("hmac")
        };
        self.headers.iter().position(carries).expect("a proof")
    }
}

fn vectors() -> Vec<Vector> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors/");
    let text = std::fs::read_to_string(format!("{root}signatures.json")).expect("the vectors");
    let all: Value = serde_json::from_str(&text).expect("valid JSON");
    all["vectors"].as_array().expect("a list").iter().map(|vector| read_vector(root, vector)).collect()
}

fn read_vector(root: &str, vector: &Value) -> Vector {
    let text = |key: &str| vector[key].as_str().map(str::to_owned);
    let headers = vector["headers"].as_object().expect("headers").iter();
    let headers: Vec<_> = headers
        .map(|(name, value)| (name.to_lowercase(), value.as_str().expect("a text").to_owned()))
        .collect();
    let timestamp = headers.iter().find(|(name, _)| name.contains("timestamp"));
    Vector {
        name: text("name").expect("a name"),
        scheme: text("scheme").expect("a scheme"),
        secret: text("secret").expect("a secret"),
        at: timestamp.map_or(NOW, |(_, at)| at.parse::<i64>().expect("seconds") * 1000),
        headers,
        body: match text("body_file") {
            Some(file) => std::fs::read(format!("{root}bodies/{file}")).expect("the signed body"),
            None => text("body").expect("a body").into_bytes(),
        },
    }
}

#[test]
fn every_vector_of_every_sender_passes() {
    let vectors = vectors();
    assert!(vectors.len() >= 20, "found {} vectors", vectors.len());
    for vector in &vectors {
        let told = vector.verify(&vector.secret, &vector.headers, &vector.body, vector.at);
        assert_eq!(told, Ok(()), "{}", vector.name);
    }
}

#[test]
fn one_changed_byte_of_body_or_secret_fails_every_vector_that_signs_it() {
    for vector in vectors() {
        let signs_body = vector.name != "gitlab-token";
        for position in (0..vector.body.len()).step_by(vector.body.len().div_ceil(40)).filter(|_| signs_body)
        {
            let mut changed = vector.body.clone();
            changed[position] ^= 1;
            let told = vector.verify(&vector.secret, &vector.headers, &changed, vector.at);
            assert!(told.is_err(), "{}: body changed at {position}", vector.name);
        }
        // Of the published base64 secret, the last letter holds bits that count for nothing.
        for position in 0..vector.secret.len() - 1 {
            let mut changed = vector.secret.clone().into_bytes();
            changed[position] = if changed[position] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).expect("ascii");
            let usable = scheme(&vector.scheme, secrets(&[&changed])).is_ok();
            let told = || vector.verify(&changed, &vector.headers, &vector.body, vector.at);
            assert!(!usable || told().is_err(), "{}: secret changed at {position}", vector.name);
        }
    }
}

#[test]
fn one_changed_byte_of_the_header_fails_every_vector_where_it_counts() {
    for vector in vectors() {
        let proof = vector.proof();
        let value = &vector.headers[proof].1;
        let mut believed = Vec::new();
        for position in 0..value.len() {
            let mut changed = value.clone().into_bytes();
            changed[position] = if changed[position] == b'1' { b'2' } else { b'1' };
            let mut headers = vector.headers.clone();
            headers[proof].1 = String::from_utf8(changed).expect("ascii");
            if vector.verify(&vector.secret, &headers, &vector.body, vector.at).is_ok() {
                believed.push(position);
            }
        }
        // A list also holds what does not count: a signature by an older secret, a version that proves nothing.
        let idle = match vector.name.as_str() {
            "stripe-file" => 69,
            "stripe-rotated" => 67,
            "standard-webhooks-rotated" => 47,
            _ => 0,
        };
        assert!(believed.len() <= idle, "{}: believed with a change at {believed:?}", vector.name);
    }
}

#[test]
fn a_timestamp_that_was_changed_or_is_too_far_from_now_fails() {
    let timed = ["standard-webhooks", "stripe", "slack", "linear"];
    let with_time = |vector: &Vector| timed.contains(&&*vector.scheme) || vector.name == "grafana-ts";
    let vectors: Vec<_> = vectors().into_iter().filter(with_time).collect();
    assert!(vectors.len() >= 8, "{}", vectors.len());
    for vector in vectors {
        let window = if vector.scheme == "linear" { 60_000 } else { 300_000 };
        for (now, fine) in [(window, true), (-window, true), (window + 1000, false), (-window - 1000, false)]
        {
            let told = vector.verify(&vector.secret, &vector.headers, &vector.body, vector.at + now);
            assert_eq!(told.is_ok(), fine, "{}: {now} ms away: {told:?}", vector.name);
        }
        let second = (vector.at / 1000).to_string();
        let next = (vector.at / 1000 + 1).to_string();
        let mut headers = vector.headers.clone();
        headers.iter_mut().for_each(|(_, value)| *value = value.replace(&second, &next));
        if headers != vector.headers {
            let told = vector.verify(&vector.secret, &headers, &vector.body, vector.at);
            assert!(told.is_err(), "{}: a second later", vector.name);
        }
    }
}

#[test]
fn gitlab_takes_its_token_and_its_signing_token() {
    let all = vectors();
    let of = |name: &str| all.iter().find(|vector| vector.name == name).expect("a vector");
    let (signed, clear) = (of("standard-webhooks-rotated"), of("gitlab-token"));
    let both = preset("gitlab", &[&clear.secret, &signed.secret]);
    assert!(both.needs_body());
    for vector in [signed, clear] {
        let told = both.verify(&Claim { now_ms: vector.at, ..claim(&vector.headers, &vector.body) });
        assert_eq!(told, Ok(()), "{}", vector.name);
    }
    assert!(
        verify(&both, &[("X-Gitlab-Token", &signed.secret)], b"").is_err(),
        "a signing token is never shown"
    );
    assert!(verify(&both, &[], b"").is_err());
    assert_eq!(
        scheme("gitlab", secrets(&["whsec_no base64"])).err(),
        Some(InvalidScheme::Key("standard-webhooks"))
    );
}

#[test]
fn a_signature_must_be_there_once_in_form_and_not_empty() {
    let github = preset("github", &["s"]);
    let name = "X-Hub-Signature-256";
    let what = || "header x-hub-signature-256".to_owned();
    assert_eq!(verify(&github, &[], b""), Err(Refusal::Missing(what())));
    assert_eq!(
        verify(&github, &[(name, "sha256=00"), (name, "sha256=00")], b""),
        Err(Refusal::Repeated(what()))
    );
    for malformed in ["", "sha256=", "sha1=00", "sha256=zz", "sha256=0", "00"] {
        assert_eq!(
            verify(&github, &[(name, malformed)], b""),
            Err(Refusal::Malformed(what())),
            "{malformed}"
        );
    }
    assert_eq!(verify(&github, &[(name, "sha256=00")], b""), Err(Refusal::Wrong(what())));
    // Gitea without a secret.
    let gitea = preset("gitea", &["s"]);
    let empty = verify(&gitea, &[("X-Gitea-Signature", ""), ("X-Hub-Signature-256", "sha256=")], b"{}");
    assert_eq!(empty, Err(Refusal::Malformed("header x-gitea-signature".to_owned())));
}

#[test]
fn a_token_signed_by_nobody_or_for_another_body_proves_nothing() {
    let netlify = preset("netlify", &["s"]);
    let encode = |text: &str| data_encoding::BASE64URL_NOPAD.encode(text.as_bytes());
    let unsigned = format!("{}.{}.", encode(r#"{"alg":"none"}"#), encode(r#"{"iss":"netlify"}"#));
    for token in ["", ".", "..", "a.b.c", &unsigned] {
        assert!(verify(&netlify, &[("X-Webhook-Signature", token)], b"").is_err(), "{token}");
    }
    let proof = netlify.prove(&claim(&[], b"body"));
    assert_eq!(netlify.verify(&claim(&proof.headers, b"body")), Ok(()));
    assert!(netlify.verify(&claim(&proof.headers, b"other")).is_err());
}

fn custom(algorithm: Algorithm, encoding: Encoding) -> Signature {
    Signature {
        headers: vec!["x-signature".to_owned()],
        separator: None,
        prefix: "v1:".to_owned(),
        algorithm,
        encoding,
        key: KeyForm::Text,
        signs: Signs::body(),
        timestamp: None,
        ids: Vec::new(),
        base: None,
        secrets: secrets(&["old", "Jefe"]),
    }
}

#[test]
fn any_of_several_secrets_and_every_algorithm_and_encoding_works() {
    // RFC 2202 and RFC 4231, test case 2: key "Jefe".
    let message = b"what do ya want for nothing?";
    for (algorithm, encoding, signature) in [
        (Algorithm::Sha1, Encoding::Hex, "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"),
        (Algorithm::Sha256, Encoding::Base64, "W9zBRr9gdU5qBCQmCJV1x1oAPwidJzmDnexYuWTsOEM="),
        (Algorithm::Sha256, Encoding::Base64Url, "W9zBRr9gdU5qBCQmCJV1x1oAPwidJzmDnexYuWTsOEM"),
        (
            Algorithm::Sha512,
            Encoding::Hex,
            "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737",
        ),
    ] {
        let verifier = Verifier::Signature(custom(algorithm, encoding));
        let value = format!("v1:{signature}");
        assert_eq!(verify(&verifier, &[("X-Signature", &value)], message), Ok(()), "{algorithm:?}");
    }
}

#[test]
fn tokens_passwords_and_path_secrets_must_match_whole() {
    let token =
        Verifier::HeaderToken { header: "x-gitlab-token".to_owned(), secrets: secrets(&["a", "right"]) };
    assert_eq!(verify(&token, &[("X-Gitlab-Token", "right")], b""), Ok(()));
    for wrong in ["righ", "rightx", "", "RIGHT"] {
        assert!(verify(&token, &[("X-Gitlab-Token", wrong)], b"").is_err(), "{wrong}");
    }
    let basic = Verifier::Basic(secrets(&["sonarr:p:w"]));
    let good = format!("bAsIc {}", data_encoding::BASE64.encode(b"sonarr:p:w"));
    assert_eq!(verify(&basic, &[("Authorization", &good)], b""), Ok(()));
    assert_eq!(
        verify(&basic, &[("Authorization", "Basic !!!")], b""),
        Err(Refusal::Malformed("header authorization".to_owned()))
    );
    let bearer = Verifier::Bearer(secrets(&["tk"]));
    assert_eq!(verify(&bearer, &[("Authorization", "Bearer tk")], b""), Ok(()));
    assert!(verify(&bearer, &[("Authorization", "tk")], b"").is_err());
    let path = Verifier::PathSecret { segment: "secret".to_owned(), secrets: secrets(&["s3"]) };
    let in_path = |value: &str| path.verify(&Claim { path: &pairs(&[("secret", value)]), ..claim(&[], b"") });
    assert_eq!(in_path("s3"), Ok(()));
    assert!(in_path("s4").is_err());
    let query = Verifier::QueryToken { parameter: "t".to_owned(), secrets: secrets(&["s3"]) };
    let in_query =
        |entries: &[(&str, &str)]| query.verify(&Claim { query: &pairs(entries), ..claim(&[], b"") });
    assert_eq!(in_query(&[("t", "s3")]), Ok(()));
    assert!(in_query(&[("t", "s3"), ("t", "s3")]).is_err());
}

#[test]
fn an_empty_secret_is_refused_and_none_is_shown() {
    assert_eq!(Secrets::new(vec![Secret::new("")]).err(), Some(EmptySecret));
    assert_eq!(Secrets::new(Vec::new()).err(), Some(EmptySecret));
    let shown = format!("{:?}", Verifier::Bearer(secrets(&["hunter2"])));
    assert!(!shown.contains("hunter2"), "{shown}");
}

#[test]
fn what_a_verifier_proves_it_also_believes() {
    let secret = || secrets(&["s3cret:x"]);
    let body = format!(r#"{{"webhookTimestamp":{NOW}}}"#);
    let mut verifiers = vec![
        Verifier::HeaderToken { header: "x-token".to_owned(), secrets: secret() },
        Verifier::QueryToken { parameter: "token".to_owned(), secrets: secret() },
        Verifier::Basic(secret()),
        Verifier::Bearer(secret()),
        Verifier::PathSecret { segment: "secret".to_owned(), secrets: secret() },
        Verifier::Certificate { header: "x-client".to_owned(), subjects: vec!["CN=a".to_owned()] },
    ];
    for name in scheme_names() {
        verifiers.push(preset(name, &["whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="]));
    }
    let base = Some("https://hooks.example.com/".to_owned());
    let signs = Signs::parse("{url}|{id}|{body}").expect("a template");
    let ids = vec!["x-id".to_owned()];
    verifiers.push(Verifier::Signature(Signature {
        base,
        signs,
        ids,
        ..custom(Algorithm::Sha256, Encoding::Hex)
    }));
    for verifier in verifiers {
        let proof = verifier.prove(&claim(&[], body.as_bytes()));
        let brought =
            Claim { query: &proof.query, path: &proof.path, ..claim(&proof.headers, body.as_bytes()) };
        assert_eq!(verifier.verify(&brought), Ok(()), "{verifier:?}");
        assert!(verifier.verify(&claim(&[], body.as_bytes())).is_err(), "{verifier:?}");
    }
}

#[test]
fn what_is_signed_must_be_a_template_with_the_body_in_it() {
    let told = |text: &str| Signs::parse(text).err().map(|error| error.to_string());
    assert_eq!(told("{timestamp}.{body}"), None);
    assert_eq!(told("{timestamp}"), Some("the body is not signed".to_owned()));
    assert_eq!(told("{nonce}{body}"), Some("unknown ingredient \"{nonce}\"".to_owned()));
    assert_eq!(told("{body"), Some("a `{` is not closed".to_owned()));
}

#[test]
fn a_certificate_is_believed_of_a_trusted_proxy_only() {
    let subjects = vec!["CN=grafana".to_owned(), "CN=b".to_owned()];
    let verifier = Verifier::Certificate { header: "x-ssl-client-s-dn".to_owned(), subjects };
    let ask = |subject: &str, through_proxy: bool| {
        verifier.verify(&Claim { through_proxy, ..claim(&pairs(&[("X-SSL-Client-S-DN", subject)]), b"") })
    };
    assert_eq!(ask("CN=b", true), Ok(()));
    assert_eq!(ask("CN=c", true), Err(Refusal::Wrong("header x-ssl-client-s-dn".to_owned())));
    assert_eq!(ask("CN=b", false), Err(Refusal::NotFromProxy("header x-ssl-client-s-dn".to_owned())));
}
