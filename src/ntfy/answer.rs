//! What an answer means for the notification and for its server: a pure function of status, headers and body.
//!
//! The codes are those of ntfy's `server/errors.go`; what to do about each is in `docs/delivery.md`.

use std::time::Duration;

use actix_http::StatusCode;
use actix_http::header::{self, HeaderMap};
use serde::Deserialize;

/// No `Retry-After` holds a notification back longer than this.
const LONGEST_PAUSE: Duration = Duration::from_secs(24 * 60 * 60);
/// How long a topic waits that would be one too many just now (42911: one more a minute).
const NEW_TOPIC: Duration = Duration::from_secs(60);
/// How long a topic waits on a server that holds no more of them (42904).
const SERVER_FULL: Duration = Duration::from_secs(10 * 60);

/// What became of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The server took it.
    Delivered {
        /// The server's id of the message, when it told one.
        receipt: Option<String>,
    },
    /// It did not.
    Failed(Failure),
}

/// Why an attempt failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What is at fault, and so what to do.
    pub cause: Cause,
    /// In words.
    pub reason: String,
    /// The pause that was asked for. ntfy itself never asks; a proxy may.
    pub after: Option<Duration>,
}

/// What is at fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The server is away: no connection, or a proxy's 502, 503 or 504.
    Unreachable,
    /// The server failed, perhaps over this message: another 5xx, 408, 425, or no answer in time.
    Failing,
    /// Too many requests. `paced`: by ntfy's bucket, which gains one every 5 seconds (42901).
    Limited {
        /// Whether ntfy's own bucket is empty.
        paced: bool,
    },
    /// The day's messages are used up (42908).
    Quota,
    /// The topic has to wait, others need not.
    TopicLimited(Duration),
    /// The credentials do not cover this topic (40301).
    TopicForbidden,
    /// Credentials, address or proxy are wrong: nothing can be sent until a person changes something.
    Misconfigured {
        /// Whether ntfy itself said so. A proxy may mind one message only.
        by_ntfy: bool,
    },
    /// The message is too large in this part, for this server.
    TooLarge(Part),
    /// The message is wrong and stays so.
    Message,
}

/// A part of a message that can be given up for the rest to arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The end of the text.
    Message,
    /// The end of the title.
    Title,
    /// The last tags.
    Tags,
    /// The e-mail and the call (42902, 42910: their daily limits).
    EmailAndCall,
}

impl Answer {
    pub(super) fn failed(cause: Cause, reason: impl Into<String>) -> Self {
        Self::Failed(Failure { cause, reason: reason.into(), after: None })
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

/// Reads an answer.
pub(super) fn interpret(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Answer {
    let told = serde_json::from_slice::<Told>(body).unwrap_or_default();
    if status.is_success() && !is_page(headers, body) {
        return Answer::Delivered { receipt: told.id };
    }
    // A code that does not fit its status is not ntfy's.
    let code = told.code.filter(|code| code / 100 == u32::from(status.as_u16()));
    let cause = code.and_then(of_code).unwrap_or_else(|| of_status(status.as_u16(), code.is_some()));
    Answer::Failed(Failure { cause, reason: reason(status, headers, told), after: retry_after(headers) })
}

/// What ntfy's own code means, where it means more than its status.
fn of_code(code: u32) -> Option<Cause> {
    Some(match code {
        40014 | 41301 | 41303 | 42905 => Cause::TooLarge(Part::Message),
        40057 => Cause::TooLarge(Part::Title),
        40058 => Cause::TooLarge(Part::Tags),
        42902 | 42910 => Cause::TooLarge(Part::EmailAndCall),
        40301 => Cause::TopicForbidden,
        42901 => Cause::Limited { paced: true },
        42904 => Cause::TopicLimited(SERVER_FULL),
        42908 => Cause::Quota,
        42909 | 50003 | 50701 => Cause::Misconfigured { by_ntfy: true },
        42911 => Cause::TopicLimited(NEW_TOPIC),
        _ => return None,
    })
}

fn of_status(status: u16, by_ntfy: bool) -> Cause {
    match status {
        408 | 425 => Cause::Failing,
        429 => Cause::Limited { paced: false },
        401 | 403 | 405 => Cause::Misconfigured { by_ntfy },
        413 if !by_ntfy => Cause::TooLarge(Part::Message),
        400..=499 if by_ntfy => Cause::Message,
        // A 2xx here is a page where ntfy's message belongs.
        200..=499 => Cause::Misconfigured { by_ntfy: false },
        502..=504 => Cause::Unreachable,
        _ => Cause::Failing,
    }
}

/// A page for people: a proxy's, or a captive portal's.
fn is_page(headers: &HeaderMap, body: &[u8]) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.to_ascii_lowercase().contains("html") || body.trim_ascii_start().starts_with(b"<")
}

fn reason(status: StatusCode, headers: &HeaderMap, told: Told) -> String {
    if let (Some(code), Some(error)) = (told.code, told.error) {
        return format!("{code} {error}");
    }
    let name = status.canonical_reason().map(|name| format!(" {name}")).unwrap_or_default();
    let number = status.as_u16();
    match headers.get(header::LOCATION).and_then(|to| to.to_str().ok()) {
        Some(to) if status.is_redirection() => {
            format!("{number}{name}, to `{to}`; use that as the server's url")
        }
        _ => format!("{number}{name}, not in ntfy's words"),
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
    use proptest::prelude::*;

    use super::{Answer, Cause, Failure, Part, interpret};

    fn answer(status: u16, headers: &[(&'static str, &'static str)], body: &str) -> Answer {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        interpret(StatusCode::from_u16(status).unwrap(), &map, body.as_bytes())
    }

    fn cause(status: u16, body: &str) -> Option<Cause> {
        match answer(status, &[], body) {
            Answer::Failed(failure) => Some(failure.cause),
            Answer::Delivered { .. } => None,
        }
    }

    fn coded(code: u32) -> Option<Cause> {
        let status = u16::try_from(code / 100).unwrap();
        cause(status, &format!(r#"{{"code":{code},"http":{status},"error":"why"}}"#))
    }

    #[test]
    fn the_receipt_is_the_id_of_the_stored_message() {
        let receipt = Some("sPs71M8A2T".to_owned());
        let body = r#"{"id":"sPs71M8A2T","time":1643935928,"event":"message","topic":"ci"}"#;
        assert_eq!(answer(200, &[], body), Answer::Delivered { receipt });
        assert_eq!(answer(204, &[], ""), Answer::Delivered { receipt: None });
    }

    #[test]
    fn each_code_of_ntfy_s_has_its_cause() {
        let message = [
            40001, 40002, 40003, 40004, 40005, 40006, 40007, 40008, 40009, 40010, 40011, 40012, 40013, 40018,
            40021, 40024, 40032, 40033, 40034, 40035, 40037, 40041, 40049, 40050, 40052, 40053, 40401, 41302,
        ];
        for code in message {
            assert_eq!(coded(code), Some(Cause::Message), "{code}");
        }
        let table = [
            (40014, Cause::TooLarge(Part::Message)),
            (40057, Cause::TooLarge(Part::Title)),
            (40058, Cause::TooLarge(Part::Tags)),
            (40101, Cause::Misconfigured { by_ntfy: true }),
            (40301, Cause::TopicForbidden),
            (41301, Cause::TooLarge(Part::Message)),
            (41303, Cause::TooLarge(Part::Message)),
            (42901, Cause::Limited { paced: true }),
            (42902, Cause::TooLarge(Part::EmailAndCall)),
            (42903, Cause::Limited { paced: false }),
            (42904, Cause::TopicLimited(Duration::from_secs(600))),
            (42905, Cause::TooLarge(Part::Message)),
            (42908, Cause::Quota),
            (42909, Cause::Misconfigured { by_ntfy: true }),
            (42910, Cause::TooLarge(Part::EmailAndCall)),
            (42911, Cause::TopicLimited(Duration::from_secs(60))),
            (50001, Cause::Failing),
            (50003, Cause::Misconfigured { by_ntfy: true }),
            (50701, Cause::Misconfigured { by_ntfy: true }),
        ];
        for (code, expected) in table {
            assert_eq!(coded(code), Some(expected), "{code}");
        }
    }

    #[test]
    fn what_ntfy_did_not_say_is_read_by_its_status() {
        let misconfigured = Some(Cause::Misconfigured { by_ntfy: false });
        for status in [301, 302, 307, 308, 400, 401, 403, 404, 405, 407, 410, 418] {
            assert_eq!(cause(status, "<html>"), misconfigured, "{status}");
        }
        assert_eq!(cause(200, "<!doctype html><title>Sign in</title>"), misconfigured);
        assert_eq!(cause(413, "<html>"), Some(Cause::TooLarge(Part::Message)));
        assert_eq!(cause(429, ""), Some(Cause::Limited { paced: false }));
        for status in [408, 425, 500, 501, 505, 520] {
            assert_eq!(cause(status, ""), Some(Cause::Failing), "{status}");
        }
        for status in [502, 503, 504] {
            assert_eq!(cause(status, "<html>"), Some(Cause::Unreachable), "{status}");
        }
    }

    #[test]
    fn a_code_that_does_not_fit_its_status_is_not_ntfy_s() {
        let body = r#"{"code":40009,"http":400,"error":"topic invalid"}"#;
        assert_eq!(cause(502, body), Some(Cause::Unreachable));
        assert_eq!(
            cause(404, r#"{"code":404,"error":"no such route"}"#),
            Some(Cause::Misconfigured { by_ntfy: false })
        );
    }

    #[test]
    fn a_page_is_told_by_its_type_too() {
        let told = answer(200, &[("content-type", "text/html; charset=utf-8")], "welcome");
        let reason = "200 OK, not in ntfy's words".to_owned();
        let cause = Cause::Misconfigured { by_ntfy: false };
        assert_eq!(told, Answer::Failed(Failure { cause, reason, after: None }));
    }

    #[test]
    fn ntfy_s_own_words_and_a_proxy_s_pause_are_told() {
        let body = r#"{"code":42901,"http":429,"error":"limit reached: too many requests","link":"x"}"#;
        let expected = Failure {
            cause: Cause::Limited { paced: true },
            reason: "42901 limit reached: too many requests".to_owned(),
            after: Some(Duration::from_secs(7)),
        };
        assert_eq!(answer(429, &[("retry-after", "7")], body), Answer::Failed(expected));
    }

    #[test]
    fn a_redirect_tells_where_to() {
        let reason =
            "308 Permanent Redirect, to `https://n.example/`; use that as the server's url".to_owned();
        let cause = Cause::Misconfigured { by_ntfy: false };
        let headers = [("location", "https://n.example/")];
        assert_eq!(answer(308, &headers, ""), Answer::Failed(Failure { cause, reason, after: None }));
    }

    #[test]
    fn a_pause_that_is_no_number_or_endless_is_bounded() {
        let after = |value| match answer(503, &[("retry-after", value)], "") {
            Answer::Failed(failure) => failure.after,
            other => panic!("{other:?}"),
        };
        assert_eq!(after("Fri, 31 Dec 2027 23:59:59 GMT"), None);
        assert_eq!(after("99999999999"), Some(Duration::from_secs(24 * 60 * 60)));
    }

    proptest! {
        #[test]
        fn only_a_2xx_that_is_no_page_is_delivered(status in 100_u16..600, body in "\\PC{0,40}") {
            let delivered = matches!(answer(status, &[], &body), Answer::Delivered { .. });
            prop_assert_eq!(delivered, (200..300).contains(&status) && !body.trim_start().starts_with('<'));
        }
    }
}
