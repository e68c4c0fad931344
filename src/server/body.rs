//! Reading a body within its limits of size and time.

use std::time::Duration;

use actix_web::HttpRequest;
use actix_web::http::header::CONTENT_LENGTH;
use actix_web::web::{Bytes, BytesMut, Payload};
use futures_util::StreamExt;

use super::error::Refused;
use crate::payload::Unreadable;
use crate::pipeline::Refusal;

/// The whole body, byte for byte.
pub(super) async fn read(
    request: &HttpRequest,
    payload: Payload,
    limit: usize,
    time: Duration,
) -> Result<Bytes, Refused> {
    let announced =
        request.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    if announced.is_some_and(|length: usize| length > limit) {
        return Err(too_large(limit));
    }
    match tokio::time::timeout(time, collect(payload, announced.unwrap_or_default(), limit)).await {
        Ok(body) => body,
        Err(_) => Err(Refused::TooSlow),
    }
}

async fn collect(mut payload: Payload, announced: usize, limit: usize) -> Result<Bytes, Refused> {
    let first = match payload.next().await {
        None => return Ok(Bytes::new()),
        Some(chunk) => chunk.map_err(|_| Refused::Interrupted)?,
    };
    // Most bodies come in one piece, which is then not copied.
    if first.len() == announced && first.len() <= limit {
        return Ok(first);
    }
    // What is announced is only believed up to a point: memory is taken as bytes come.
    let mut body = BytesMut::with_capacity(announced.min(64 * 1024).max(first.len()));
    body.extend_from_slice(&first);
    while body.len() <= limit {
        match payload.next().await {
            None => return Ok(body.freeze()),
            Some(chunk) => body.extend_from_slice(&chunk.map_err(|_| Refused::Interrupted)?),
        }
    }
    Err(too_large(limit))
}

fn too_large(limit: usize) -> Refused {
    Refusal::Unreadable(Unreadable::TooLarge { limit }).into()
}
