//! The handshake of CloudEvents senders (HTTP 1.1 Web Hooks for Event Delivery, 4): may I send you events?

use actix_web::http::Method;
use actix_web::http::header::ALLOW;
use actix_web::{HttpRequest, HttpResponse};

use super::Gateway;
use super::ingest::parts_of;
use crate::pipeline::check_head;
use crate::rules::source::Source;

const ORIGIN: &str = "webhook-request-origin";
const RATE: &str = "webhook-request-rate";

/// The consent, when an origin asks for it. Whoever must prove itself by the path or a header has to do so here too.
pub(super) fn consent(
    gateway: &Gateway,
    source: &Source,
    request: &HttpRequest,
    path: &[(String, String)],
) -> Option<HttpResponse> {
    if request.method() != Method::OPTIONS {
        return None;
    }
    let origin = request.headers().get(ORIGIN)?;
    let mut parts = parts_of(gateway, request, path.to_vec());
    // The method that the events will come by is the one to be checked.
    parts.method = source.methods.first()?.clone();
    check_head(source, &parts, true).ok()?;
    let mut consent = HttpResponse::Ok();
    consent.insert_header(("WebHook-Allowed-Origin", origin.clone()));
    if let Some(rate) = request.headers().get(RATE) {
        consent.insert_header(("WebHook-Allowed-Rate", rate.clone()));
    }
    Some(consent.insert_header((ALLOW, source.methods.join(", "))).finish())
}
