//! The rule language as it is written: every key, before anything is checked against anything else.

use std::time::Duration;

use schemars::{Schema, SchemaGenerator, json_schema};

use super::decode::{At, Decode, Entries, Given, RawSecret, record};
use super::node::Node;
use crate::problem::Problems;

record! {
    /// One file of the rules folder. All files together are one document.
    Document as "rules" {
        /// ntfy servers by name. Example: `{ default: { url: "https://ntfy.example.com", token: { env: NTFY_TOKEN } } }`
        servers: Entries<At<Server>> = "servers",
        /// Who hears of the gateway's own troubles. Example: `{ topic: hookbell }`
        operator: Option<At<Operator>> = "operator",
        /// Look-ups shared by rules, by name. Example: `{ topic_by_repo: { acme/api: backend, "acme/*": acme } }`
        tables: Entries<Entries<At<String>>> = "tables",
        /// Senders by name. Example: `{ door: { path: /hooks/door, rules: [{ name: a ring, publish: { topic: home, message: ring } }] } }`
        sources: Entries<At<Source>> = "sources",
    }
}

record! {
    /// An ntfy server.
    Server as "server" where { "not": { "required": ["token", "username"] }, "dependencies": { "username": ["password"], "password": ["username"], "fallback_after": ["fallback"] } } and {
        /// Its root, without a path. Example: `https://ntfy.example.com`
        url: At<String> = "url" where { "pattern": "^https?://[^/@]+/?$" },
        /// An access token (`tk_…`). Example: `{ env: NTFY_TOKEN }`
        token: Option<At<RawSecret>> = "token",
        /// For basic authentication, with `password`. Example: `hookbell`
        username: Option<At<String>> = "username",
        /// For basic authentication, with `username`. Example: `{ file: /run/secrets/ntfy_password }`
        password: Option<At<RawSecret>> = "password",
        /// The most connections that may be open at any time. Default 16. Example: `16`
        connections: Option<At<u64>> = "connections" where { "minimum": 1, "maximum": 1024 },
        /// How long one attempt may take. Default 10s. Example: `10s`
        timeout: Option<At<Duration>> = "timeout",
        /// How fast it may be sent to; without it, a server that limits requests is paced as soon as it says so. Example: `{ burst: 60, per: 5s }`
        pace: Option<At<Pace>> = "pace",
        /// Whether the notifications of a topic are sent one after the other, in order. Default true. Example: `false`
        ordered: Option<At<bool>> = "ordered",
        /// The server that takes over while this one takes nothing. Example: `backup`
        fallback: Option<At<String>> = "fallback",
        /// How long a notification waits before it goes to the fallback. Default 10m. Example: `10m`
        fallback_after: Option<At<Duration>> = "fallback_after",
        /// How long a notification waits before it is given up as a dead letter. Default 72h. Example: `72h`
        expire: Option<At<Duration>> = "expire",
        /// When the server's daily quota starts anew, in UTC. Default 00:00. Example: `"00:00"`
        quota_reset: Option<At<String>> = "quota_reset" where { "pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$" },
    }
}

record! {
    /// How fast a server may be sent to: `burst` at once, then one every `per`.
    Pace as "pace" {
        /// How many may be sent at once after a rest. Default 1. Example: `60`
        burst: Option<At<u64>> = "burst" where { "minimum": 1, "maximum": 100000 },
        /// The time between two after that. Example: `5s`
        per: At<Duration> = "per",
    }
}

record! {
    /// Who hears of the gateway's own troubles: stale rules, a server that refuses, dead letters, a disk nearly full.
    Operator as "operator" {
        /// The server's name. Default `default`. Example: `default`
        server: Option<At<String>> = "server",
        /// The topic. Example: `hookbell`
        topic: At<String> = "topic" where { "pattern": "^[-_A-Za-z0-9]{1,64}$" },
    }
}

record! {
    /// A sender of webhooks.
    Source as "source" {
        /// Where it posts, such as `/hooks/{team}/github`. Example: `/hooks/github`
        path: At<String> = "path" where { "pattern": "^(/([A-Za-z0-9._~-]+|\\{[A-Za-z0-9_]+\\}))+$" },
        /// `false` turns it off. Example: `{ env: PLEX_ENABLED, default: false }`
        enabled: Option<At<bool>> = "enabled",
        /// The methods it may use. Default POST. Example: `[POST, PUT]`
        methods: Vec<At<String>> = "methods" where { "if": { "type": "array" }, "then": { "items": { "enum": ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"] } }, "else": { "enum": ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"] } },
        /// How it proves who it is. Example: `{ scheme: github, secrets: [{ env: GITHUB_WEBHOOK_SECRET }] }`
        verify: Option<Given<Verify>> = "verify",
        /// Networks its webhooks may come from. Default all. Example: `[192.0.2.0/24, "2001:db8::/32"]`
        allow: Vec<At<String>> = "allow",
        /// A key that tells a repeated webhook: a template, or `{key, window}`. Example: `"{{headers.x-github-delivery}}"`
        dedupe: Option<Dedupe> = "dedupe",
        /// What a body that cannot be read becomes: `reject` (default) or `notify`. Example: `notify`
        malformed: Option<At<String>> = "malformed" ["reject", "notify"],
        /// What a webhook that no rule matches becomes: `drop` (default) or `notify`. Example: `drop`
        unmatched: Option<At<String>> = "unmatched" ["drop", "notify"],
        /// What its webhooks are answered, unless the rule that matches says something else. Example: `{ status: 204 }`
        respond: Option<At<Respond>> = "respond",
        /// What every notification of this source starts from. Example: `{ topic: ci, priority: low }`
        defaults: Option<At<Publish>> = "defaults",
        /// A JSONPath; every node it selects runs through the rules as `item`. Example: `$.alerts[*]`
        split: Option<At<String>> = "split" where { "pattern": "^\\$" },
        /// Tried in order; the first match wins. Example: `[{ name: a ring, publish: { topic: home, message: ring } }]`
        rules: Vec<At<Rule>> = "rules",
    }
}

record! {
    /// How a sender proves who it is. Exactly one of the keys that name a way.
    Verify as "verify" where {
        "oneOf": [
            { "required": ["scheme"] }, { "required": ["hmac"] }, { "required": ["token"] }, { "required": ["basic"] },
            { "required": ["bearer"] }, { "required": ["path_secret"] }, { "required": ["client_certificate"] },
        ],
        "dependencies": { "scheme": ["secrets"], "secrets": ["scheme"] },
    } and {
        /// A preset by name, with `secrets`. Example: `github`
        scheme: Option<At<String>> = "scheme" ["github", "gitea", "forgejo", "gitlab", "standard-webhooks", "stripe", "slack", "sentry", "grafana", "shopify", "bitbucket", "linear", "circleci", "vercel", "netlify"],
        /// The secrets of `scheme`; any may match, for rotation. Example: `[{ env: GITHUB_WEBHOOK_SECRET }]`
        secrets: Vec<At<RawSecret>> = "secrets",
        /// A signature over the raw body. Example: `{ header: X-Signature, secrets: [{ env: SECRET }] }`
        hmac: Option<Given<Hmac>> = "hmac",
        /// A secret in a header or in the query. Example: `{ header: X-Gitlab-Token, secrets: [{ env: SECRET }] }`
        token: Option<Given<Token>> = "token",
        /// HTTP basic authentication. Example: `{ username: sonarr, passwords: [{ env: SECRET }] }`
        basic: Option<Given<Basic>> = "basic",
        /// `Authorization: Bearer …`. Example: `{ secrets: [{ env: SECRET }] }`
        bearer: Option<Given<Bearer>> = "bearer",
        /// A secret segment of the path. Example: `{ segment: secret, secrets: [{ env: SECRET }] }`
        path_secret: Option<Given<PathSecret>> = "path_secret",
        /// A client certificate that a trusted proxy has checked. Example: `{ header: X-SSL-Client-S-DN, subjects: ["CN=grafana"] }`
        client_certificate: Option<Given<ClientCertificate>> = "client_certificate",
    }
}

record! {
    /// A client certificate that a proxy named by --trusted-proxy has checked. The proxy must take this header away from its clients.
    ClientCertificate as "client_certificate" {
        /// The header in which the proxy names the certificate's subject. Example: `X-SSL-Client-S-DN`
        header: At<String> = "header",
        /// Who may send, as the proxy writes it. Example: `["CN=grafana"]`
        subjects: Vec<At<String>> = "subjects" where { "minItems": 1 },
    }
}

record! {
    /// A signature over the raw body, and what else is signed.
    Hmac as "hmac" where { "required": ["header"] } and {
        /// The header that carries it, or several of which the first that is there counts. Example: `X-Signature`
        header: Vec<At<String>> = "header",
        /// sha1, sha256 or sha512. Default sha256. Example: `sha256`
        algorithm: Option<At<String>> = "algorithm" ["sha1", "sha256", "sha512"],
        /// hex, base64 or base64url. Default hex. Example: `hex`
        encoding: Option<At<String>> = "encoding" ["hex", "base64", "base64url"],
        /// What stands before the signature, such as `sha256=`. Example: `"sha256="`
        prefix: Option<At<String>> = "prefix",
        /// What separates several signatures in the header, one character. Example: `","`
        separator: Option<At<String>> = "separator" where { "minLength": 1, "maxLength": 1 },
        /// What is signed: a template of `{body}`, `{timestamp}`, `{id}` and `{url}`. Default `{body}`. Example: `"{timestamp}.{body}"`
        signs: Option<At<String>> = "signs" where { "pattern": "\\{body\\}" },
        /// Where the time of signing stands, and how old it may be. Example: `{ header: X-Timestamp, tolerance: 5m }`
        timestamp: Option<Given<SignedAt>> = "timestamp",
        /// The header that carries `{id}`, or several of which the first that is there counts. Example: `webhook-id`
        id: Vec<At<String>> = "id",
        /// Where the sender thinks we are, for `{url}`. Example: `https://hooks.example.com`
        url: Option<At<String>> = "url" where { "pattern": "^https?://[^/@]+/?$" },
        /// How a secret is a key: text, base64 (also after `whsec_`) or hex. Default text. Example: `text`
        key: Option<At<String>> = "key" ["text", "base64", "hex"],
        /// Any may match. Example: `[{ env: SECRET }]`
        secrets: Vec<At<RawSecret>> = "secrets",
    }
}

record! {
    /// Where the time of signing stands, and how old it may be.
    SignedAt as "signed_at" where { "oneOf": [{ "required": ["header"] }, { "required": ["entry"] }, { "required": ["body"] }] } and {
        /// In this header, or the first of several that is there. Example: `X-Timestamp`
        header: Vec<At<String>> = "header",
        /// Beside the signature, after this. Example: `"t="`
        entry: Option<At<String>> = "entry",
        /// In the JSON body, at this JSON pointer. Example: `/timestamp`
        body: Option<At<String>> = "body" where { "pattern": "^/" },
        /// s for seconds or ms for milliseconds. Default s. Example: `s`
        unit: Option<At<String>> = "unit" ["s", "ms"],
        /// How far from now it may be. Default 5m. Example: `5m`
        tolerance: Option<At<Duration>> = "tolerance",
    }
}

record! {
    /// A secret in a header or in the query.
    Token as "token" where { "anyOf": [{ "required": ["header"] }, { "required": ["query"] }] } and {
        /// The header's name. Example: `X-Gitlab-Token`
        header: Option<At<String>> = "header",
        /// The query parameter's name. Example: `token`
        query: Option<At<String>> = "query",
        /// Any may match. Example: `[{ env: SECRET }]`
        secrets: Vec<At<RawSecret>> = "secrets",
    }
}

record! {
    /// HTTP basic authentication.
    Basic as "basic" {
        /// The user. Example: `sonarr`
        username: At<String> = "username",
        /// Any may match. Example: `[{ env: SECRET }]`
        passwords: Vec<At<RawSecret>> = "passwords",
    }
}

record! {
    /// `Authorization: Bearer …`.
    Bearer as "bearer" {
        /// Any may match. Example: `[{ env: SECRET }]`
        secrets: Vec<At<RawSecret>> = "secrets",
    }
}

record! {
    /// A secret segment of the path.
    PathSecret as "path_secret" {
        /// The segment's name in `path`. Example: `secret`
        segment: At<String> = "segment",
        /// Any may match. Example: `[{ env: SECRET }]`
        secrets: Vec<At<RawSecret>> = "secrets",
    }
}

record! {
    /// A rule. It publishes, drops, or goes on.
    Rule as "rule" where {
        "anyOf": [{ "required": ["publish"] }, { "required": ["drop"] }, { "required": ["continue"] }, { "required": ["respond"] }],
        "not": { "properties": { "drop": { "const": true } }, "required": ["drop"], "anyOf": [{ "required": ["publish"] }, { "required": ["continue"] }] },
    } and {
        /// A phrase that says what it is about. Example: `a run failed`
        name: At<String> = "name",
        /// All of these must hold; absent, the rule matches always. Example: `{ $.action: completed, $.run.attempt: { gt: 1 } }`
        when: Option<When> = "when",
        /// Values for templates: a JSONPath or a template each. Example: `{ names: "$.jobs[*].name" }`
        bindings: Entries<At<String>> = "let",
        /// One notification or several. Example: `{ topic: ci, title: "{{body.repository}}", message: "{{body.text}}" }`
        publish: Vec<At<Publish>> = "publish",
        /// The webhook ends here, without a notification. Example: `true`
        drop: Option<Given<bool>> = "drop",
        /// What the sender is answered. Example: `{ content_type: text/plain, body: "{{body.challenge}}" }`
        respond: Option<At<Respond>> = "respond",
        /// After a match, later rules are tried too. Example: `true`
        go_on: Option<At<bool>> = "continue",
    }
}

record! {
    /// An answer to the sender, for handshakes and picky senders.
    Respond as "respond" {
        /// 200 to 299, or 400 to 499. Default 200. Example: `200`
        status: Option<At<u64>> = "status" where { "minimum": 200, "maximum": 499 },
        /// What the body is. Default application/json. Example: `text/plain`
        content_type: Option<At<String>> = "content_type" where { "pattern": "^[A-Za-z0-9.+-]+/[A-Za-z0-9.+-]+" },
        /// A template. Default empty. Example: `"{{body.challenge}}"`
        body: Option<At<String>> = "body",
    }
}

record! {
    /// A notification in the making. Every text is a template; one that renders to nothing is as if absent.
    Publish as "publish" where { "dependencies": { "filename": ["attach"] } } and {
        /// The server's name. Default `default`. Example: `default`
        server: Option<At<String>> = "server",
        /// The topic. Example: `"{{table 'topic_by_repo' body.repository}}"`
        topic: Option<At<String>> = "topic" where { "pattern": "^([-_A-Za-z0-9]{1,64}|.*\\{\\{[\\s\\S]*)$", "not": { "enum": ["docs", "static", "file", "app", "metrics", "account", "settings", "signup", "login", "v1"] } },
        /// The line in bold. Example: `"{{body.repository.full_name}}"`
        title: Option<At<String>> = "title" where { "anyOf": [{ "pattern": "\\{\\{" }, { "maxLength": 1024 }] },
        /// The text. Example: `"{{first_line body.commit.message}}"`
        message: Option<At<String>> = "message" where { "anyOf": [{ "pattern": "\\{\\{" }, { "maxLength": 4095 }] },
        /// 1 to 5, or min, low, default, high, max, urgent. Example: `urgent`
        priority: Option<At<String>> = "priority" where { "pattern": "^([1-5]|min|low|default|high|max|urgent|.*\\{\\{[\\s\\S]*)$", "minimum": 1, "maximum": 5 },
        /// Emoji short codes and words. Example: `[x, "{{body.environment}}"]`
        tags: Option<Vec<At<String>>> = "tags",
        /// What a tap opens. Example: `"{{body.url}}"`
        click: Option<At<String>> = "click",
        /// A picture's URL. Example: `https://example.com/icon.png`
        icon: Option<At<String>> = "icon" where { "pattern": "^(https?://|.*\\{\\{[\\s\\S]*)" },
        /// A file's URL. Example: `"{{body.image}}"`
        attach: Option<At<String>> = "attach" where { "pattern": "^(https?://|.*\\{\\{[\\s\\S]*)" },
        /// The attachment's name. Example: `snapshot.jpg`
        filename: Option<At<String>> = "filename",
        /// At most three buttons. Example: `[{ view: Open, url: "{{body.url}}" }]`
        actions: Option<Vec<At<Action>>> = "actions" where { "maxItems": 3 },
        /// Whether the message is Markdown. Example: `true`
        markdown: Option<At<bool>> = "markdown",
        /// An address the server also mails it to. Example: `ops@example.com`
        email: Option<At<String>> = "email",
        /// A number the server also calls. Example: `"+49301234567"`
        call: Option<At<String>> = "call",
        /// When to deliver. Example: `30m`
        delay: Option<At<String>> = "delay",
        /// `false`: only for who listens now. Example: `false`
        cache: Option<At<bool>> = "cache",
        /// `false`: not through Firebase. Example: `false`
        firebase: Option<At<bool>> = "firebase",
        /// A later message with the same id replaces this one. Example: `"job-{{body.id}}"`
        sequence_id: Option<At<String>> = "sequence_id" where { "pattern": "^([-_A-Za-z0-9]{1,64}|.*\\{\\{[\\s\\S]*)$" },
    }
}

record! {
    /// A button: exactly one of view, http, broadcast and copy, whose value is the label.
    Action as "action" where {
        "oneOf": [{ "required": ["view"] }, { "required": ["http"] }, { "required": ["broadcast"] }, { "required": ["copy"] }],
        "dependencies": { "view": ["url"], "http": ["url"], "copy": ["value"] },
    } and {
        /// Opens `url`. Example: `Open run`
        view: Option<At<String>> = "view",
        /// Requests `url`. Example: `Restart`
        http: Option<At<String>> = "http",
        /// Sends an Android broadcast. Example: `Dim the light`
        broadcast: Option<At<String>> = "broadcast",
        /// Copies `value`. Example: `Copy the code`
        copy: Option<At<String>> = "copy",
        /// For view and http. Example: `"{{body.url}}"`
        url: Option<At<String>> = "url",
        /// For http. Default POST. Example: `PUT`
        method: Option<At<String>> = "method",
        /// For http. Example: `{ Authorization: Bearer x }`
        headers: Entries<At<String>> = "headers",
        /// For http. Example: `'{"restart":true}'`
        body: Option<At<String>> = "body",
        /// For broadcast. Example: `io.example.DIM`
        intent: Option<At<String>> = "intent",
        /// For broadcast. Example: `{ level: "3" }`
        extras: Entries<At<String>> = "extras",
        /// For copy. Example: `"{{body.code}}"`
        value: Option<At<String>> = "value",
        /// Whether a tap also clears the notification. Example: `true`
        clear: Option<At<bool>> = "clear",
    }
}

record! {
    /// A key that tells a repeated webhook, and for how long it is remembered.
    DedupeOptions as "dedupe" {
        /// The key. Example: `"{{headers.x-github-delivery}}"`
        key: At<String> = "key",
        /// Default 24h. Example: `24h`
        window: Option<At<Duration>> = "window",
    }
}

/// `dedupe:` as a template or as a mapping.
#[derive(Debug, Clone)]
pub(crate) struct Dedupe(pub(crate) DedupeOptions);

impl Decode for Dedupe {
    fn schema(generator: &mut SchemaGenerator) -> Schema {
        let (key, options) = (String::schema(generator), DedupeOptions::schema(generator));
        json_schema!({ "anyOf": [key, options] })
    }

    fn decode(node: &Node, problems: &mut Problems) -> Option<Self> {
        if node.scalar_text().is_none() {
            return DedupeOptions::decode(node, problems).map(Self);
        }
        Some(Self(DedupeOptions { key: At::decode(node, problems)?, window: None }))
    }
}

/// `when:`, compiled from its tree.
#[derive(Debug, Clone)]
pub(crate) struct When(pub(crate) Node);

impl Decode for When {
    const NULL_IS_ABSENT: bool = false;

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<super::schema::Conditions>()
    }

    fn decode(node: &Node, _: &mut Problems) -> Option<Self> {
        Some(Self(node.clone()))
    }
}
