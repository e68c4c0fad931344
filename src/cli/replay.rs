//! `hookbell replay`: recorded webhooks through the rules of today.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Error, Result};
use clap::Args;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::check;
use super::reach::{Reach, pieces};
use crate::outbox::{Browser, Entry, RecordedWebhook};
use crate::rules::compile::compile_folder;
use crate::rules::external::ProcessEnvironment;
use crate::rules::set::RuleSet;
use crate::server::api::{self, Ids};
use crate::server::{decide_again, replay};
use crate::words::counted;

/// Flags of `replay`.
#[derive(Debug, Args)]
#[command(
    after_help = "A gateway that runs replays by the rules it has in force; without one, and with --dry-run, the folder of rules counts.\nWhat is replayed replaces the earlier notifications on the phone (ntfy 2.16 and later)."
)]
pub(super) struct Arguments {
    /// Ids of webhooks, as their senders were answered
    #[arg(required = true, value_name = "WEBHOOK_ID")]
    ids: Vec<Uuid>,
    /// Send nothing: show how the notifications would differ from those of then
    #[arg(long)]
    dry_run: bool,
    /// The folder of rules
    #[arg(long, value_name = "DIR", env = "HOOKBELL_RULES", default_value = "rules")]
    rules: PathBuf,
    /// The folder of the store
    #[arg(long, value_name = "DIR", env = "HOOKBELL_DATA", default_value = "data")]
    data: PathBuf,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode> {
    if arguments.dry_run {
        return dry_run(arguments);
    }
    actix_web::rt::System::new().block_on(async {
        let results = match Reach::open(&arguments.data)? {
            Reach::Gateway(gateway) => {
                let mut results = Vec::new();
                for piece in pieces(&arguments.ids) {
                    let told = gateway.post("/api/replay", &Ids { ids: piece.to_vec() }).await?;
                    results.extend(told["results"].as_array().cloned().unwrap_or_default());
                    progress(results.len(), arguments.ids.len());
                }
                results
            }
            reach @ Reach::Store(..) => {
                let results = by_ourselves(&reach, arguments).await;
                reach.close().await;
                let Some(results) = results else { return Ok(ExitCode::FAILURE) };
                results
            }
        };
        Ok(tell(&results, arguments.json))
    })
}

/// Without a gateway: what is replayed is sent after the next start. `None` after mistakes in the rules.
async fn by_ourselves(reach: &Reach, arguments: &Arguments) -> Option<Vec<Value>> {
    let Reach::Store(outbox, _) = reach else { return None };
    let rules = compile(&arguments.rules)?;
    let mut results = Vec::new();
    for id in &arguments.ids {
        let replayed = match api::find(&arguments.data, *id) {
            Ok(recorded) => replay(&rules, outbox, recorded).await,
            Err(reason) => Err(reason),
        };
        results.push(match replayed {
            Ok(replayed) => json!(replayed),
            Err(error) => json!({ "webhook": id, "error": error }),
        });
        progress(results.len(), arguments.ids.len());
    }
    Some(results)
}

fn compile(folder: &Path) -> Option<RuleSet> {
    compile_folder(folder, &ProcessEnvironment)
        .map_err(|problems| eprint!("{}", check::report(&problems)))
        .ok()
}

fn progress(done: usize, all: usize) {
    if all > 100 && (done == all || done.is_multiple_of(100)) {
        eprintln!("replayed {done} of {all}");
    }
}

fn tell(results: &[Value], json: bool) -> ExitCode {
    if json {
        println!("{}", json!({ "results": results }));
    }
    for result in results.iter().filter(|_| !json) {
        let webhook = result["webhook"].as_str().unwrap_or_default();
        match result["error"].as_str() {
            Some(error) => println!("{webhook}  not replayed: {error}"),
            None => {
                let count = counted(result["notifications"].as_u64().unwrap_or(0), "notification");
                println!("{webhook}  {count}, as webhook {}", result["replay"].as_str().unwrap_or_default());
            }
        }
    }
    let failed = results.iter().any(|result| result.get("error").is_some());
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn dry_run(arguments: &Arguments) -> Result<ExitCode> {
    let Some(rules) = compile(&arguments.rules) else { return Ok(ExitCode::FAILURE) };
    let browser = Browser::open(&arguments.data)?;
    let (mut failed, mut differences) = (false, Vec::new());
    for id in &arguments.ids {
        let recorded = api::find(&arguments.data, *id);
        let then = browser.find(*id).map_err(Error::msg)?;
        match recorded.and_then(|recorded| Difference::of(&rules, &recorded, &then)) {
            Ok(difference) if arguments.json => differences.push(difference.json()),
            Ok(difference) => difference.print(),
            Err(error) => {
                failed = true;
                if arguments.json {
                    differences.push(json!({ "webhook": id, "error": error }));
                } else {
                    println!("webhook {id}: {error}");
                }
            }
        }
    }
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&json!({ "results": differences }))?);
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

type Fields = Map<String, Value>;

/// What a webhook became then, and what it would become now.
struct Difference {
    webhook: Uuid,
    rules: (Vec<String>, Vec<String>),
    /// Then and now, side by side in order.
    notifications: Vec<(Option<Fields>, Option<Fields>)>,
}

impl Difference {
    fn of(rules: &RuleSet, recorded: &RecordedWebhook, then: &[Entry]) -> Result<Self, String> {
        let (_, decision) = decide_again(rules, recorded)?;
        let before = recorded.verdict.as_ref().map(|verdict| verdict.rules.clone()).unwrap_or_default();
        let after = decision.matched.iter().map(ToString::to_string).collect();
        let then = then.iter().map(|entry| with_server(entry.payload.clone(), &entry.server));
        let now = decision
            .notifications
            .iter()
            .map(|planned| with_server(serde_json::to_value(&planned.notification).ok(), &planned.server));
        let (then, now): (Vec<_>, Vec<_>) = (then.collect(), now.collect());
        let pair = |index| (then.get(index).cloned(), now.get(index).cloned());
        let notifications = (0..then.len().max(now.len())).map(pair).collect();
        Ok(Self { webhook: recorded.id, rules: (before, after), notifications })
    }

    fn is_none(&self) -> bool {
        self.rules.0 == self.rules.1 && self.notifications.iter().all(|(then, now)| then == now)
    }

    fn print(&self) {
        println!("webhook {}", self.webhook);
        if self.is_none() {
            return println!("  no difference");
        }
        let (then, now) = (self.rules.0.join(", "), self.rules.1.join(", "));
        if then == now {
            println!("  rules: {then}");
        } else {
            println!("  rules\n  - {then}\n  + {now}");
        }
        for (index, (then, now)) in self.notifications.iter().enumerate() {
            println!("  notification {}", index + 1);
            for (name, before, after) in changes(then.as_ref(), now.as_ref()) {
                before.iter().for_each(|value| println!("  - {name}: {value}"));
                after.iter().for_each(|value| println!("  + {name}: {value}"));
            }
        }
    }

    fn json(&self) -> Value {
        let pair = |(then, now): &(Option<Fields>, Option<Fields>)| json!({ "then": then, "now": now });
        json!({
            "webhook": self.webhook,
            "differs": !self.is_none(),
            "rules": { "then": self.rules.0, "now": self.rules.1 },
            "notifications": self.notifications.iter().map(pair).collect::<Vec<_>>(),
        })
    }
}

/// Without the sequence id that the gateway adds by itself, and with the server, which is no field of ntfy's.
fn with_server(payload: Option<Value>, server: &str) -> Fields {
    let mut fields = match payload {
        Some(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    let added = |id: &str| Uuid::try_parse(id.get(..32).unwrap_or_default()).is_ok();
    if fields.get("sequence_id").and_then(Value::as_str).is_some_and(added) {
        fields.shift_remove("sequence_id");
    }
    fields.insert("server".to_owned(), server.into());
    fields
}

/// The fields that differ, with their values then and now.
fn changes<'a>(
    then: Option<&'a Fields>,
    now: Option<&'a Fields>,
) -> Vec<(&'a str, Option<&'a Value>, Option<&'a Value>)> {
    let of = |side: Option<&'a Fields>, name: &str| side.and_then(|fields| fields.get(name));
    let mut names: Vec<&str> = then.into_iter().chain(now).flat_map(Map::keys).map(String::as_str).collect();
    let mut seen = std::collections::HashSet::new();
    names.retain(|name| seen.insert(*name));
    let differing = names.into_iter().map(|name| (name, of(then, name), of(now, name)));
    differing.filter(|(_, before, after)| before != after).collect()
}
