//! A request that is ready before the run, but for the places where each one has an id of its own.

/// How long an id is: as long as Coolify's own, so that no length changes.
pub(crate) const ID: usize = 24;

/// A request as text, before it is made ready.
#[derive(Clone, Debug, Default)]
pub(crate) struct Request {
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Where the body has an id.
    pub(crate) ids: Vec<usize>,
    /// The header whose value is an id.
    pub(crate) id_header: Option<&'static str>,
}

/// The bytes of a request, and where its id belongs in them.
#[derive(Debug)]
pub(crate) struct Ready {
    bytes: Vec<u8>,
    ids: Vec<usize>,
}

impl Request {
    pub(crate) fn ready(&self, host: &str) -> Ready {
        let mut bytes = format!("POST {} HTTP/1.1\r\nHost: {host}\r\n", self.path).into_bytes();
        let mut ids = Vec::new();
        for (name, value) in &self.headers {
            bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        if let Some(name) = self.id_header {
            bytes.extend_from_slice(format!("{name}: ").as_bytes());
            ids.push(bytes.len());
            bytes.extend_from_slice(&[b'0'; ID]);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(format!("Content-Length: {}\r\n\r\n", self.body.len()).as_bytes());
        ids.extend(self.ids.iter().map(|at| at + bytes.len()));
        bytes.extend_from_slice(&self.body);
        Ready { bytes, ids }
    }
}

impl Ready {
    /// Puts the request with this id into a buffer, in place of what was there.
    pub(crate) fn write(&self, id: &[u8; ID], buffer: &mut Vec<u8>) {
        buffer.clear();
        buffer.extend_from_slice(&self.bytes);
        for &at in &self.ids {
            buffer[at..at + ID].copy_from_slice(id);
        }
    }
}

/// Where one text is in another, every time.
pub(crate) fn places(text: &[u8], part: &[u8]) -> Vec<usize> {
    (0..=text.len().saturating_sub(part.len())).filter(|&at| text[at..].starts_with(part)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_goes_into_its_header_and_every_place_of_the_body() {
        let old = "d0k4o88gs4wcs0okk8g0cwo4";
        let body = format!("[\"{old}\",\"/{old}\"]").into_bytes();
        let request = Request {
            path: "/x".into(),
            headers: vec![("A".into(), "b".into())],
            ids: places(&body, old.as_bytes()),
            body,
            id_header: Some("Id"),
        };
        let mut buffer = b"what was there".to_vec();
        request.ready("h:1").write(b"0123456789abcdefghijklmn", &mut buffer);
        let id = "0123456789abcdefghijklmn";
        let text = format!(
            "POST /x HTTP/1.1\r\nHost: h:1\r\nA: b\r\nId: {id}\r\nContent-Length: 56\r\n\r\n[\"{id}\",\"/{id}\"]"
        );
        assert_eq!(String::from_utf8(buffer).unwrap(), text);
    }

    #[test]
    fn places_are_found_at_both_ends_and_nowhere_else() {
        assert_eq!(places(b"abcabc", b"abc"), [0, 3]);
        assert_eq!(places(b"ab", b"abc"), [0; 0]);
        assert_eq!(places(b"xabcx", b"abc"), [1]);
    }
}
