//! `outbox retry` and `drop`.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use serde_json::json;
use uuid::Uuid;

use crate::cli::reach::{Reach, pieces};
use crate::clock::unix_ms;
use crate::outbox::{DeadFilter, Reached};
use crate::server::api::Met;
use crate::words::counted;

pub(super) fn retry(data: &Path, ids: &[Uuid], json: bool) -> Result<ExitCode> {
    within_system(async {
        let reach = Reach::open(data)?;
        let mut met = Vec::new();
        for piece in pieces(ids) {
            met.extend(reach.retry(piece).await?);
            progress("asked for", met.len(), ids.len());
        }
        Ok(finish(reach, &met, json, "waits to be sent").await)
    })
}

pub(super) fn discard(data: &Path, ids: &[Uuid], json: bool) -> Result<ExitCode> {
    within_system(async {
        let reach = Reach::open(data)?;
        let mut met = Vec::new();
        for piece in pieces(ids) {
            met.extend(reach.discard(piece).await?);
            progress("asked for", met.len(), ids.len());
        }
        Ok(finish(reach, &met, json, "dropped").await)
    })
}

pub(super) fn retry_dead(
    data: &Path,
    since: Option<i64>,
    source: Option<&str>,
    json: bool,
) -> Result<ExitCode> {
    within_system(async {
        let reach = Reach::open(data)?;
        let filter = DeadFilter { source: source.map(str::to_owned), since, before: unix_ms() };
        let mut total = 0;
        loop {
            let count = reach.retry_dead(&filter).await?;
            if count == 0 {
                break;
            }
            if total > 0 {
                eprintln!("{} so far", total + count);
            }
            total += count;
        }
        if json {
            println!("{}", json!({ "retried": total }));
        } else {
            println!("{} to be sent once more{}", counted(total, "dead notification"), later(&reach));
        }
        reach.close().await;
        Ok(ExitCode::SUCCESS)
    })
}

fn within_system(work: impl Future<Output = Result<ExitCode>>) -> Result<ExitCode> {
    actix_web::rt::System::new().block_on(work)
}

/// Long work says how far it is.
fn progress(what: &str, done: usize, all: usize) {
    if all > crate::server::api::MOST_IDS {
        eprintln!("{what} {done} of {all}");
    }
}

/// Says what came of each; fails when one of them could not be reached.
async fn finish(reach: Reach, met: &[Met], json: bool, done: &str) -> ExitCode {
    if json {
        println!("{}", json!({ "results": met }));
    } else {
        met.iter().for_each(|one| println!("{}  {}", one.id, in_words(one.result, done, later(&reach))));
    }
    reach.close().await;
    let failed = met.iter().any(|one| matches!(one.result, Reached::Unknown | Reached::UnderWay));
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn in_words(result: Reached, done: &str, later: &str) -> String {
    match result {
        Reached::Done => format!("{done}{later}"),
        Reached::UnderWay => "is being sent right now; ask again".to_owned(),
        Reached::Delivered => "was delivered already; `hookbell replay` sends its webhook anew".to_owned(),
        Reached::Dropped => "was dropped already".to_owned(),
        Reached::Unknown => {
            "is no notification of this store; `hookbell outbox show` tells those of a webhook".to_owned()
        }
    }
}

fn later(reach: &Reach) -> &'static str {
    if reach.is_running() { "" } else { "; no gateway runs, it happens after the next start" }
}
