//! Flags and environment: what the process is. What it does is in the rules folder.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use bytesize::ByteSize;
use clap::{Args, ValueEnum};
use ipnet::IpNet;

use crate::logging::Format;
use crate::reload::Watch;
use crate::server::{DESCRIPTORS_BY_CONNECTION, Limits};

/// Flags of `serve`. Each is also in the environment, as `HOOKBELL_…`.
#[derive(Debug, Clone, Args)]
pub struct Settings {
    /// The folder of rules: every *.yaml in it, except in tests/ and samples/
    #[arg(long, env = "HOOKBELL_RULES", value_name = "DIR", default_value = "rules")]
    pub rules: PathBuf,
    /// Where webhooks are taken; may be given several times
    #[arg(
        long,
        env = "HOOKBELL_LISTEN",
        value_name = "ADDR",
        default_value = "0.0.0.0:8085",
        value_delimiter = ','
    )]
    pub listen: Vec<SocketAddr>,
    /// Proxies whose word on the sender's address counts (X-Forwarded-For), as networks; may be given several times
    #[arg(long, env = "HOOKBELL_TRUSTED_PROXY", value_name = "CIDR", value_delimiter = ',', value_parser = parse_network)]
    pub trusted_proxy: Vec<IpNet>,
    /// Where health, metrics and reload are served
    #[arg(long, env = "HOOKBELL_ADMIN", value_name = "ADDR", default_value = "127.0.0.1:9090")]
    pub admin: SocketAddr,
    /// The folder of the store
    #[arg(long, env = "HOOKBELL_DATA", value_name = "DIR", default_value = "data")]
    pub data: PathBuf,
    /// How long delivered and dead notifications and received webhooks are kept
    #[arg(long, env = "HOOKBELL_KEEP", value_name = "TIME", default_value = "7d", value_parser = parse_duration)]
    pub keep: Duration,
    /// How large the store may grow before received webhooks and delivered notifications go, the oldest first
    #[arg(long, env = "HOOKBELL_KEEP_SIZE", value_name = "SIZE", default_value = "256MiB", value_parser = parse_size)]
    pub keep_size: usize,
    /// Rename a store that is damaged or not Hookbell's, and begin a new one
    #[arg(long, env = "HOOKBELL_SET_STORE_ASIDE")]
    pub set_store_aside: bool,
    /// The largest body, also after unpacking
    #[arg(long, env = "HOOKBELL_MAX_BODY", value_name = "SIZE", default_value = "1MiB", value_parser = parse_size)]
    pub max_body: usize,
    /// The most connections that senders may hold open
    #[arg(long, env = "HOOKBELL_MAX_CONNECTIONS", value_name = "N", default_value_t = 4096, value_parser = clap::value_parser!(u32).range(1..))]
    pub max_connections: u32,
    /// Until a request's head must be complete
    #[arg(long, env = "HOOKBELL_HEAD_TIMEOUT", value_name = "TIME", default_value = "5s", value_parser = parse_duration)]
    pub head_timeout: Duration,
    /// Until a request's body must be complete
    #[arg(long, env = "HOOKBELL_BODY_TIMEOUT", value_name = "TIME", default_value = "30s", value_parser = parse_duration)]
    pub body_timeout: Duration,
    /// How long a connection may idle between requests
    #[arg(long, env = "HOOKBELL_KEEP_ALIVE", value_name = "TIME", default_value = "60s", value_parser = parse_duration)]
    pub keep_alive: Duration,
    /// How long a stop waits for requests and deliveries in flight [Docker kills after 10s]
    #[arg(long, env = "HOOKBELL_GRACE", value_name = "TIME", default_value = "8s", value_parser = parse_duration)]
    pub grace: Duration,
    /// Threads that take webhooks [default: one per core]
    #[arg(long, env = "HOOKBELL_WORKERS", value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub workers: Option<u16>,
    /// How changes of the rules are noticed
    #[arg(long, env = "HOOKBELL_WATCH", value_name = "HOW", default_value = "notify")]
    pub watch: WatchArg,
    /// Refuse rules whose own test cases fail, at the start and at each reload
    #[arg(long, env = "HOOKBELL_REQUIRE_TESTS")]
    pub require_tests: bool,
    /// How log lines look
    #[arg(long, env = "HOOKBELL_LOG_FORMAT", value_name = "FORMAT", default_value = "text")]
    pub log_format: LogFormatArg,
}

/// `--watch`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum WatchArg {
    /// The operating system tells
    Notify,
    /// The folder is looked at every second: for network file systems
    Poll,
    /// Only on SIGHUP and POST /-/reload
    Off,
}

/// `--log-format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormatArg {
    /// For people
    Text,
    /// One JSON object a line
    Json,
}

impl From<WatchArg> for Watch {
    fn from(watch: WatchArg) -> Self {
        match watch {
            WatchArg::Notify => Self::Notify,
            WatchArg::Poll => Self::Poll,
            WatchArg::Off => Self::Off,
        }
    }
}

impl From<LogFormatArg> for Format {
    fn from(format: LogFormatArg) -> Self {
        match format {
            LogFormatArg::Text => Self::Text,
            LogFormatArg::Json => Self::Json,
        }
    }
}

impl Settings {
    /// What a sender may ask for, when the process may open `files` file descriptors.
    pub fn limits(&self, files: u64) -> Limits {
        /// For the store, the log, the runtime and the connections to ntfy.
        const RESERVED_FILES: u64 = 64;
        let affordable = (files.saturating_sub(RESERVED_FILES) / DESCRIPTORS_BY_CONNECTION).max(1);
        let connections = u64::from(self.max_connections).min(affordable);
        Limits {
            body: self.max_body,
            head_time: self.head_timeout,
            body_time: self.body_timeout,
            keep_alive: self.keep_alive,
            connections: usize::try_from(connections).unwrap_or(usize::MAX),
            grace: self.grace,
        }
    }

    /// Threads that take webhooks.
    pub fn workers(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
        self.workers.map_or_else(cores, usize::from)
    }
}

fn parse_network(text: &str) -> Result<IpNet, String> {
    let network = text.parse::<IpNet>().or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
    network.map_err(|_| format!("expected a network such as 10.0.0.0/8 or ::1, found {text:?}"))
}

fn parse_duration(text: &str) -> Result<Duration, String> {
    crate::rules::parse_duration(text)
        .ok_or_else(|| format!("expected a duration such as 10s, 5m or 7d, found {text:?}"))
}

fn parse_size(text: &str) -> Result<usize, String> {
    let explain = || format!("expected a size such as 512KiB or 1MiB, found {text:?}");
    let size: ByteSize = text.trim().parse().map_err(|_| explain())?;
    usize::try_from(size.as_u64()).ok().filter(|size| *size > 0).ok_or_else(explain)
}
