//! What is asked for on the command line.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use clap::{Parser, ValueEnum};

use crate::load::{Manner, Plan};
use crate::mix::Mix;
use crate::samples::{self, Samples};
use crate::sized;

/// Sends webhooks to a gateway, or the same bytes to a proxy, and tells the rate, the latency and the wrong answers.
/// Loopback only. Ends with 1 when an answer was wrong or missing.
#[derive(Parser)]
pub(crate) struct Flags {
    /// Where to send: http://127.0.0.1:PORT
    #[arg(long)]
    url: String,
    /// Which answers are right: a gateway's, or 200 to everything
    #[arg(long, value_enum, default_value_t = Target::Gateway)]
    target: Target,
    /// Send this sample alone, such as github/workflow_run_completed_failure, in place of the mix of Coolify and GitHub
    #[arg(long, conflicts_with_all = ["body_size", "notification"])]
    sample: Option<String>,
    /// Send JSON bodies of this many bytes to --path
    #[arg(long, requires = "path", conflicts_with = "notification")]
    body_size: Option<usize>,
    /// Send a finished notification, as the gateway sends it to ntfy
    #[arg(long)]
    notification: bool,
    /// Send to this path, whatever the webhook's own is; the last one counts
    #[arg(long, overrides_with = "path")]
    path: Option<String>,
    /// Add this header to bodies of --body-size: "Name: value"; may be given several times
    #[arg(long, requires = "body_size")]
    header: Vec<String>,
    /// The secret of both sources
    #[arg(long, default_value = "stress-secret-of-32-characters!!")]
    secret: String,
    /// The folder of samples
    #[arg(long, default_value = "rules/samples")]
    samples: PathBuf,
    /// The most connections, all kept alive
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..=16_384))]
    connections: u16,
    /// How long to send
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u64).range(1..=7200))]
    seconds: u64,
    /// Send this many a second, whatever the answers take; latency then counts from when a request was due
    #[arg(long, conflicts_with = "idle", value_parser = clap::value_parser!(u32).range(1..=200_000))]
    rate: Option<u32>,
    /// Send one request on every connection, then only hold them open
    #[arg(long)]
    idle: bool,
    /// Seconds until an answer is given up
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u64).range(1..=120))]
    timeout: u64,
    /// Write the figures here, as JSON
    #[arg(long)]
    pub(crate) json: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Target {
    Gateway,
    Proxy,
}

impl Flags {
    pub(crate) fn plan(&self) -> Result<Plan> {
        let manner = match self.rate {
            Some(rate) => Manner::Open { rate },
            None if self.idle => Manner::Idle,
            None => Manner::Closed,
        };
        Ok(Plan {
            target: loopback(&self.url)?,
            manner,
            connections: self.connections.into(),
            length: Duration::from_secs(self.seconds),
            timeout: Duration::from_secs(self.timeout),
        })
    }

    pub(crate) fn mix(&self) -> Result<Mix> {
        let samples = Samples { folder: &self.samples, secret: &self.secret };
        let mut kinds = match (&self.sample, self.body_size, &self.path) {
            (Some(name), ..) => vec![samples.alone(name)?],
            (None, Some(size), Some(path)) => vec![sized::sized(path, &self.header, size)?],
            _ if self.notification => vec![samples::notification()],
            _ => samples.seed()?,
        };
        for kind in &mut kinds {
            if self.target == Target::Proxy {
                kind.right = 200;
            }
            if let Some(path) = &self.path {
                ensure!(path.starts_with('/') && !path.contains(char::is_whitespace), "no path: {path}");
                kind.request.path.clone_from(path);
            }
        }
        Mix::new(kinds, &self.url)
    }
}

/// The address of a URL, which must be this machine: a load generator is not let loose on others.
fn loopback(url: &str) -> Result<SocketAddr> {
    let host = url.strip_prefix("http://").context("the URL must begin with http://")?.trim_end_matches('/');
    let address = match host.strip_prefix("localhost:") {
        Some(port) => port.parse().map(|port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port)).ok(),
        None => host.parse().ok(),
    };
    match address {
        Some(address) if address.ip().is_loopback() => Ok(address),
        _ => bail!("{url} is not http://ADDRESS:PORT with an address of loopback"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_is_a_target() {
        let good = ["http://127.0.0.1:80", "http://127.9.9.9:80/", "http://[::1]:80", "http://localhost:80"];
        assert!(good.iter().all(|url| loopback(url).is_ok()));
        let bad = [
            "http://192.0.2.1:80",
            "http://0.0.0.0:80",
            "http://example.com:80",
            "http://localhost.example.com:80",
            "http://127.0.0.1",
            "http://127.0.0.1:80/hooks",
            "https://127.0.0.1:80",
            "127.0.0.1:80",
        ];
        assert_eq!(bad.iter().find(|url| loopback(url).is_ok()), None);
    }
}
