//! What must be read of an answer: its status, where it ends, and whether the connection goes on.

use std::io::{Error, ErrorKind, Result};

/// A complete answer at the start of what was received.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// How many bytes it has, head and body.
    pub(crate) length: usize,
    pub(crate) keep_alive: bool,
}

/// The answer, or none while it is not complete.
pub(crate) fn parse(received: &[u8]) -> Result<Option<Answer>> {
    let mut headers = [httparse::EMPTY_HEADER; 32];
    let mut response = httparse::Response::new(&mut headers);
    let httparse::Status::Complete(head) = response.parse(received).map_err(invalid)? else {
        return Ok(None);
    };
    let status = response.code.unwrap_or(0);
    let body = length(status, response.headers)?;
    if received.len() < head + body {
        return Ok(None);
    }
    let keep_alive = response.version == Some(1) && !closes(response.headers);
    Ok(Some(Answer { status, length: head + body, keep_alive }))
}

fn length(status: u16, headers: &[httparse::Header<'_>]) -> Result<usize> {
    if find(headers, "transfer-encoding").is_some() {
        return Err(invalid("an answer in chunks, which none of those measured gives"));
    }
    match find(headers, "content-length") {
        Some(length) => length.trim().parse().map_err(invalid),
        None if status == 204 || status == 304 => Ok(0),
        None => Err(invalid("an answer without a length")),
    }
}

fn closes(headers: &[httparse::Header<'_>]) -> bool {
    find(headers, "connection").is_some_and(|value| value.trim().eq_ignore_ascii_case("close"))
}

fn find<'a>(headers: &'a [httparse::Header<'_>], name: &str) -> Option<&'a str> {
    let header = headers.iter().find(|header| header.name.eq_ignore_ascii_case(name))?;
    std::str::from_utf8(header.value).ok()
}

fn invalid(why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::new(ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 4\r\nDate: now\r\n\r\n{\"\"}";

    #[test]
    fn an_answer_is_none_until_its_last_byte() {
        for end in 0..OK.len() {
            assert_eq!(parse(&OK.as_bytes()[..end]).unwrap(), None, "{end}");
        }
        let answer = Answer { status: 200, length: OK.len(), keep_alive: true };
        assert_eq!(parse(OK.as_bytes()).unwrap(), Some(answer));
    }

    #[test]
    fn what_follows_an_answer_is_not_part_of_it() {
        let more = format!("{OK}HTTP/1.1 500 ");
        assert_eq!(parse(more.as_bytes()).unwrap().unwrap().length, OK.len());
    }

    #[test]
    fn a_connection_ends_when_the_answer_says_so() {
        let keeps = |text: &str| parse(text.as_bytes()).unwrap().unwrap().keep_alive;
        assert!(!keeps("HTTP/1.1 400 Bad\r\nConnection: Close\r\nContent-Length: 0\r\n\r\n"));
        assert!(!keeps("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"));
        assert!(keeps("HTTP/1.1 204 No Content\r\n\r\n"));
    }

    #[test]
    fn what_is_no_answer_is_an_error() {
        for text in [
            "SSH-2.0-x\r\n\r\n",
            "HTTP/1.1 200 OK\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        ] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
    }
}
