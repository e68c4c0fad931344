//! The HTTP side: listening, and the doors for looking in from outside.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::{Extensions, Server};
use actix_web::rt::net::TcpStream;
use actix_web::{App, HttpResponse, HttpServer, web};
use serde_json::json;

use crate::behaviour::Behaviour;
use crate::request::publish_or_404;
use crate::sink::sink;
use crate::state::State;

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
            .route("/sink", web::post().to(sink))
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
