//! Answers in ntfy's own words, or in a proxy's.

use actix_web::http::{StatusCode, header};
use actix_web::{HttpResponse, HttpResponseBuilder};
use serde_json::json;

use crate::behaviour::Behaviour;

/// Why a request is refused: ntfy's status, five-digit code and text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) code: u32,
    pub(crate) error: String,
}

/// A refusal with the status its code begins with.
pub(crate) fn refusal(code: u32, error: impl Into<String>) -> Refusal {
    Refusal { status: (code / 100) as u16, code, error: error.into() }
}

impl Refusal {
    /// The refusal a fault asks for; the code need not fit the status.
    pub(crate) fn on_request(status: u16, code: u32) -> Refusal {
        Refusal { status, code, error: "fault on request".into() }
    }

    /// The answer, as ntfy gives it or as a proxy in front of it would.
    pub(crate) fn answer(&self, behaviour: &Behaviour) -> HttpResponse {
        let mut response = HttpResponse::build(status(self.status));
        if let Some(seconds) = behaviour.retry_after {
            response.insert_header((header::RETRY_AFTER, seconds));
        }
        if behaviour.html {
            return with_page(response, self.status);
        }
        response.json(json!({
            "code": self.code,
            "http": self.status,
            "error": self.error,
            "link": "https://ntfy.sh/docs/publish/",
        }))
    }
}

/// A redirect away from the server, as a proxy gives that wants another scheme or host.
pub(crate) fn redirect() -> HttpResponse {
    HttpResponse::Found().insert_header((header::LOCATION, "https://elsewhere.invalid/")).finish()
}

/// An HTML page that says no more than its status.
pub(crate) fn page(code: u16) -> HttpResponse {
    with_page(HttpResponse::build(status(code)), code)
}

/// The same with `Retry-After`, in seconds.
pub(crate) fn retry_after(code: u16, seconds: u64) -> HttpResponse {
    let mut response = HttpResponse::build(status(code));
    response.insert_header((header::RETRY_AFTER, seconds));
    with_page(response, code)
}

/// Plain text, as something that is not ntfy gives it.
pub(crate) fn text(code: u16, text: &str) -> HttpResponse {
    HttpResponse::build(status(code)).content_type("text/plain; charset=utf-8").body(text.to_owned())
}

fn with_page(mut response: HttpResponseBuilder, code: u16) -> HttpResponse {
    let status = status(code);
    let page = format!("<html><head><title>{status}</title></head><body><h1>{status}</h1></body></html>\n");
    response.content_type("text/html").body(page)
}

fn status(code: u16) -> StatusCode {
    StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}
