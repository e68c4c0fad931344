//! The HTTP side: publishing with faults, and the doors for looking in from outside.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::{Extensions, Server};
use actix_web::http::{Method, header};
use actix_web::rt::net::TcpStream;
use actix_web::rt::time::sleep;
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
use serde_json::json;

use crate::answer::{Refusal, redirect, refusal};
use crate::behaviour::{Behaviour, Fault};
use crate::connection::Connection;
use crate::publish;
use crate::state::State;

/// More than any test sends: the limit of ntfy is checked on the whole body, so that it answers in JSON.
const READ_AT_MOST: usize = 16 * 1024 * 1024;

/// Binds and returns the server, which runs when awaited, with the port it got.
pub(crate) fn serve(host: &str, port: u16, state: Arc<State>) -> std::io::Result<(Server, u16)> {
    let counted = state.connections.clone();
    let on_connect = move |socket: &dyn Any, data: &mut Extensions| {
        if let Some(stream) = socket.downcast_ref::<TcpStream>() {
            data.insert(counted.add(stream));
        }
    };
    let app = move || {
        App::new()
            .app_data(web::Data::from(Arc::clone(&state)))
            .route("/v1/health", web::get().to(|| async { web::Json(json!({ "healthy": true })) }))
            .route("/stats", web::get().to(|state: web::Data<State>| async move { web::Json(state.stats()) }))
            .service(web::resource("/messages").route(web::get().to(messages)).route(web::delete().to(clear)))
            .service(
                web::resource("/behaviour")
                    .route(web::get().to(behaviour))
                    .route(web::post().to(set_behaviour)),
            )
            .default_service(web::to(publish_or_404))
    };
    let server = HttpServer::new(app).on_connect(on_connect).workers(2).disable_signals();
    // Without this a client that gave up on a hung request would be counted as connected for ever.
    let server = server.h1_allow_half_closed(false);
    let server = server.keep_alive(Duration::from_secs(300)).shutdown_timeout(0).bind((host, port))?;
    let port = server.addrs().first().map_or(port, std::net::SocketAddr::port);
    Ok((server.run(), port))
}

async fn messages(state: web::Data<State>) -> HttpResponse {
    HttpResponse::Ok().json(state.messages())
}

async fn clear(state: web::Data<State>) -> HttpResponse {
    state.clear();
    HttpResponse::NoContent().finish()
}

async fn behaviour(state: web::Data<State>) -> HttpResponse {
    HttpResponse::Ok().json(state.behaviour().clone())
}

async fn set_behaviour(state: web::Data<State>, new: web::Json<Behaviour>) -> HttpResponse {
    state.set(new.into_inner());
    HttpResponse::NoContent().finish()
}

async fn publish_or_404(request: HttpRequest, body: web::Payload, state: web::Data<State>) -> HttpResponse {
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
    let response = publish_with(&request, body, &state, &behaviour, fault).await;
    if let (Some(connection), Some(idle)) = (&connection, behaviour.keep_alive) {
        connection.close_when_idle(idle);
    }
    match response {
        Some(response) => {
            state.answered(response.status().as_u16());
            response
        }
        None => close(connection),
    }
}

/// The answer, or none when the connection is to be closed instead.
async fn publish_with(
    request: &HttpRequest,
    body: web::Payload,
    state: &State,
    behaviour: &Behaviour,
    fault: Option<Fault>,
) -> Option<HttpResponse> {
    if fault == Some(Fault::Close) {
        return None;
    }
    let body = body.to_bytes_limited(READ_AT_MOST).await.ok()?.ok()?;
    let outcome = match &fault {
        Some(Fault::Hang) => std::future::pending().await,
        Some(Fault::CloseAfterReading) => return None,
        Some(Fault::Status(status, code)) => Err(Refusal::on_request(*status, *code)),
        Some(Fault::Redirect) => return Some(redirect()),
        _ => check(request, &body, behaviour),
    };
    if let Ok(message) = &outcome {
        state.accept(message.clone());
    }
    match fault {
        Some(Fault::CloseAfterAccepting) => return None,
        Some(Fault::Latency(latency)) => sleep(latency).await,
        _ if !behaviour.latency.is_zero() => sleep(behaviour.latency).await,
        _ => {}
    }
    Some(match outcome {
        Ok(message) => HttpResponse::Ok().json(message),
        Err(refusal) => refusal.answer(behaviour),
    })
}

fn check(request: &HttpRequest, body: &[u8], behaviour: &Behaviour) -> Result<serde_json::Value, Refusal> {
    let given = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    if behaviour.require_authorization.is_some() && given != behaviour.require_authorization.as_deref() {
        return Err(refusal(40101, "unauthorized"));
    }
    match &request.path()[1..] {
        "" => publish::from_json(body),
        topic => publish::from_text(topic, body),
    }
}

fn close(connection: Option<Arc<Connection>>) -> HttpResponse {
    if let Some(connection) = connection {
        connection.close();
    }
    // Written to a socket that is shut down, so nobody ever reads it.
    HttpResponse::InternalServerError().force_close().finish()
}
