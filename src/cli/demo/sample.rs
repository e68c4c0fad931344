//! The samples beside the rules: a body and, in a `.headers` file, what came with it.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use awc::Client;

use crate::auth::Claim;
use crate::cli::explain::parse_header;
use crate::clock::unix_ms;
use crate::rules::set::RuleSet;
use crate::rules::source::Source;
use crate::server::NOTIFICATIONS;

/// Headers that the client sets itself, or that must fit the secret.
const NOT_SENT: [&str; 6] =
    ["host", "content-length", "connection", "x-hub-signature", "x-hub-signature-256", "accept-encoding"];

/// One recorded webhook.
pub(super) struct Sample {
    /// The source's name.
    pub(super) source: String,
    /// The file's name.
    pub(super) name: String,
    body: Vec<u8>,
    headers: Vec<(String, String)>,
}

/// The samples of every source that is on, in order.
pub(super) fn find(rules: &Path, set: &RuleSet, only: Option<&str>) -> Result<Vec<Sample>> {
    let mut samples = Vec::new();
    for source in set.sources().iter().filter(|source| only.is_none_or(|only| only == source.name)) {
        let folder = rules.join("samples").join(&source.name);
        for path in bodies_in(&folder) {
            samples.push(read(source, &path)?);
        }
    }
    if samples.is_empty() {
        let folder = rules.join("samples").display().to_string();
        bail!(
            "no samples in {folder:?}: put bodies there as SOURCE/NAME.json, and headers as SOURCE/NAME.headers"
        );
    }
    Ok(samples)
}

fn bodies_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.is_file() && path.extension().is_some_and(|extension| extension != "headers"));
    paths.sort();
    paths
}

fn read(source: &Source, path: &Path) -> Result<Sample> {
    let body = fs::read(path).with_context(|| format!("cannot read {:?}", path.display().to_string()))?;
    let headers = fs::read_to_string(path.with_extension("headers")).unwrap_or_default();
    let lines = headers.lines().filter(|line| !line.trim().is_empty());
    let mut headers = lines.map(parse_header).collect::<Result<Vec<_>>>()?;
    headers.retain(|(name, _)| !NOT_SENT.contains(&name.as_str()));
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Sample { source: source.name.clone(), name, body, headers })
}

impl Sample {
    /// Posts it as its sender would, and returns how many notifications the gateway made of it.
    pub(super) async fn post(&self, client: &Client, gateway: SocketAddr, set: &RuleSet) -> Result<usize> {
        let source = set
            .sources()
            .iter()
            .find(|source| source.name == self.source)
            .ok_or_else(|| anyhow!("source {:?} is gone", self.source))?;
        let claim = Claim {
            headers: &[],
            query: &[],
            path: &[],
            raw: &self.body,
            target: &source.path,
            now_ms: unix_ms(),
            through_proxy: false,
        };
        let proof = source.verifier.as_ref().map(|verifier| verifier.prove(&claim)).unwrap_or_default();
        let mut url = format!("http://{gateway}{}", source.path);
        for (name, value) in &proof.path {
            url = url.replace(&format!("{{{name}}}"), value);
        }
        let query: String =
            form_urlencoded::Serializer::new(String::new()).extend_pairs(&proof.query).finish();
        if !query.is_empty() {
            url = format!("{url}?{query}");
        }
        let mut request = client.post(url);
        for (name, value) in self.headers.iter().chain(&proof.headers) {
            request = request.insert_header((name.as_str(), value.as_str()));
        }
        let mut answer = request
            .send_body(self.body.clone())
            .await
            .map_err(|error| anyhow!("cannot post {}: {error}", self.name))?;
        let body =
            answer.body().await.map_err(|error| anyhow!("unreadable answer to {}: {error}", self.name))?;
        if !answer.status().is_success() {
            let told = String::from_utf8_lossy(&body);
            bail!("{} {}: the gateway answered {} {told}", self.source, self.name, answer.status());
        }
        match answer.headers().get(NOTIFICATIONS) {
            Some(count) => Ok(count.to_str()?.parse()?),
            None => super::notifications_of(&serde_json::from_slice(&body)?),
        }
    }
}
