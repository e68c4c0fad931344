use serde_json::Value;

use super::*;
use crate::secret::Secret;

fn secrets(texts: &[&str]) -> Secrets {
    Secrets::new(texts.iter().map(|text| Secret::new(*text)).collect()).expect("usable secrets")
}

fn pairs(entries: &[(&str, &str)]) -> Vec<(String, String)> {
    entries.iter().map(|(name, value)| (name.to_ascii_lowercase(), (*value).to_owned())).collect()
}

fn verify(verifier: &Verifier, headers: &[(&str, &str)], raw: &[u8]) -> Result<(), Refusal> {
    verifier.verify(&Claim { headers: &pairs(headers), query: &[], path: &[], raw })
}

/// Body, secret and signature header of every vector of the github scheme.
fn github_vectors() -> Vec<(Vec<u8>, String, String)> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/");
    let text = std::fs::read_to_string(format!("{root}tests/vectors/signatures.json")).expect("the vectors");
    let all: Value = serde_json::from_str(&text).expect("valid JSON");
    let text = |vector: &Value, key: &str| vector[key].as_str().map(str::to_owned);
    let body = |vector: &Value| match text(vector, "body_file") {
        Some(file) => std::fs::read(format!("{root}rules/samples/{file}")).expect("the signed body"),
        None => text(vector, "body").expect("a body").into_bytes(),
    };
    all["vectors"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|vector| vector["scheme"] == "github")
        .map(|vector| {
            let signature = text(&vector["headers"], "X-Hub-Signature-256").expect("a signature");
            (body(vector), text(vector, "secret").expect("a secret"), signature)
        })
        .collect()
}

#[test]
fn every_github_vector_passes_and_one_changed_byte_anywhere_fails() {
    let vectors = github_vectors();
    assert!(vectors.len() >= 2, "found {} vectors", vectors.len());
    for (body, secret, signature) in vectors {
        let check = |secret: &str, signature: &str, body: &[u8]| {
            let verifier = Verifier::Hmac(scheme("github").expect("a preset").with(secrets(&[secret])));
            verify(&verifier, &[("X-Hub-Signature-256", signature)], body)
        };
        assert_eq!(check(&secret, &signature, &body), Ok(()));
        let upper = format!("sha256={}", signature["sha256=".len()..].to_uppercase());
        assert_eq!(check(&secret, &upper, &body), Ok(()), "hex in upper case");
        for position in (0..body.len()).step_by(body.len().div_ceil(50)) {
            let mut changed = body.clone();
            changed[position] ^= 1;
            assert!(check(&secret, &signature, &changed).is_err(), "body changed at {position}");
        }
        for position in 0..signature.len() {
            let mut changed = signature.clone().into_bytes();
            changed[position] = if changed[position] == b'0' { b'1' } else { b'0' };
            let changed = String::from_utf8(changed).expect("ascii");
            assert!(check(&secret, &changed, &body).is_err(), "header changed at {position}");
        }
        assert!(check(&format!("{secret}x"), &signature, &body).is_err(), "longer secret");
        assert!(check(&secret[1..], &signature, &body).is_err(), "shorter secret");
    }
}

#[test]
fn a_signature_must_be_there_once_in_form_and_not_empty() {
    let github = Verifier::Hmac(scheme("github").expect("a preset").with(secrets(&["s"])));
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
}

#[test]
fn any_of_several_secrets_and_every_algorithm_and_encoding_works() {
    // RFC 2202 and RFC 4231, test case 2: key "Jefe".
    let message = b"what do ya want for nothing?";
    for (algorithm, encoding, signature) in [
        (Algorithm::Sha1, Encoding::Hex, "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"),
        (Algorithm::Sha256, Encoding::Base64, "W9zBRr9gdU5qBCQmCJV1x1oAPwidJzmDnexYuWTsOEM="),
        (
            Algorithm::Sha512,
            Encoding::Hex,
            "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737",
        ),
    ] {
        let hmac = Hmac {
            header: "x-signature".to_owned(),
            algorithm,
            encoding,
            prefix: "v1:".to_owned(),
            secrets: secrets(&["old", "Jefe"]),
        };
        let value = format!("v1:{signature}");
        assert_eq!(
            verify(&Verifier::Hmac(hmac), &[("X-Signature", &value)], message),
            Ok(()),
            "{algorithm:?}"
        );
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
    let claim = |value: &str| {
        path.verify(&Claim { headers: &[], query: &[], path: &pairs(&[("secret", value)]), raw: b"" })
    };
    assert_eq!(claim("s3"), Ok(()));
    assert!(claim("s4").is_err());
    let query = Verifier::QueryToken { parameter: "t".to_owned(), secrets: secrets(&["s3"]) };
    let claim = |entries: &[(&str, &str)]| {
        query.verify(&Claim { headers: &[], query: &pairs(entries), path: &[], raw: b"" })
    };
    assert_eq!(claim(&[("t", "s3")]), Ok(()));
    assert!(claim(&[("t", "s3"), ("t", "s3")]).is_err());
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
    for verifier in [
        Verifier::Hmac(scheme("github").expect("a preset").with(secret())),
        Verifier::HeaderToken { header: "x-token".to_owned(), secrets: secret() },
        Verifier::QueryToken { parameter: "token".to_owned(), secrets: secret() },
        Verifier::Basic(secret()),
        Verifier::Bearer(secret()),
        Verifier::PathSecret { segment: "secret".to_owned(), secrets: secret() },
    ] {
        let proof = verifier.prove(b"body");
        let claim = Claim { headers: &proof.headers, query: &proof.query, path: &proof.path, raw: b"body" };
        assert_eq!(verifier.verify(&claim), Ok(()), "{verifier:?}");
    }
}
