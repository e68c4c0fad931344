//! Test cases as they are written.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::problem::Problems;
use crate::rules::decode::{At, Decode, Entries, record};
use crate::rules::node::Node;

record! {
    /// Test cases of one source.
    File as "cases" {
        /// The source they are about. Default: the file's name. Example: `github`
        source: Option<At<String>> = "source",
        /// Variables for all cases of the file. Example: `{ HOOKBELL_GITHUB_TOPIC: ci }`
        env: Entries<At<String>> = "env",
        /// The cases. Example: `[{ name: a ring is told, request: { body: { event: ring } }, expect: { notifications: [{ title: Ring }] } }]`
        cases: Vec<At<Case>> = "cases",
    }
}

record! {
    /// One request, and what must come of it.
    Case as "case" {
        /// A sentence that says what must hold. Example: `a failed run is urgent`
        name: At<String> = "name",
        /// The webhook. Example: `{ headers: { X-GitHub-Event: push }, body_file: ../samples/github/push_branch.json }`
        request: At<Request> = "request",
        /// Variables for this case. Example: `{ HOOKBELL_GITHUB_TOPIC: ci }`
        env: Entries<At<String>> = "env",
        /// When the webhook comes. Example: `2026-12-01T09:30:00Z`
        clock: Option<At<String>> = "clock",
        /// What must come of it: a mapping, `nothing`, or `record` for `hookbell test --update` to fill in. Example: `nothing`
        expect: At<Expect> = "expect",
    }
}

record! {
    /// A webhook.
    Request as "request" {
        /// Default POST. Example: `PUT`
        method: Option<At<String>> = "method",
        /// Headers. Example: `{ X-GitHub-Event: push }`
        headers: Entries<At<String>> = "headers",
        /// A file of headers, one `Name: value` a line. Example: `../samples/github/push_branch.headers`
        headers_file: Option<At<String>> = "headers_file",
        /// Query parameters. Example: `{ team: backend }`
        query: Entries<At<String>> = "query",
        /// The named segments of the source's path. Example: `{ team: backend }`
        path: Entries<At<String>> = "path",
        /// The body: a text as it is, anything else as JSON. Example: `{ event: ring }`
        body: Option<Node> = "body",
        /// A file with the body. Example: `../samples/github/push_branch.json`
        body_file: Option<At<String>> = "body_file",
        /// Signs with the test secret and verifies. Without it the sender is believed. Example: `true`
        sign: Option<At<bool>> = "sign",
        /// Verifies the request as it is: for cases about what is refused. Example: `true`
        verify: Option<At<bool>> = "verify",
    }
}

record! {
    /// What must come of a webhook.
    Outcome as "outcome" {
        /// The HTTP status. Default 200. Example: `401`
        status: Option<At<u64>> = "status",
        /// The names of the rules that match, in order. Example: `[a run failed]`
        rules: Option<Vec<At<String>>> = "rules",
        /// One mapping for each notification, in order: fields with their exact values, or with matchers as in `when`. Example: `[{ topic: ci, title: { contains: failed } }]`
        notifications: Option<Vec<Fields>> = "notifications",
        /// Whether each notification must have exactly the fields named. Example: `true`
        whole: Option<At<bool>> = "whole",
    }
}

/// `expect:`.
#[derive(Debug, Clone)]
pub(crate) enum Expect {
    /// Status 200 and no notification.
    Nothing,
    /// Not known yet.
    Record,
    /// What must come of it.
    Outcome(Outcome),
}

impl Decode for Expect {
    fn schema(generator: &mut SchemaGenerator) -> Schema {
        let outcome = Outcome::schema(generator);
        json_schema!({ "anyOf": [{ "enum": ["nothing", "record"] }, outcome] })
    }

    fn decode(node: &Node, problems: &mut Problems) -> Option<Self> {
        match node.scalar_text().as_deref() {
            Some("nothing") => Some(Self::Nothing),
            Some("record") => Some(Self::Record),
            Some(_) => crate::rules::decode::mismatch(node, "a mapping, nothing or record", problems),
            None => Outcome::decode(node, problems).map(Self::Outcome),
        }
    }
}

/// The fields of an expected notification, compiled from their tree.
#[derive(Debug, Clone)]
pub(crate) struct Fields(pub(crate) Node);

impl Decode for Fields {
    fn schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<Self>()
    }

    fn decode(node: &Node, _: &mut Problems) -> Option<Self> {
        Some(Self(node.clone()))
    }
}

impl JsonSchema for Fields {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "fields".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let field = generator.subschema_for::<crate::rules::schema::Matcher>();
        let fields: serde_json::Map<String, serde_json::Value> = super::expectation::FIELDS
            .iter()
            .map(|name| ((*name).to_owned(), field.clone().to_value()))
            .collect();
        json_schema!({ "type": "object", "properties": fields, "additionalProperties": false })
    }
}

/// The schema of a file of cases.
pub fn schema() -> serde_json::Value {
    crate::rules::schema::root::<File>(
        "Hookbell test cases",
        "Cases of one source, in tests/ of a rules folder.",
    )
}
