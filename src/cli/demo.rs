//! `hookbell demo`: the gateway on the shipped rules, with secrets and a store to throw away, and the shipped
//! samples posted to it over real HTTP.

mod sample;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use clap::{Args, Parser};
use tokio::sync::mpsc;

use self::sample::Sample;
use super::serve::{Loaded, Running};
use super::{Cli, card, check};
use crate::delivery::{DeliveryEvent, Observer, Outcome};
use crate::reload::Snapshot;
use crate::rules::compile::compile_folder;
use crate::rules::external::{Environment, ProcessEnvironment};
use crate::rules::live::Live;
use crate::rules::set::RuleSet;

/// How long to wait for one webhook's notifications.
const PATIENCE: Duration = Duration::from_secs(10);

/// Flags of `demo`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The folder of rules, with samples/<source>/*.json in it
    #[arg(value_name = "DIR", default_value = "rules")]
    rules: PathBuf,
    /// Only the samples of this source
    #[arg(long, value_name = "NAME")]
    source: Option<String>,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let environment = Arc::new(ThrowAway::default());
    let set = match compile_folder(&arguments.rules, environment.as_ref()) {
        Ok(set) => set,
        Err(problems) => {
            eprint!("{}", check::report(&problems));
            return Ok(ExitCode::FAILURE);
        }
    };
    let samples = sample::find(&arguments.rules, &set, arguments.source.as_deref())?;
    let prints = set.targets().is_empty();
    let data = std::env::temp_dir().join(format!("hookbell-demo-{}", std::process::id()));
    let result =
        actix_web::rt::System::new().block_on(show(arguments, environment, set, &samples, &data, prints));
    let _ = std::fs::remove_dir_all(&data);
    result
}

async fn show(
    arguments: &Arguments,
    environment: Arc<ThrowAway>,
    set: RuleSet,
    samples: &[Sample],
    data: &Path,
    prints: bool,
) -> Result<ExitCode> {
    let (sender, mut events) = mpsc::unbounded_channel();
    let observer: Observer = Arc::new(move |event: &DeliveryEvent<'_>| {
        let _ = sender.send(Arrival::of(event));
    });
    let live = Arc::new(Live::new(set));
    let loaded = Loaded { live: live.clone(), compiled_from: Snapshot::of(&arguments.rules), environment };
    let gateway = Running::start(&settings(&arguments.rules, data), loaded, Some(observer))?;
    let way = if prints { "printed here" } else { "sent to NTFY_URL" };
    anstream::println!("A gateway on http://{}; notifications are {way}.\n", gateway.address);
    let client = awc::Client::default();
    let mut summary = Summary::default();
    for sample in samples {
        let set = live.current();
        // Said first: the gateway may print the notification before it has answered.
        anstream::println!("\x1b[2m{} {}\x1b[0m", sample.source, sample.name);
        let expected = sample.post(&client, gateway.address, &set).await?;
        summary.posted += 1;
        if expected == 0 {
            anstream::println!("\x1b[2m  dropped by rule or unmatched\x1b[0m\n");
            summary.quiet += 1;
        }
        for _ in 0..expected {
            let arrival = tokio::time::timeout(PATIENCE, events.recv()).await;
            summary.count(arrival.ok().flatten(), prints);
        }
    }
    gateway.stop().await;
    Ok(summary.print())
}

/// Nothing of the demo may meet a gateway that runs for real.
fn settings(rules: &Path, data: &Path) -> crate::settings::Settings {
    let rules = rules.as_os_str().to_owned();
    let data = data.as_os_str().to_owned();
    let flags: [std::ffi::OsString; 11] = [
        "hookbell".into(),
        "--rules".into(),
        rules,
        "--data".into(),
        data,
        "--listen".into(),
        "127.0.0.1:0".into(),
        "--admin".into(),
        "127.0.0.1:0".into(),
        "--watch".into(),
        "off".into(),
    ];
    Cli::parse_from(flags).settings
}

/// The end of one attempt, as the demo shows it.
struct Arrival {
    notification: serde_json::Value,
    failure: Option<String>,
}

impl Arrival {
    fn of(event: &DeliveryEvent<'_>) -> Self {
        let failure = match event.outcome {
            Outcome::Delivered { .. } => None,
            Outcome::Retried { reason, .. } | Outcome::Dead { reason } => Some(reason.to_owned()),
        };
        Self { notification: serde_json::from_str(event.payload).unwrap_or_default(), failure }
    }
}

#[derive(Default)]
struct Summary {
    posted: usize,
    delivered: usize,
    quiet: usize,
    failed: usize,
}

impl Summary {
    fn count(&mut self, arrival: Option<Arrival>, printed_already: bool) {
        match arrival {
            Some(Arrival { failure: None, notification }) => {
                self.delivered += 1;
                if !printed_already {
                    anstream::println!("{}", card::draw(&notification));
                }
            }
            Some(Arrival { failure: Some(reason), .. }) => {
                self.failed += 1;
                anstream::println!("  not delivered: {reason}\n");
            }
            None => {
                self.failed += 1;
                anstream::println!("  not delivered within {} seconds\n", PATIENCE.as_secs());
            }
        }
    }

    fn print(&self) -> ExitCode {
        anstream::println!(
            "{} webhooks posted: {} notifications delivered, {} webhooks quiet on purpose, {} notifications failed",
            self.posted,
            self.delivered,
            self.quiet,
            self.failed
        );
        if self.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

/// The environment of the process, in which every value that is needed and not set is made up.
#[derive(Default)]
struct ThrowAway(Mutex<BTreeMap<String, String>>);

impl Environment for ThrowAway {
    fn variable(&self, name: &str) -> Option<String> {
        ProcessEnvironment.variable(name)
    }

    fn required(&self, name: &str) -> Option<String> {
        let made_up = || uuid::Uuid::now_v7().simple().to_string();
        let known = || Some(self.0.lock().ok()?.entry(name.to_owned()).or_insert_with(made_up).clone());
        self.variable(name).or_else(known)
    }
}

/// The number of notifications a gateway says it made of a webhook.
fn notifications_of(answer: &serde_json::Value) -> Result<usize> {
    let count = answer["notifications"].as_u64().ok_or_else(|| anyhow!("unexpected answer {answer}"))?;
    usize::try_from(count).context("too many notifications")
}
