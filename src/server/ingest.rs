//! A webhook's way from the socket to the outbox. The sender waits no further than the commit.

use actix_web::http::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderName};
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use serde_json::json;
use uuid::Uuid;

use super::connection::InFlight;
use super::error::Refused;
use super::{Gateway, body};
use crate::auth::Claim;
use crate::metrics::{Outcome, Received};
use crate::notification::Topic;
use crate::outbox::{Outgoing, Webhook, unix_ms};
use crate::payload::{self, Unreadable};
use crate::pipeline::{Decision, Planned, decide, notify_malformed};
use crate::rules::request::Request;
use crate::rules::set::RuleSet;
use crate::rules::source::{Otherwise, Source};

/// Takes one webhook.
pub(super) async fn ingest(
    request: HttpRequest,
    payload: Payload,
    gateway: Data<Gateway>,
) -> Result<HttpResponse, Refused> {
    let _in_flight = InFlight::on_connection_of(&request);
    // Taken once: a reload while this runs changes nothing for it.
    let rules = gateway.live.current();
    let Some(routed) = rules.route(request.uri().path()) else {
        gateway.count("none", Outcome::Refused);
        tracing::debug!(path = first_segment(request.uri().path()), "webhook refused: no source has its path");
        return Err(Refused::NotFound);
    };
    let source = routed.source;
    let result = Delivery { gateway: &gateway, rules: &rules, source }.take(&request, routed.path, payload).await;
    match &result {
        Ok(taken) if taken.notifications > 0 => gateway.count(&source.name, Outcome::Accepted),
        Ok(_) => gateway.count(&source.name, Outcome::Dropped),
        Err(Refused::Unavailable) => gateway.count(&source.name, Outcome::Unavailable),
        Err(_) => gateway.count(&source.name, Outcome::Refused),
    }
    let taken = result?;
    Ok(HttpResponse::Ok().json(json!({ "id": taken.id, "notifications": taken.notifications })))
}

impl Gateway {
    fn count(&self, source: &str, outcome: Outcome) {
        self.metrics.webhooks.get_or_create(&Received { source: source.to_owned(), outcome }).inc();
    }
}

/// A path may hold a secret even where no source has it, mistyped.
fn first_segment(path: &str) -> String {
    let first = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    format!("/{first}/…")
}

struct Taken {
    id: Uuid,
    notifications: usize,
}

/// One webhook and what decides about it.
struct Delivery<'a> {
    gateway: &'a Gateway,
    rules: &'a RuleSet,
    source: &'a Source,
}

impl Delivery<'_> {
    async fn take(
        &self,
        request: &HttpRequest,
        path: Vec<(String, String)>,
        payload: Payload,
    ) -> Result<Taken, Refused> {
        self.check_method(request)?;
        let limits = &self.gateway.limits;
        let raw = body::read(request, payload, limits.body, limits.body_time).await?;
        let request_parts = parts_of(request, path);
        self.check_sender(&request_parts, &raw)?;
        let decision = self.decide(request, request_parts, &raw)?;
        self.store(decision).await
    }

    fn check_method(&self, request: &HttpRequest) -> Result<(), Refused> {
        let allowed = &self.source.methods;
        if allowed.iter().any(|method| method == request.method().as_str()) {
            return Ok(());
        }
        // A method of its own would tell that a hidden source lives here.
        if self.source.verifier.as_ref().is_some_and(crate::auth::Verifier::hides_source) {
            return Err(Refused::NotFound);
        }
        Err(Refused::MethodNotAllowed(allowed.join(", ")))
    }

    fn check_sender(&self, parts: &Request, raw: &[u8]) -> Result<(), Refused> {
        let Some(verifier) = &self.source.verifier else { return Ok(()) };
        let claim = Claim { headers: &parts.headers, query: &parts.query, path: &parts.path, raw };
        verifier.verify(&claim).map_err(|refusal| {
            tracing::warn!(source = self.source.name, reason = %refusal, "webhook refused: sender not verified");
            if verifier.hides_source() { Refused::NotFound } else { Refused::Unauthorized(verifier.challenge()) }
        })
    }

    fn decide(&self, request: &HttpRequest, mut parts: Request, raw: &[u8]) -> Result<Decision, Refused> {
        let header = |name: &HeaderName| request.headers().get(name).and_then(|value| value.to_str().ok());
        let limit = self.gateway.limits.body;
        let unpacked = payload::unpack(raw, header(&CONTENT_ENCODING), limit);
        let decoded = unpacked.and_then(|body| Ok((payload::decode(&body, header(&CONTENT_TYPE))?, body)));
        match decoded {
            Ok((value, body)) => {
                parts.body = value;
                self.source.hide_secrets(&mut parts);
                Ok(decide(self.rules, self.source, parts, &body, None))
            }
            Err(Unreadable::Malformed(_)) if self.source.malformed == Otherwise::Notify => {
                Ok(notify_malformed(self.source, raw))
            }
            Err(unreadable) => {
                tracing::warn!(source = self.source.name, reason = %unreadable, bytes = raw.len(), "webhook refused");
                Err(Refused::Unreadable(unreadable))
            }
        }
    }

    async fn store(&self, decision: Decision) -> Result<Taken, Refused> {
        let id = Uuid::now_v7();
        let notifications = decision.notifications.len();
        let webhook = Webhook {
            id,
            source: self.source.name.clone(),
            received_at: unix_ms(),
            notifications: decision.notifications.into_iter().map(outgoing).collect(),
        };
        self.gateway.outbox.enqueue(webhook).await.map_err(|error| {
            tracing::error!(source = self.source.name, %error, "webhook refused: it cannot be stored");
            Refused::Unavailable
        })?;
        let rules = decision.matched.join(", ");
        tracing::info!(%id, source = self.source.name, rules, notifications, "webhook accepted");
        Ok(Taken { id, notifications })
    }
}

fn outgoing(planned: Planned) -> Outgoing {
    let id = Uuid::now_v7();
    let mut notification = planned.notification;
    // So that a repeat after an unclear answer replaces the first one instead of doubling it.
    if notification.sequence_id.is_none() {
        notification.sequence_id = Topic::parse_sequence_id(&id.simple().to_string()).ok();
    }
    Outgoing {
        id,
        server: planned.server.to_string(),
        topic: notification.topic.as_str().to_owned(),
        rule: planned.rule.to_string(),
        payload: notification.to_json(),
    }
}

/// The request without its body. Header values that are no UTF-8 are read as best they can.
fn parts_of(request: &HttpRequest, path: Vec<(String, String)>) -> Request {
    let headers = request.headers().iter();
    Request {
        method: request.method().as_str().to_owned(),
        headers: headers
            .map(|(name, value)| (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
            .collect(),
        query: Request::parse_query(request.query_string()),
        path: Request::decode_path(path),
        body: serde_json::Value::Null,
        received_at: unix_ms(),
    }
}
