//! A gateway in front of a fake ntfy, and what one webhook makes of the two.

use fake_ntfy::{FakeNtfy, Options};
use serde_json::Value;

use super::gateway::{Answer, Gateway, Plan, SECRET};
use super::samples::Sample;
use super::wait::PATIENCE;

/// What ntfy adds by itself, or what differs from run to run.
const PASSING: [&str; 4] = ["id", "time", "expires", "sequence_id"];

/// A gateway and the ntfy it sends to.
pub struct Scene {
    pub ntfy: FakeNtfy,
    pub gateway: Gateway,
}

impl Scene {
    /// The shipped rules, with both sources on.
    pub fn shipped() -> Self {
        Self::start(Gateway::shipped())
    }

    /// Rules of the test's own.
    pub fn with_rules(yaml: &str) -> Self {
        Self::start(Gateway::with_rules(yaml))
    }

    /// A plan with a fake ntfy.
    pub fn start(plan: Plan) -> Self {
        let ntfy = FakeNtfy::start(Options::default());
        let gateway = plan.ntfy(&ntfy).start();
        Self { ntfy, gateway }
    }

    /// Posts a sample as its sender does and returns what arrived.
    pub fn post_sample(&self, source: &str, sample: &Sample) -> Vec<Value> {
        match source {
            "github" => self.post_github(&sample.headers, &sample.body),
            _ => self.post_coolify(&sample.body),
        }
    }

    /// Posts a signed webhook of GitHub's and returns what arrived.
    pub fn post_github(&self, headers: &[(String, String)], body: &[u8]) -> Vec<Value> {
        self.arrivals(|| self.gateway.post_github(headers, body))
    }

    /// Posts a webhook of Coolify's under the right path and returns what arrived.
    pub fn post_coolify(&self, body: &[u8]) -> Vec<Value> {
        let path = format!("/hooks/coolify/{SECRET}");
        self.arrivals(|| self.gateway.post(&path, &[("Content-Type", "application/json")], body))
    }

    /// Posts a webhook that must be taken and returns what arrived.
    pub fn post(&self, path: &str, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Vec<Value> {
        self.arrivals(|| self.gateway.post(path, headers, body))
    }

    /// The notifications that one accepted webhook brings to ntfy, without what differs from run to run.
    pub fn arrivals(&self, send: impl FnOnce() -> Answer) -> Vec<Value> {
        let before = self.ntfy.messages().len();
        let answer = send();
        assert_eq!(answer.status, 200, "{}", answer.text);
        let count = answer.json()["notifications"].as_u64().expect("a number of notifications");
        let all = self.ntfy.wait_for_messages(before + usize::try_from(count).expect("few"), PATIENCE);
        all.into_iter().skip(before).map(lasting).collect()
    }
}

/// A message as ntfy stored it, without what differs from run to run.
pub fn lasting(mut message: Value) -> Value {
    let fields = message.as_object_mut().expect("a message");
    fields.retain(|name, _| !PASSING.contains(&name.as_str()));
    for action in message.get_mut("actions").and_then(Value::as_array_mut).into_iter().flatten() {
        action.as_object_mut().expect("an action").remove("id");
    }
    message
}
