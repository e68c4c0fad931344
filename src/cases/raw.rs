//! Test cases as they are written.

use crate::problem::Problems;
use crate::rules::decode::{At, Decode, Entries, record};
use crate::rules::node::Node;

record! {
    /// Test cases of one source.
    File {
        /// The source they are about. Default: the file's name. Example: `github`
        source: Option<At<String>> = "source",
        /// Variables for all cases of the file. Example: `{ HOOKBELL_GITHUB_TOPIC: ci }`
        env: Entries<At<String>> = "env",
        /// The cases.
        cases: Vec<At<Case>> = "cases",
    }
}

record! {
    /// One request, and what must come of it.
    Case {
        /// A sentence that says what must hold. Example: `a failed run is urgent`
        name: At<String> = "name",
        /// The webhook.
        request: At<Request> = "request",
        /// Variables for this case. Example: `{ HOOKBELL_GITHUB_TOPIC: ci }`
        env: Entries<At<String>> = "env",
        /// When the webhook comes. Example: `2026-12-01T09:30:00Z`
        clock: Option<At<String>> = "clock",
        /// What must come of it: a mapping, `nothing`, or `record` for `hookbell test --update` to fill in.
        expect: At<Expect> = "expect",
    }
}

record! {
    /// A webhook.
    Request {
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
    Outcome {
        /// The HTTP status. Default 200. Example: `401`
        status: Option<At<u64>> = "status",
        /// The names of the rules that match, in order. Example: `[a run failed]`
        rules: Option<Vec<At<String>>> = "rules",
        /// One mapping for each notification, in order: fields with their exact values, or with matchers as in `when`.
        notifications: Option<Vec<Node>> = "notifications",
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
    fn decode(node: &Node, problems: &mut Problems) -> Option<Self> {
        match node.scalar_text().as_deref() {
            Some("nothing") => Some(Self::Nothing),
            Some("record") => Some(Self::Record),
            Some(_) => crate::rules::decode::mismatch(node, "a mapping, nothing or record", problems),
            None => Outcome::decode(node, problems).map(Self::Outcome),
        }
    }
}
