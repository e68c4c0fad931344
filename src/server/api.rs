//! What operators ask of a running gateway's outbox, as JSON. The command line is its first user.
//!
//! A request must say that it is JSON: a web page elsewhere cannot send such a one without asking first.

use std::path::Path;

use actix_web::error::{InternalError, JsonPayloadError};
use actix_web::http::StatusCode;
use actix_web::web::{self, Data, Json, JsonConfig, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse, Responder};
use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

use super::Admin;
use super::replay::replay;
use crate::outbox::{Browser, DeadFilter, Reached, RecordedWebhook, Unavailable};

/// The most ids in one request: the store serves webhooks in between.
pub const MOST_IDS: usize = 500;
/// The largest request, in bytes.
const LARGEST: usize = 64 * 1024;

/// Ids of notifications or webhooks.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ids {
    /// At most [`MOST_IDS`].
    pub ids: Vec<Uuid>,
}

/// What a wish for one notification met.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Met {
    /// The notification.
    pub id: Uuid,
    /// What came of it.
    pub result: Reached,
}

pub(super) fn routes(config: &mut ServiceConfig) {
    config
        .app_data(JsonConfig::default().limit(LARGEST).content_type_required(true).error_handler(mistake))
        .route("/api/outbox/retry", web::post().to(retry))
        .route("/api/outbox/retry-dead", web::post().to(retry_dead))
        .route("/api/outbox/drop", web::post().to(discard))
        .route("/api/replay", web::post().to(replay_all));
}

/// 415 without the right content type, 413 for too much, 400 for what cannot be read.
fn mistake(error: JsonPayloadError, _: &HttpRequest) -> actix_web::Error {
    let status = match &error {
        JsonPayloadError::ContentType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        JsonPayloadError::Overflow { .. } | JsonPayloadError::OverflowKnownLength { .. } => {
            StatusCode::PAYLOAD_TOO_LARGE
        }
        _ => StatusCode::BAD_REQUEST,
    };
    let reason = match &error {
        JsonPayloadError::ContentType => "send it as content-type application/json".to_owned(),
        error => error.to_string(),
    };
    InternalError::from_response(error, HttpResponse::build(status).json(json!({ "error": reason }))).into()
}

async fn retry(admin: Data<Admin>, wish: Json<Ids>) -> impl Responder {
    let ids = wish.into_inner().ids;
    if ids.len() > MOST_IDS {
        return too_many();
    }
    results(ids.clone(), admin.gateway.outbox.revive(ids).await)
}

async fn discard(admin: Data<Admin>, wish: Json<Ids>) -> impl Responder {
    let ids = wish.into_inner().ids;
    if ids.len() > MOST_IDS {
        return too_many();
    }
    results(ids.clone(), admin.gateway.outbox.discard(ids).await)
}

/// Some of the dead: the caller asks again until none is left.
async fn retry_dead(admin: Data<Admin>, filter: Json<DeadFilter>) -> impl Responder {
    match admin.gateway.outbox.revive_dead(filter.into_inner()).await {
        Ok(count) => HttpResponse::Ok().json(json!({ "retried": count })),
        Err(error) => unavailable(&error),
    }
}

async fn replay_all(admin: Data<Admin>, wish: Json<Ids>) -> impl Responder {
    let ids = wish.into_inner().ids;
    if ids.len() > MOST_IDS {
        return too_many();
    }
    let mut results = Vec::new();
    for id in ids {
        let (rules, data) = (admin.gateway.live.current(), admin.data.clone());
        let found = web::block(move || find(&data, id)).await.unwrap_or_else(|error| Err(error.to_string()));
        let replayed = match found {
            Ok(recorded) => replay(&rules, &admin.gateway.outbox, recorded).await,
            Err(reason) => Err(reason),
        };
        results.push(match replayed {
            Ok(replayed) => json!(replayed),
            Err(error) => json!({ "webhook": id, "error": error }),
        });
    }
    HttpResponse::Ok().json(json!({ "results": results }))
}

/// The record of a webhook.
///
/// # Errors
/// In words: there is none, or the store cannot be read.
pub fn find(data: &Path, id: Uuid) -> Result<RecordedWebhook, String> {
    let browser = Browser::open(data).map_err(|error| error.to_string())?;
    browser.webhook(id)?.ok_or_else(|| "no webhook with this id is recorded".to_owned())
}

fn results(ids: Vec<Uuid>, reached: Result<Vec<Reached>, Unavailable>) -> HttpResponse {
    match reached {
        Ok(reached) => {
            let met = ids.into_iter().zip(reached).map(|(id, result)| Met { id, result });
            HttpResponse::Ok().json(json!({ "results": met.collect::<Vec<_>>() }))
        }
        Err(error) => unavailable(&error),
    }
}

fn too_many() -> HttpResponse {
    HttpResponse::build(StatusCode::BAD_REQUEST)
        .json(json!({ "error": format!("more than {MOST_IDS} ids; send them in several requests") }))
}

fn unavailable(error: &Unavailable) -> HttpResponse {
    HttpResponse::ServiceUnavailable().json(json!({ "error": error.to_string() }))
}
