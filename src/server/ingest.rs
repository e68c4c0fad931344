//! A webhook's way from the socket to the outbox. The sender waits no further than the commit.

use actix_web::http::StatusCode;
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use serde::Serialize;
use uuid::Uuid;

use super::client::Client;
use super::connection::InFlight;
use super::error::Refused;
use super::{Gateway, accept, body, handshake};
use crate::metrics::{Outcome, Received, Settled, State};
use crate::outbox::{Enqueued, Head, Kept, unix_ms};
use crate::pipeline::{Decision, Reception, Refusal, Response, check_head, receive};
use crate::rules::request::Request;
use crate::rules::set::RuleSet;
use crate::rules::source::Source;

/// The header that says how many notifications a webhook became, where a rule answers in its own words.
pub const NOTIFICATIONS: &str = "hookbell-notifications";

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
        tracing::debug!(
            path = first_segment(request.uri().path()),
            "webhook refused: no source has its path"
        );
        return Err(Refusal::NotFound.into());
    };
    let source = routed.source;
    if let Some(consent) = handshake::consent(&gateway, source, &request, &routed.path) {
        return Ok(consent);
    }
    let result =
        Delivery { gateway: &gateway, rules: &rules, source }.take(&request, routed.path, payload).await;
    match &result {
        Ok(taken) if taken.duplicate => gateway.count(&source.name, Outcome::Duplicate),
        Ok(taken) if taken.notifications > 0 => gateway.count(&source.name, Outcome::Accepted),
        Ok(_) => gateway.count(&source.name, Outcome::Dropped),
        Err(Refused::Unavailable) => gateway.count(&source.name, Outcome::Unavailable),
        Err(_) => gateway.count(&source.name, Outcome::Refused),
    }
    let taken = result?;
    if let Some(Response { status, content_type, body }) = taken.response {
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
        // A rule's own words leave no room for what our answer says, so its headers say it.
        return Ok(HttpResponse::build(status)
            .content_type(content_type)
            .insert_header(("hookbell-webhook", taken.id.to_string()))
            .insert_header((NOTIFICATIONS, taken.notifications))
            .body(body));
    }
    Ok(HttpResponse::Ok().json(Told::from(&taken)))
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

/// What a sender is told.
#[derive(Serialize)]
struct Told {
    id: Uuid,
    notifications: usize,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    duplicate: bool,
}

impl From<&Taken> for Told {
    fn from(taken: &Taken) -> Self {
        Self { id: taken.id, notifications: taken.notifications, duplicate: taken.duplicate }
    }
}

struct Taken {
    /// That of the first one, for a duplicate.
    id: Uuid,
    notifications: usize,
    duplicate: bool,
    response: Option<Response>,
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
        let parts = parts_of(self.gateway, request, path);
        check_head(self.source, &parts, true)?;
        let limits = &self.gateway.limits;
        let raw = body::read(request, payload, limits.body, limits.body_time).await?;
        let reception = Reception { limit: limits.body, verify: true };
        let (received_at, head) = (parts.received_at, self.head(&parts));
        let decision = receive(self.rules, self.source, parts, &raw, reception, None)?;
        self.store(decision, Kept::new(received_at, head, raw)).await
    }

    /// The webhook's head without what proves its sender.
    fn head(&self, parts: &Request) -> Head {
        let source = self.source;
        Head::new(
            &parts.method,
            shown(&parts.path, |name| source.shows_segment(name)),
            shown(&parts.query, |name| source.shows_parameter(name)),
            shown(&parts.headers, |name| source.shows_header(name)),
        )
    }

    async fn store(&self, mut decision: Decision, record: Kept) -> Result<Taken, Refused> {
        let response = decision.response.take();
        let mut webhook = accept::webhook(self.source, decision, record);
        let (id, notifications) = (webhook.id, webhook.notifications.len());
        let servers: Vec<_> = webhook.notifications.iter().map(|one| one.server.clone()).collect();
        let rules = webhook.verdict.rules.join(", ");
        if notifications == 0 {
            // Nothing was promised, so nothing can be repeated.
            webhook.once = None;
            self.gateway.outbox.record(webhook);
            tracing::info!(%id, source = self.source.name, rules, notifications, "webhook accepted");
            return Ok(Taken { id, notifications, duplicate: false, response });
        }
        let enqueued = self.gateway.outbox.enqueue(webhook).await.map_err(|error| {
            tracing::error!(source = self.source.name, %error, "webhook refused: it cannot be stored");
            Refused::Unavailable
        })?;
        if let Enqueued::Duplicate(first) = enqueued {
            tracing::info!(%id, %first, source = self.source.name, "webhook repeats another, nothing is sent");
            return Ok(Taken { id: first, notifications: 0, duplicate: true, response });
        }
        for server in servers {
            let settled = Settled { server, state: State::Enqueued };
            self.gateway.metrics.notifications.get_or_create(&settled).inc();
        }
        tracing::info!(%id, source = self.source.name, rules, notifications, "webhook accepted");
        Ok(Taken { id, notifications, duplicate: false, response })
    }
}

fn shown(pairs: &[(String, String)], shows: impl Fn(&str) -> bool) -> Vec<(&str, &str)> {
    pairs.iter().filter(|(name, _)| shows(name)).map(|(name, value)| (&**name, &**value)).collect()
}

/// The request without its body. Header values that are no UTF-8 are read as best they can.
pub(super) fn parts_of(gateway: &Gateway, request: &HttpRequest, path: Vec<(String, String)>) -> Request {
    let client = Client::of(request, &gateway.proxies);
    let headers = request.headers().iter();
    Request {
        method: request.method().as_str().to_owned(),
        headers: headers
            .map(|(name, value)| {
                (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
            })
            .collect(),
        query: Request::parse_query(request.query_string()),
        path: Request::decode_path(path),
        body: serde_json::Value::Null,
        received_at: unix_ms(),
        target: request.uri().path_and_query().map(ToString::to_string).unwrap_or_default(),
        client: client.address,
        through_proxy: client.through_proxy,
    }
}
