//! The fake ntfy as a program, for load runs and for trying things by hand.

use std::time::Duration;

use clap::Parser;
use fake_ntfy::{Behaviour, FakeNtfy, Limits, Options};

/// A strict stand-in for an ntfy server. Look in at /stats and /messages, change it with POST /behaviour.
#[derive(Parser)]
struct Flags {
    /// Address to listen on
    #[arg(long, default_value = "127.0.0.1")]
    host: String,
    /// Port to listen on; 0 takes a free one
    #[arg(long, default_value_t = 8090)]
    port: u16,
    /// How long every answer takes, in milliseconds
    #[arg(long, default_value_t = 0)]
    latency_ms: u64,
    /// Share of requests that fail, 0.0 to 1.0
    #[arg(long, default_value_t = 0.0)]
    failure_rate: f64,
    /// Status of a random failure
    #[arg(long, default_value_t = 500)]
    failure_status: u16,
    /// ntfy's five-digit code of a random failure; the status and 01 unless given
    #[arg(long)]
    failure_code: Option<u32>,
    /// Answer every request with this status
    #[arg(long)]
    status: Option<u16>,
    /// ntfy's five-digit code that goes with --status; the status and 01 unless given
    #[arg(long, requires = "status")]
    code: Option<u32>,
    /// Read requests and never answer
    #[arg(long)]
    hang: bool,
    /// Close connections without an answer
    #[arg(long)]
    close: bool,
    /// The Authorization value every request must carry
    #[arg(long)]
    require_authorization: Option<String>,
    /// Close connections idle for this many milliseconds
    #[arg(long)]
    keep_alive_ms: Option<u64>,
    /// Answer errors with HTML, as a proxy does
    #[arg(long)]
    html: bool,
    /// Seconds for a Retry-After header on errors
    #[arg(long)]
    retry_after: Option<u64>,
    /// Limit requests, messages, topics and failed authorizations as ntfy does by default
    #[arg(long)]
    limits: bool,
    /// Virtual seconds in a real second, for the limits
    #[arg(long, requires = "limits", default_value_t = 1)]
    speed: u32,
    /// How many messages are remembered
    #[arg(long, default_value_t = 100_000)]
    keep: usize,
}

impl Flags {
    fn behaviour(&self) -> Behaviour {
        let code = |status: u16| u32::from(status) * 100 + 1;
        Behaviour {
            latency: Duration::from_millis(self.latency_ms),
            failure_rate: self.failure_rate,
            failure_status: self.failure_status,
            failure_code: self.failure_code.unwrap_or(code(self.failure_status)),
            status: self.status.map(|status| (status, self.code.unwrap_or(code(status)))),
            hang: self.hang,
            close: self.close,
            require_authorization: self.require_authorization.clone(),
            keep_alive: self.keep_alive_ms.map(Duration::from_millis),
            html: self.html,
            retry_after: self.retry_after,
            limits: self.limits.then(|| Limits { speed: self.speed, ..Limits::default() }),
            ..Behaviour::default()
        }
    }
}

fn main() {
    let flags = Flags::parse();
    let behaviour = flags.behaviour();
    let options = Options { host: flags.host.clone(), port: Some(flags.port), behaviour, keep: flags.keep };
    let server = FakeNtfy::start(options);
    println!("fake ntfy listens on {}:{}", flags.host, server.port());
    loop {
        // The server has its own threads; this one only keeps the program alive until a signal ends it.
        std::thread::park();
    }
}
