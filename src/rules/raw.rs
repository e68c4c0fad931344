//! The rule language as it is written: every key, before anything is checked against anything else.

use std::time::Duration;

use super::decode::{At, Decode, Entries, RawSecret, record};
use super::node::Node;
use crate::problem::Problems;

record! {
    /// One file of the rules folder. All files together are one document.
    Document {
        /// ntfy servers by name.
        servers: Entries<At<Server>> = "servers",
        /// Look-ups shared by rules, by name.
        tables: Entries<Entries<At<String>>> = "tables",
        /// Senders by name.
        sources: Entries<At<Source>> = "sources",
    }
}

record! {
    /// An ntfy server.
    Server {
        /// Its root, without a path.
        url: At<String> = "url",
        /// An access token (`tk_…`).
        token: Option<At<RawSecret>> = "token",
        /// For basic authentication, with `password`.
        username: Option<At<String>> = "username",
        /// For basic authentication, with `username`.
        password: Option<At<RawSecret>> = "password",
        /// The most connections that may be open at any time. Default 16.
        connections: Option<At<u64>> = "connections",
        /// How long one attempt may take. Default 10s.
        timeout: Option<At<Duration>> = "timeout",
    }
}

record! {
    /// A sender of webhooks.
    Source {
        /// Where it posts, such as `/hooks/{team}/github`.
        path: At<String> = "path",
        /// The methods it may use. Default POST.
        methods: Vec<At<String>> = "methods",
        /// How it proves who it is.
        verify: Option<Verify> = "verify",
        /// A key that tells a repeated webhook: a template, or `{key, window}`.
        dedupe: Option<Dedupe> = "dedupe",
        /// What a body that cannot be read becomes: `reject` (default) or `notify`.
        malformed: Option<At<String>> = "malformed",
        /// What a webhook that no rule matches becomes: `drop` (default) or `notify`.
        unmatched: Option<At<String>> = "unmatched",
        /// What every notification of this source starts from.
        defaults: Option<At<Publish>> = "defaults",
        /// A JSONPath; every node it selects runs through the rules as `item`.
        split: Option<At<String>> = "split",
        /// Tried in order; the first match wins.
        rules: Vec<At<Rule>> = "rules",
    }
}

record! {
    /// How a sender proves who it is. Exactly one of the keys that name a way.
    Verify {
        /// A preset by name, with `secrets`.
        scheme: Option<At<String>> = "scheme",
        /// The secrets of `scheme`; any may match, for rotation.
        secrets: Vec<At<RawSecret>> = "secrets",
        /// A signature over the raw body.
        hmac: Option<At<Hmac>> = "hmac",
        /// A secret in a header or in the query.
        token: Option<At<Token>> = "token",
        /// HTTP basic authentication.
        basic: Option<At<Basic>> = "basic",
        /// `Authorization: Bearer …`.
        bearer: Option<At<Bearer>> = "bearer",
        /// A secret segment of the path.
        path_secret: Option<At<PathSecret>> = "path_secret",
    }
}

record! {
    /// A signature over the raw body.
    Hmac {
        /// The header that carries it.
        header: At<String> = "header",
        /// sha1, sha256 or sha512. Default sha256.
        algorithm: Option<At<String>> = "algorithm",
        /// hex or base64. Default hex.
        encoding: Option<At<String>> = "encoding",
        /// What stands before the signature, such as `sha256=`.
        prefix: Option<At<String>> = "prefix",
        /// Any may match.
        secrets: Vec<At<RawSecret>> = "secrets",
    }
}

record! {
    /// A secret in a header or in the query.
    Token {
        /// The header's name.
        header: Option<At<String>> = "header",
        /// The query parameter's name.
        query: Option<At<String>> = "query",
        /// Any may match.
        secrets: Vec<At<RawSecret>> = "secrets",
    }
}

record! {
    /// HTTP basic authentication.
    Basic {
        /// The user.
        username: At<String> = "username",
        /// Any may match.
        passwords: Vec<At<RawSecret>> = "passwords",
    }
}

record! {
    /// `Authorization: Bearer …`.
    Bearer {
        /// Any may match.
        secrets: Vec<At<RawSecret>> = "secrets",
    }
}

record! {
    /// A secret segment of the path.
    PathSecret {
        /// The segment's name in `path`.
        segment: At<String> = "segment",
        /// Any may match.
        secrets: Vec<At<RawSecret>> = "secrets",
    }
}

record! {
    /// A rule. It publishes, drops, or goes on.
    Rule {
        /// A phrase that says what it is about.
        name: At<String> = "name",
        /// All of these must hold; absent, the rule matches always.
        when: Option<Node> = "when",
        /// Values for templates: a JSONPath or a template each.
        bindings: Entries<At<String>> = "let",
        /// One notification or several.
        publish: Vec<At<Publish>> = "publish",
        /// The webhook ends here, without a notification.
        drop: Option<At<bool>> = "drop",
        /// After a match, later rules are tried too.
        go_on: Option<At<bool>> = "continue",
    }
}

record! {
    /// A notification in the making. Every text is a template; one that renders to nothing is as if absent.
    Publish {
        /// The server's name. Default `default`.
        server: Option<At<String>> = "server",
        /// The topic.
        topic: Option<At<String>> = "topic",
        /// The line in bold.
        title: Option<At<String>> = "title",
        /// The text.
        message: Option<At<String>> = "message",
        /// 1 to 5, or min, low, default, high, max, urgent.
        priority: Option<At<String>> = "priority",
        /// Emoji short codes and words.
        tags: Option<Vec<At<String>>> = "tags",
        /// What a tap opens.
        click: Option<At<String>> = "click",
        /// A picture's URL.
        icon: Option<At<String>> = "icon",
        /// A file's URL.
        attach: Option<At<String>> = "attach",
        /// The attachment's name.
        filename: Option<At<String>> = "filename",
        /// At most three buttons.
        actions: Option<Vec<At<Action>>> = "actions",
        /// Whether the message is Markdown.
        markdown: Option<At<bool>> = "markdown",
        /// An address the server also mails it to.
        email: Option<At<String>> = "email",
        /// A number the server also calls.
        call: Option<At<String>> = "call",
        /// When to deliver.
        delay: Option<At<String>> = "delay",
        /// `false`: only for who listens now.
        cache: Option<At<bool>> = "cache",
        /// `false`: not through Firebase.
        firebase: Option<At<bool>> = "firebase",
        /// A later message with the same id replaces this one.
        sequence_id: Option<At<String>> = "sequence_id",
    }
}

record! {
    /// A button: exactly one of view, http, broadcast and copy, whose value is the label.
    Action {
        /// Opens `url`.
        view: Option<At<String>> = "view",
        /// Requests `url`.
        http: Option<At<String>> = "http",
        /// Sends an Android broadcast.
        broadcast: Option<At<String>> = "broadcast",
        /// Copies `value`.
        copy: Option<At<String>> = "copy",
        /// For view and http.
        url: Option<At<String>> = "url",
        /// For http. Default POST.
        method: Option<At<String>> = "method",
        /// For http.
        headers: Entries<At<String>> = "headers",
        /// For http.
        body: Option<At<String>> = "body",
        /// For broadcast.
        intent: Option<At<String>> = "intent",
        /// For broadcast.
        extras: Entries<At<String>> = "extras",
        /// For copy.
        value: Option<At<String>> = "value",
        /// Whether a tap also clears the notification.
        clear: Option<At<bool>> = "clear",
    }
}

record! {
    /// A key that tells a repeated webhook, and for how long it is remembered.
    DedupeOptions {
        /// The key.
        key: At<String> = "key",
        /// Default 24h.
        window: Option<At<Duration>> = "window",
    }
}

/// `dedupe:` as a template or as a mapping.
#[derive(Debug, Clone)]
pub(crate) struct Dedupe(pub(crate) DedupeOptions);

impl Decode for Dedupe {
    fn decode(node: &Node, problems: &mut Problems) -> Option<Self> {
        if node.scalar_text().is_none() {
            return DedupeOptions::decode(node, problems).map(Self);
        }
        Some(Self(DedupeOptions { key: At::decode(node, problems)?, window: None }))
    }
}
