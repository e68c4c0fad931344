//! What an answer means for the notification: a pure function of status, headers and body.

use std::time::Duration;

use actix_http::StatusCode;
use actix_http::header::{self, HeaderMap};
use serde::Deserialize;

/// No `Retry-After` holds a notification back longer than this.
const LONGEST_PAUSE: Duration = Duration::from_secs(24 * 60 * 60);

/// What became of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The server took it.
    Delivered {
        /// The server's id of the message, when it told one.
        receipt: Option<String>,
    },
    /// It may work later.
    Retry {
        /// The pause the server asked for.
        after: Option<Duration>,
        /// Why it did not work now.
        reason: String,
    },
    /// It never will: the message or the server's configuration is at fault.
    Rejected {
        /// Why.
        reason: String,
    },
}

impl Answer {
    pub(super) fn retry(reason: String) -> Self {
        Self::Retry { after: None, reason }
    }
}

/// The part of ntfy's answers that matters, both of its messages and of its errors.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Told {
    id: Option<String>,
    code: Option<u32>,
    error: Option<String>,
}

/// A 2xx is delivered; a 4xx is final, but for timeouts and rate limits; anything else may change.
pub(super) fn interpret(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Answer {
    let told = serde_json::from_slice::<Told>(body).unwrap_or_default();
    if status.is_success() {
        return Answer::Delivered { receipt: told.id };
    }
    let reason = reason(status, headers, told);
    match status.as_u16() {
        408 | 425 | 429 => Answer::Retry { after: retry_after(headers), reason },
        400..=499 => Answer::Rejected { reason },
        _ => Answer::Retry { after: retry_after(headers), reason },
    }
}

fn reason(status: StatusCode, headers: &HeaderMap, told: Told) -> String {
    if let (Some(code), Some(error)) = (told.code, told.error) {
        return format!("{code} {error}");
    }
    match headers.get(header::LOCATION).and_then(|to| to.to_str().ok()) {
        Some(to) if status.is_redirection() => format!("{status}, to `{to}`; use that as the server's url"),
        _ => format!("{status}, not in ntfy's words"),
    }
}

/// The pause in seconds. The other form, a date, depends on two clocks: the backoff serves better.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(LONGEST_PAUSE))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use actix_http::StatusCode;
    use actix_http::header::{HeaderMap, HeaderName, HeaderValue};

    use super::{Answer, interpret};

    fn answer(status: u16, headers: &[(&'static str, &'static str)], body: &str) -> Answer {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        interpret(StatusCode::from_u16(status).unwrap(), &map, body.as_bytes())
    }

    #[test]
    fn the_receipt_is_the_id_of_the_stored_message() {
        let receipt = Some("sPs71M8A2T".to_owned());
        let body = r#"{"id":"sPs71M8A2T","time":1643935928,"event":"message","topic":"ci"}"#;
        assert_eq!(answer(200, &[], body), Answer::Delivered { receipt });
        assert_eq!(answer(204, &[], ""), Answer::Delivered { receipt: None });
    }

    #[test]
    fn ntfy_s_own_words_are_the_reason() {
        let body = r#"{"code":40009,"http":400,"error":"invalid request: topic invalid","link":"x"}"#;
        let reason = "40009 invalid request: topic invalid".to_owned();
        assert_eq!(answer(400, &[], body), Answer::Rejected { reason });
    }

    #[test]
    fn a_rate_limit_is_retried_after_the_pause_asked_for() {
        let body = r#"{"code":42901,"http":429,"error":"limit reached: too many requests"}"#;
        let reason = "42901 limit reached: too many requests".to_owned();
        let after = Some(Duration::from_secs(7));
        assert_eq!(answer(429, &[("retry-after", "7")], body), Answer::Retry { after, reason });
    }

    #[test]
    fn only_client_errors_that_cannot_pass_are_final() {
        let is_final = |status| matches!(answer(status, &[], "{}"), Answer::Rejected { .. });
        let finals: Vec<_> = (100..600).filter(|status| is_final(*status)).collect();
        let expected: Vec<_> = (400..500).filter(|status| ![408, 425, 429].contains(status)).collect();
        assert_eq!(finals, expected);
    }

    #[test]
    fn a_redirect_tells_where_to() {
        let reason =
            "308 Permanent Redirect, to `https://n.example/`; use that as the server's url".to_owned();
        let headers = [("location", "https://n.example/")];
        assert_eq!(answer(308, &headers, ""), Answer::Retry { after: None, reason });
    }

    #[test]
    fn a_proxy_s_page_is_told_by_its_status() {
        let reason = "502 Bad Gateway, not in ntfy's words".to_owned();
        assert_eq!(answer(502, &[], "<html>"), Answer::Retry { after: None, reason });
    }

    #[test]
    fn a_pause_that_is_no_number_or_endless_is_bounded() {
        let after = |value| match answer(503, &[("retry-after", value)], "") {
            Answer::Retry { after, .. } => after,
            other => panic!("{other:?}"),
        };
        assert_eq!(after("Fri, 31 Dec 2027 23:59:59 GMT"), None);
        assert_eq!(after("99999999999"), Some(Duration::from_secs(24 * 60 * 60)));
    }
}
