//! From `respond:` to a [`Respond`].

use actix_web::http::header::HeaderValue;

use super::template::compile_optional;
use crate::problem::{Problem, Problems};
use crate::rules::decode::At;
use crate::rules::raw;
use crate::rules::source::Respond;
use crate::rules::template::Vocabulary;

const STATUS: u64 = 200;

/// Compiles an answer.
pub(super) fn compile_respond(
    raw: &At<raw::Respond>,
    vocabulary: &mut Vocabulary<'_>,
    problems: &mut Problems,
) -> Option<Respond> {
    let respond = &raw.value;
    let status = respond.status.as_ref().map_or(STATUS, |status| status.value);
    // A 5xx is the gateway's own: senders send again then, and the webhook was taken.
    if !(200..300).contains(&status) && !(400..500).contains(&status) {
        let place = respond.status.as_ref().map_or(&raw.place, |status| &status.place);
        let message = format!("status {status} cannot be answered");
        problems.push(Problem::at(place, message).help("use 200 to 299, or 400 to 499"));
    }
    let content_type = respond.content_type.as_ref().map_or("application/json", |kind| kind.value.as_str());
    if HeaderValue::from_str(content_type).is_err() || !content_type.contains('/') {
        let place = respond.content_type.as_ref().map_or(&raw.place, |kind| &kind.place);
        let message = format!("invalid content type {content_type:?}");
        problems.push(Problem::at(place, message).help("write it like text/plain"));
    }
    Some(Respond {
        status: u16::try_from(status).ok()?,
        content_type: content_type.to_owned(),
        body: compile_optional(respond.body.as_ref(), vocabulary, problems),
    })
}
