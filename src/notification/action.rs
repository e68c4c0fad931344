//! The buttons below a notification.

use std::collections::BTreeMap;

use serde::Serialize;

/// One button. `label` is required for all; see ntfy's docs, "Action buttons".
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "action", rename_all = "lowercase")]
pub enum Action {
    /// Opens a website or app.
    View {
        /// The button's text.
        label: String,
        /// What it opens.
        url: String,
        /// Whether a tap also clears the notification.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        clear: bool,
    },
    /// Makes the phone send an HTTP request.
    Http {
        /// The button's text.
        label: String,
        /// An http(s) URL.
        url: String,
        /// `None` is POST.
        #[serde(skip_serializing_if = "Option::is_none")]
        method: Option<String>,
        /// Request headers.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        headers: BTreeMap<String, String>,
        /// Request body; none with GET and HEAD.
        #[serde(skip_serializing_if = "Option::is_none")]
        body: Option<String>,
        /// Whether success also clears the notification.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        clear: bool,
    },
    /// Sends an Android broadcast.
    Broadcast {
        /// The button's text.
        label: String,
        /// `None` is ntfy's own intent.
        #[serde(skip_serializing_if = "Option::is_none")]
        intent: Option<String>,
        /// The intent's extras.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        extras: BTreeMap<String, String>,
        /// Whether a tap also clears the notification.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        clear: bool,
    },
    /// Copies a text (ntfy 2.17 and later).
    Copy {
        /// The button's text.
        label: String,
        /// What is copied.
        value: String,
        /// Whether a tap also clears the notification.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        clear: bool,
    },
}

/// ntfy would refuse the action with 400/40018.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidAction {
    /// Only http(s) can be requested.
    #[error("invalid url {0:?} of an http action: it must start with http:// or https://")]
    Url(String),
    /// GET and HEAD carry no body.
    #[error("an http action with method {0:?} cannot have a body")]
    Body(String),
}

impl Action {
    /// Checks what ntfy checks beyond the presence of label and url.
    pub fn check(&self) -> Result<(), InvalidAction> {
        let Self::Http { url, method, body, .. } = self else { return Ok(()) };
        if !is_http_url(url) {
            return Err(InvalidAction::Url(url.clone()));
        }
        match method {
            Some(method) if body.is_some() && matches!(method.to_uppercase().as_str(), "GET" | "HEAD") => {
                Err(InvalidAction::Body(method.clone()))
            }
            _ => Ok(()),
        }
    }
}

/// Whether ntfy takes `url` as an icon, an attachment or an http action's target.
pub(crate) fn is_http_url(url: &str) -> bool {
    url.starts_with("http://") || url.starts_with("https://")
}
