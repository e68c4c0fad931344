//! A publish request: faults first, then what ntfy checks in its order, then the answer.

use std::sync::Arc;

use actix_web::http::{Method, header};
use actix_web::rt::time::sleep;
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::Value;

use crate::answer::{self, Refusal, refusal};
use crate::behaviour::{Behaviour, Fault};
use crate::connection::Connection;
use crate::limiter::Limiter;
use crate::publish;
use crate::state::State;

/// More than any test sends: the limit of ntfy is checked on the whole body, so that it answers in JSON.
pub(crate) const READ_AT_MOST: usize = 16 * 1024 * 1024;

/// What a request comes to, before it is an answer.
enum Outcome {
    Accepted(Value),
    Refused(Refusal),
    /// The answer of somebody who is not ntfy.
    Foreign(HttpResponse),
}

pub(crate) async fn publish_or_404(
    request: HttpRequest,
    body: web::Payload,
    state: web::Data<State>,
) -> HttpResponse {
    let publishing = matches!(*request.method(), Method::POST | Method::PUT);
    if !publishing || request.path()[1..].contains('/') {
        return refusal(40401, "page not found").answer(&state.behaviour());
    }
    let _in_flight = state.enter();
    let connection = request.conn_data::<Arc<Connection>>().cloned();
    if let Some(connection) = &connection {
        connection.begin_request();
    }
    let (fault, behaviour) = {
        let mut behaviour = state.behaviour();
        (behaviour.next_fault(), behaviour.clone())
    };
    let outcome = publish_with(&request, body, &state, &behaviour, fault).await;
    if let (Some(connection), Some(idle)) = (&connection, behaviour.keep_alive) {
        connection.close_when_idle(idle);
    }
    outcome.map_or_else(|| close(connection), |outcome| outcome.answer(&state, &behaviour))
}

impl Outcome {
    /// Makes the answer and counts it.
    fn answer(self, state: &State, behaviour: &Behaviour) -> HttpResponse {
        let (response, code) = match self {
            Outcome::Accepted(message) => (HttpResponse::Ok().json(message), None),
            Outcome::Refused(refusal) => (refusal.answer(behaviour), Some(refusal.code)),
            Outcome::Foreign(response) => (response, None),
        };
        state.answered(response.status().as_u16(), code);
        response
    }
}

/// The outcome, or none when the connection is to be closed instead.
async fn publish_with(
    request: &HttpRequest,
    body: web::Payload,
    state: &State,
    behaviour: &Behaviour,
    fault: Option<Fault>,
) -> Option<Outcome> {
    if fault == Some(Fault::Close) {
        return None;
    }
    let body = body.to_bytes_limited(READ_AT_MOST).await.ok()?.ok()?;
    let outcome = match &fault {
        Some(Fault::Hang) => std::future::pending().await,
        Some(Fault::CloseAfterReading) => return None,
        fault => {
            fault.as_ref().and_then(instead).unwrap_or_else(|| checked(request, &body, state, behaviour))
        }
    };
    if let Outcome::Accepted(message) = &outcome {
        state.accept(message.clone());
    }
    match fault {
        Some(Fault::CloseAfterAccepting) => return None,
        Some(Fault::Latency(latency)) => sleep(latency).await,
        _ if !behaviour.latency.is_zero() => sleep(behaviour.latency).await,
        _ => {}
    }
    Some(outcome)
}

/// What a fault answers in place of ntfy, if it answers.
fn instead(fault: &Fault) -> Option<Outcome> {
    Some(match fault {
        Fault::Status(status, code) => Outcome::Refused(Refusal::on_request(*status, *code)),
        Fault::Redirect => Outcome::Foreign(answer::redirect()),
        Fault::Page(status) => Outcome::Foreign(answer::page(*status)),
        Fault::Text(status, text) => Outcome::Foreign(answer::text(*status, text)),
        Fault::RetryAfter(status, seconds) => Outcome::Foreign(answer::retry_after(*status, *seconds)),
        _ => return None,
    })
}

fn checked(request: &HttpRequest, body: &[u8], state: &State, behaviour: &Behaviour) -> Outcome {
    match check(request, body, state, behaviour) {
        Ok(message) => Outcome::Accepted(message),
        Err(refusal) => Outcome::Refused(refusal),
    }
}

fn check(request: &HttpRequest, body: &[u8], state: &State, behaviour: &Behaviour) -> Result<Value, Refusal> {
    state.within_limits(Limiter::request)?;
    authorize(request, state, behaviour)?;
    let path = &request.path()[1..];
    refuse_topic(path, body, behaviour)?;
    let message = match path {
        "" => publish::from_json(body)?,
        topic => publish::from_text(topic, body)?,
    };
    let topic = message["topic"].as_str().unwrap_or_default();
    state.within_limits(|limiter| limiter.message(topic))?;
    Ok(message)
}

fn authorize(request: &HttpRequest, state: &State, behaviour: &Behaviour) -> Result<(), Refusal> {
    let given = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    if behaviour.require_authorization.is_some() && given != behaviour.require_authorization.as_deref() {
        state.within_limits(Limiter::auth_failure)?;
        return Err(refusal(40101, "unauthorized"));
    }
    Ok(())
}

fn refuse_topic(path: &str, body: &[u8], behaviour: &Behaviour) -> Result<(), Refusal> {
    if behaviour.refuse.is_empty() {
        return Ok(());
    }
    let named = publish::topic(path, body);
    let entry = behaviour.refuse.iter().find(|(topic, ..)| Some(topic) == named.as_ref());
    entry.map_or(Ok(()), |(_, status, code)| Err(Refusal::on_request(*status, *code)))
}

fn close(connection: Option<Arc<Connection>>) -> HttpResponse {
    if let Some(connection) = connection {
        connection.close();
    }
    // Written to a socket that is shut down, so nobody ever reads it.
    HttpResponse::InternalServerError().force_close().finish()
}
