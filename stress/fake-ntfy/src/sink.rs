//! A door that takes whatever it is sent: what a proxy is measured with that passes a webhook on as it came.

use actix_web::rt::time::sleep;
use actix_web::{HttpResponse, web};
use serde_json::json;

use crate::request::READ_AT_MOST;
use crate::state::State;

/// Reads the body and answers, after the latency, as if it had been published. Nothing is checked, kept or counted.
pub(crate) async fn sink(body: web::Payload, state: web::Data<State>) -> HttpResponse {
    let Ok(Ok(_)) = body.to_bytes_limited(READ_AT_MOST).await else {
        return HttpResponse::PayloadTooLarge().finish();
    };
    let latency = state.behaviour().latency;
    if !latency.is_zero() {
        sleep(latency).await;
    }
    HttpResponse::Ok().json(json!({
        "id": "sinksinksink", "time": state.now_unix_ms() / 1000, "event": "message", "topic": "sink", "message": "taken",
    }))
}
