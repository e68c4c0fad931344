//! Webhooks as they came, for who wants to know later. What proved the sender is not in them.

use bytes::Bytes;

/// A body below this size is kept as it is: there is little to gain.
const WORTH_PACKING: usize = 512;

/// Names and values, in order.
type Pairs<'a> = Vec<(&'a str, &'a str)>;

/// One received webhook.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Record {
    /// The source that took it.
    pub source: String,
    /// Upper-case.
    pub method: String,
    /// The named segments of its path.
    pub path: Vec<(String, String)>,
    /// Its query parameters.
    pub query: Vec<(String, String)>,
    /// Its headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// Its body, byte for byte.
    pub body: Bytes,
    /// When it came, in Unix milliseconds.
    pub received_at: i64,
}

/// What a record says of its webhook besides the body, as JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head(String);

impl Head {
    /// Of a request's method, the named segments of its path, its query parameters and its headers.
    pub fn new(method: &str, path: Pairs<'_>, query: Pairs<'_>, headers: Pairs<'_>) -> Self {
        Self(serde_json::to_string(&(method, path, query, headers)).unwrap_or_default())
    }
}

/// A record ready for the disk. Made by who takes the webhook, as there are many of them and one that writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// When the webhook came, in Unix milliseconds.
    pub(super) received_at: i64,
    /// JSON; see [`Head::new`].
    pub(super) head: String,
    /// The body, as it came or packed.
    pub(super) body: Bytes,
    /// The size of the body in bytes, where it is packed.
    pub(super) unpacked: Option<usize>,
}

impl Kept {
    /// Prepares the record of a webhook that came at `received_at`.
    pub fn new(received_at: i64, Head(head): Head, body: Bytes) -> Self {
        if body.len() >= WORTH_PACKING {
            let packed = lz4_flex::block::compress(&body);
            if packed.len() < body.len() {
                return Self { received_at, head, unpacked: Some(body.len()), body: packed.into() };
            }
        }
        Self { received_at, head, body, unpacked: None }
    }
}

impl Kept {
    /// When the webhook came, in Unix milliseconds.
    pub fn received_at(&self) -> i64 {
        self.received_at
    }
}

impl From<&Record> for Kept {
    fn from(record: &Record) -> Self {
        let (path, query, headers) = (pairs(&record.path), pairs(&record.query), pairs(&record.headers));
        let head = Head::new(&record.method, path, query, headers);
        Self::new(record.received_at, head, record.body.clone())
    }
}

fn pairs(owned: &[(String, String)]) -> Pairs<'_> {
    owned.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

/// The body of a [`Kept`], as it came.
pub(super) fn unpack(
    body: Vec<u8>,
    unpacked: Option<usize>,
) -> Result<Bytes, lz4_flex::block::DecompressError> {
    match unpacked {
        Some(size) => lz4_flex::block::decompress(&body, size).map(Bytes::from),
        None => Ok(body.into()),
    }
}
