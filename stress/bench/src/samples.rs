//! The webhooks that are sent: the samples beside the rules, and a finished notification.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::Value;
use sha2::Sha256;

use crate::mix::Kind;
use crate::request::{ID, Request, places};

/// What a notification of the gateway's looks like on its way to ntfy.
const NOTIFICATION: &str = include_str!("notification.json");

pub(crate) struct Samples<'a> {
    pub(crate) folder: &'a Path,
    pub(crate) secret: &'a str,
}

impl Samples<'_> {
    /// The mix of the stress runs: what Coolify and GitHub send, and what is refused.
    pub(crate) fn seed(&self) -> Result<Vec<Kind>> {
        let failed = self.coolify("deployment_failed")?;
        let run = "workflow_run_completed_failure";
        let cut =
            Request { body: failed.body[..failed.body.len() / 2].to_vec(), ids: vec![], ..failed.clone() };
        Ok(vec![
            kind("coolify ok", 5, 200, self.coolify("deployment_success")?),
            kind("coolify failed", 2, 200, failed),
            kind("coolify malformed", 1, 400, cut),
            kind("github workflow_run", 5, 200, self.github(run, self.secret)?),
            kind("github deployment_status", 3, 200, self.github("deployment_status_success", self.secret)?),
            kind("github ping", 1, 200, self.github("ping", self.secret)?),
            kind("github ignored", 1, 200, self.github("watch_started", self.secret)?),
            kind("github wrong signature", 1, 401, self.github(run, "another secret")?),
        ])
    }

    /// A sample by its path, as its sender would send it.
    pub(crate) fn alone(&self, name: &str) -> Result<Kind> {
        let name = name.trim_end_matches(".json");
        let (sender, event) = name.split_once('/').context("a sample is named SENDER/EVENT")?;
        let request = match sender {
            "coolify" => self.coolify(event)?,
            "github" => self.github(event, self.secret)?,
            _ => Request { path: format!("/hooks/{sender}"), ..self.read(name)? },
        };
        Ok(kind(name, 1, 200, request))
    }

    fn coolify(&self, event: &str) -> Result<Request> {
        let request = self.read(&format!("coolify/{event}"))?;
        let body: Value = serde_json::from_slice(&request.body)?;
        let id = body["deployment_uuid"].as_str().unwrap_or_default();
        ensure!(id.len() == ID, "coolify/{event} has no deployment_uuid of {ID} characters");
        let ids = places(&request.body, id.as_bytes());
        Ok(Request { path: format!("/hooks/coolify/{}", self.secret), ids, ..request })
    }

    /// The signature is of the body alone, which is the same in each: it is made once.
    fn github(&self, event: &str, secret: &str) -> Result<Request> {
        let mut request = self.read(&format!("github/{event}"))?;
        let own = |name: &str| name == "X-GitHub-Delivery" || name.starts_with("X-Hub-Signature");
        request.headers.retain(|(name, _)| !own(name));
        let signature = format!("sha256={}", hmac(secret, &request.body));
        request.headers.push(("X-Hub-Signature-256".into(), signature));
        Ok(Request { path: "/hooks/github".into(), id_header: Some("X-GitHub-Delivery"), ..request })
    }

    fn read(&self, name: &str) -> Result<Request> {
        let read = |end: &str| {
            let file = self.folder.join(format!("{name}.{end}"));
            std::fs::read(&file).with_context(|| format!("cannot read {}", file.display()))
        };
        let headers = String::from_utf8(read("headers")?)?;
        let headers = headers.lines().filter(|line| !line.is_empty()).map(header).collect::<Result<_>>()?;
        Ok(Request { headers, body: read("json")?, ..Request::default() })
    }
}

pub(crate) fn kind(name: &str, weight: u32, right: u16, request: Request) -> Kind {
    Kind { name: name.into(), weight, right, request }
}

pub(crate) fn header(line: &str) -> Result<(String, String)> {
    let (name, value) = line.split_once(':').with_context(|| format!("no header: {line}"))?;
    Ok((name.trim().into(), value.trim().into()))
}

pub(crate) fn json_type() -> (String, String) {
    ("Content-Type".into(), "application/json".into())
}

fn hmac(secret: &str, body: &[u8]) -> String {
    let mut hmac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("HMAC takes keys of any length");
    hmac.update(body);
    HEXLOWER.encode(&hmac.finalize().into_bytes())
}

/// The finished notification, which a proxy passes on.
pub(crate) fn notification() -> Kind {
    let body = NOTIFICATION.trim_end().as_bytes().to_vec();
    kind(
        "notification",
        1,
        200,
        Request { path: "/".into(), headers: vec![json_type()], body, ..Request::default() },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples() -> Samples<'static> {
        Samples {
            folder: Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../rules/samples")),
            secret: "s",
        }
    }

    #[test]
    fn the_signature_is_the_one_that_github_documents() {
        let expected = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        assert_eq!(hmac("It's a Secret to Everybody", b"Hello, World!"), expected);
    }

    #[test]
    fn the_seed_has_its_shares_and_its_right_answers() {
        let seed = samples().seed().unwrap();
        let shares: Vec<_> = seed.iter().map(|kind| (kind.weight, kind.right)).collect();
        let (ok, bad) = (200, 400);
        assert_eq!(shares, [(5, ok), (2, ok), (1, bad), (5, ok), (3, ok), (1, ok), (1, ok), (1, 401)]);
        let parse = |kind: &Kind| serde_json::from_slice::<Value>(&kind.request.body).is_ok();
        assert!(seed.iter().all(|kind| parse(kind) == (kind.right != bad)));
        assert!(seed.iter().all(|kind| kind.right != ok
            || kind.request.id_header.is_some()
            || !kind.request.ids.is_empty()));
    }

    #[test]
    fn only_the_wrong_signature_is_wrong() {
        let signature = |kind: &Kind| {
            let found = kind.request.headers.iter().find(|(name, _)| name == "X-Hub-Signature-256");
            found.map(|(_, value)| *value == format!("sha256={}", hmac("s", &kind.request.body)))
        };
        let seed = samples().seed().unwrap();
        let signed: Vec<_> = seed.iter().filter_map(signature).collect();
        assert_eq!(signed, [true, true, true, true, false]);
    }
}
