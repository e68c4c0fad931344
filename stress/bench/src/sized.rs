//! Bodies made to measure.

use anyhow::{Result, ensure};

use crate::mix::Kind;
use crate::request::{ID, Request, places};
use crate::samples::{header, json_type, kind};

/// What the bytes of an id are in a body made to measure.
const OWN: &[u8; ID] = b"------------------------";

/// A webhook whose body has exactly this size: an id, a text, and many small objects.
pub(crate) fn sized(path: &str, headers: &[String], size: usize) -> Result<Kind> {
    let body = sized_body(size)?;
    let mut all = vec![json_type()];
    all.extend(headers.iter().map(|line| header(line)).collect::<Result<Vec<_>>>()?);
    let ids = places(&body, OWN);
    Ok(kind("sized", 1, 200, Request { path: path.into(), headers: all, body, ids, id_header: None }))
}

fn sized_body(size: usize) -> Result<Vec<u8>> {
    let mut body =
        br#"{"n":"------------------------","app":"shop-api","text":"Deployment failed","jobs":["#.to_vec();
    let (job, end) = (br#"{"name":"test","ok":false,"seconds":12},"#, br#"{}],"x":""}"#);
    let least = body.len() + end.len();
    ensure!(size >= least, "a body has at least {least} bytes");
    while body.len() + job.len() + end.len() <= size {
        body.extend_from_slice(job);
    }
    body.extend_from_slice(&end[..end.len() - 2]);
    body.resize(size - 2, b'y');
    body.extend_from_slice(br#""}"#);
    Ok(body)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_sized_body_is_json_of_exactly_that_size_with_one_id() {
        for size in [100, 101, 141, 142, 1024, 30_000, 1_048_576] {
            let body = sized_body(size).unwrap();
            assert_eq!((body.len(), places(&body, OWN).len()), (size, 1));
            assert!(serde_json::from_slice::<Value>(&body).is_ok(), "{size}");
        }
        assert!(sized_body(20).is_err());
    }
}
