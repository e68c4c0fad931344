//! What a sender is told when its webhook is not taken. The log says more.

use std::fmt;

use actix_web::http::StatusCode;
use actix_web::http::header::{ALLOW, RETRY_AFTER, WWW_AUTHENTICATE};
use actix_web::{HttpResponse, ResponseError};
use serde_json::json;

use crate::payload::Unreadable;
use crate::pipeline::Refusal;

/// Seconds after which a sender should try again when the store does not take its webhook.
const RETRY_SECONDS: &str = "5";

/// Why a webhook is not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refused {
    /// By its source.
    Refusal(Refusal),
    /// 400: the body ended before it was complete.
    Interrupted,
    /// 408: the body did not come in time.
    TooSlow,
    /// 503: the store is full or failing. Alertmanager tries again on 5xx only.
    Unavailable,
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Self::Refusal(refusal)
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refusal(refusal) => refusal.fmt(f),
            Self::Interrupted => f.write_str("malformed body: it ended too early"),
            Self::TooSlow => f.write_str("the body did not arrive in time"),
            Self::Unavailable => f.write_str("cannot store the webhook right now, try again later"),
        }
    }
}

impl ResponseError for Refused {
    fn status_code(&self) -> StatusCode {
        match self {
            Self::Refusal(refusal) => {
                StatusCode::from_u16(refusal.status()).unwrap_or(StatusCode::BAD_REQUEST)
            }
            Self::Interrupted => StatusCode::BAD_REQUEST,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    fn error_response(&self) -> HttpResponse {
        let mut response = HttpResponse::build(self.status_code());
        match self {
            Self::Refusal(Refusal::MethodNotAllowed(allowed)) => {
                response.insert_header((ALLOW, allowed.as_str()))
            }
            Self::Refusal(Refusal::Unauthorized(Some(challenge))) => {
                response.insert_header((WWW_AUTHENTICATE, *challenge))
            }
            Self::Unavailable => response.insert_header((RETRY_AFTER, RETRY_SECONDS)),
            // What is left of the body is not worth reading.
            Self::Refusal(Refusal::Unreadable(Unreadable::TooLarge { .. }))
            | Self::TooSlow
            | Self::Interrupted => response.force_close(),
            _ => &mut response,
        };
        response.json(json!({ "error": self.to_string() }))
    }
}
