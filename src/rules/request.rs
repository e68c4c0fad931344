//! A webhook as rules see it: decoded, without its secrets.

use std::net::IpAddr;

use serde_json::Value;

/// Everything a rule can ask about one webhook.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Upper-case.
    pub method: String,
    /// Names in lower case; repeated ones in order.
    pub headers: Vec<(String, String)>,
    /// Decoded; repeated ones in order.
    pub query: Vec<(String, String)>,
    /// The named segments of the source's path, decoded.
    pub path: Vec<(String, String)>,
    /// The decoded body.
    pub body: Value,
    /// When it came, in Unix milliseconds.
    pub received_at: i64,
    /// Path and query as they were asked for; signatures may cover them. Empty where nobody asked.
    pub target: String,
    /// Who sent it, as far as proxies that are trusted tell; unknown where nobody sent it.
    pub client: Option<IpAddr>,
    /// Whether a proxy that is trusted passed it on, so that what it says of the sender counts.
    pub through_proxy: bool,
}

/// One webhook, or one item of it, while its rules are tried.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// The request without its body.
    pub request: &'a Request,
    /// The body.
    pub body: &'a Value,
    /// The item, where the source has a `split`.
    pub item: Option<&'a Value>,
}

/// The values of all entries called `name`.
pub(crate) fn values_of<'a>(entries: &'a [(String, String)], name: &str) -> impl Iterator<Item = &'a str> {
    entries.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
}

impl Request {
    /// The parameters of a query string, decoded.
    pub fn parse_query(query: &str) -> Vec<(String, String)> {
        form_urlencoded::parse(query.as_bytes())
            .map(|(name, value)| (name.into_owned(), value.into_owned()))
            .collect()
    }

    /// The named segments of a path, decoded.
    pub fn decode_path(path: Vec<(String, String)>) -> Vec<(String, String)> {
        let decode =
            |value: String| percent_encoding::percent_decode_str(&value).decode_utf8_lossy().into_owned();
        path.into_iter().map(|(name, value)| (name, decode(value))).collect()
    }
}
