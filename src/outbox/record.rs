//! Webhooks as they came, for who wants to know later. What proved the sender is not in them.

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
    pub body: Vec<u8>,
    /// When it came, in Unix milliseconds.
    pub received_at: i64,
}
