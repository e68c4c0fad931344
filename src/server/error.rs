//! What a sender is told when its webhook is not taken. The log says more.

use std::fmt;

use actix_web::http::StatusCode;
use actix_web::http::header::{ALLOW, RETRY_AFTER, WWW_AUTHENTICATE};
use actix_web::{HttpResponse, ResponseError};
use serde_json::json;

use crate::payload::Unreadable;

/// Seconds after which a sender should try again when the store does not take its webhook.
const RETRY_SECONDS: &str = "5";

/// Why a webhook is not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refused {
    /// 404: no source has the path, or its secret segment is wrong. The two look alike.
    NotFound,
    /// 405, with the methods that are allowed.
    MethodNotAllowed(String),
    /// 401, with a challenge where the scheme has one.
    Unauthorized(Option<&'static str>),
    /// 400, 413 or 415.
    Unreadable(Unreadable),
    /// 400: the body ended before it was complete.
    Interrupted,
    /// 408: the body did not come in time.
    TooSlow,
    /// 503: the store is full or failing. Alertmanager tries again on 5xx only.
    Unavailable,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound => f.write_str("not found"),
            Self::MethodNotAllowed(allowed) => write!(f, "method not allowed: use {allowed}"),
            Self::Unauthorized(_) => f.write_str("unauthorized"),
            Self::Unreadable(unreadable) => unreadable.fmt(f),
            Self::Interrupted => f.write_str("malformed body: it ended too early"),
            Self::TooSlow => f.write_str("the body did not arrive in time"),
            Self::Unavailable => f.write_str("cannot store the webhook right now, try again later"),
        }
    }
}

impl ResponseError for Refused {
    fn status_code(&self) -> StatusCode {
        match self {
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed(_) => StatusCode::METHOD_NOT_ALLOWED,
            Self::Unauthorized(_) => StatusCode::UNAUTHORIZED,
            Self::Unreadable(Unreadable::Malformed(_)) | Self::Interrupted => StatusCode::BAD_REQUEST,
            Self::Unreadable(Unreadable::TooLarge { .. }) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Unreadable(Unreadable::Unsupported(_)) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    fn error_response(&self) -> HttpResponse {
        let mut response = HttpResponse::build(self.status_code());
        match self {
            Self::MethodNotAllowed(allowed) => response.insert_header((ALLOW, allowed.as_str())),
            Self::Unauthorized(Some(challenge)) => response.insert_header((WWW_AUTHENTICATE, *challenge)),
            Self::Unavailable => response.insert_header((RETRY_AFTER, RETRY_SECONDS)),
            // What is left of the body is not worth reading.
            Self::Unreadable(Unreadable::TooLarge { .. }) | Self::TooSlow | Self::Interrupted => {
                response.force_close()
            }
            _ => &mut response,
        };
        response.json(json!({ "error": self.to_string() }))
    }
}
