//! The operators' listener: health, readiness, metrics, reload.

use std::path::PathBuf;
use std::sync::Arc;

use actix_web::http::header::{CONTENT_TYPE, HeaderValue};
use actix_web::web::{self, Data, ServiceConfig};
use actix_web::{HttpResponse, Responder};
use serde_json::{Value, json};

use super::Gateway;
use crate::delivery::{Board, Condition};
use crate::outbox::unix_ms;
use crate::problem::Problem;
use crate::reload::Reload;

/// What operators can see and do.
#[derive(Debug)]
pub struct Admin {
    /// The gateway.
    pub gateway: Arc<Gateway>,
    /// Reloads its rules.
    pub reload: Reload,
    /// How the servers are.
    pub board: Arc<Board>,
    /// The folder of the store.
    pub data: PathBuf,
}

pub(super) fn routes(config: &mut ServiceConfig) {
    config
        .route("/healthz", web::get().to(health))
        .route("/readyz", web::get().to(ready))
        .route("/metrics", web::get().to(metrics))
        .route("/-/reload", web::post().to(reload));
}

/// The process answers.
async fn health() -> impl Responder {
    HttpResponse::Ok().json(json!({ "status": "ok" }))
}

/// 200 when webhooks can be taken, 503 when the store cannot be written. Stale rules serve, and are said.
async fn ready(admin: Data<Admin>) -> impl Responder {
    let store = admin.gateway.outbox.probe().await;
    let status = if store.is_ok() { 200 } else { 503 };
    let status = actix_web::http::StatusCode::from_u16(status).unwrap_or_default();
    HttpResponse::build(status).json(json!({
        "ready": store.is_ok(),
        "rules": rules(&admin),
        "servers": servers(&admin),
        "store": match store {
            Ok(()) => json!({ "writable": true }),
            Err(error) => json!({ "writable": false, "error": error.to_string() }),
        },
    }))
}

fn rules(admin: &Admin) -> Value {
    let set = admin.gateway.live.current();
    let off = |off: &crate::rules::set::Off| json!({ "source": off.source.name, "waits_for": off.waits_for });
    json!({
        "rules": set.rule_count(),
        "sources": set.sources().iter().map(|source| source.name.as_str()).collect::<Vec<_>>(),
        "off": set.off().iter().map(off).collect::<Vec<_>>(),
        "stale": admin.gateway.live.stale().map(|stale| json!({
            "since": jiff::Timestamp::from_millisecond(stale.since).unwrap_or_default().to_string(),
            "mistakes": stale.problems.iter().map(mistake).collect::<Vec<_>>(),
        })),
    })
}

/// What notifications were sent to so far, and what it takes now.
fn servers(admin: &Admin) -> Value {
    let time = |ms: i64| jiff::Timestamp::from_millisecond(ms).unwrap_or_default().to_string();
    let condition = |Condition { trouble, refused_topics }: Condition| match trouble {
        None => json!({ "state": "open", "refused_topics": refused_topics }),
        Some(trouble) => json!({
            "state": trouble.why.name(),
            "since": time(trouble.since),
            "next_attempt": time(trouble.until),
            "reason": trouble.reason,
            "refused_topics": refused_topics,
        }),
    };
    admin.board.conditions().into_iter().map(|(name, found)| (name, condition(found))).collect()
}

fn mistake(problem: &Problem) -> Value {
    json!({
        "place": problem.place.as_ref().map(ToString::to_string),
        "message": problem.message,
        "help": problem.help,
    })
}

async fn metrics(admin: Data<Admin>) -> impl Responder {
    let metrics = &admin.gateway.metrics;
    if let Ok(depth) = admin.gateway.outbox.depth().await {
        metrics.queue_depth.set(i64::try_from(depth.waiting).unwrap_or(i64::MAX));
        let age = depth.oldest_ms.map_or(0, |oldest| (unix_ms() - oldest).max(0) / 1000);
        metrics.queue_oldest_seconds.set(age);
        metrics.dead_letters.set(i64::try_from(depth.dead).unwrap_or(i64::MAX));
    }
    let kind = HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
    HttpResponse::Ok().insert_header((CONTENT_TYPE, kind)).body(metrics.render())
}

/// 200 with the number of rules, or 422 with every mistake.
async fn reload(admin: Data<Admin>) -> impl Responder {
    match admin.reload.now().await {
        Some(Ok(rules)) => HttpResponse::Ok().json(json!({ "rules": rules })),
        Some(Err(problems)) => HttpResponse::UnprocessableEntity()
            .json(json!({ "mistakes": problems.iter().map(mistake).collect::<Vec<_>>() })),
        None => HttpResponse::ServiceUnavailable().json(json!({ "error": "the gateway is stopping" })),
    }
}
