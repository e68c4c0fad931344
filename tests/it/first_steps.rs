//! What a newcomer does first.

use std::time::Duration;

use fake_ntfy::{FakeNtfy, Options};
use serde_json::json;

use crate::support::{Gateway, samples};

#[test]
fn a_webhook_of_github_arrives_at_ntfy() {
    let ntfy = FakeNtfy::start(Options::default());
    let gateway = Gateway::shipped().ntfy(&ntfy).start();
    let sample = samples::one("github", "workflow_run_completed_failure.json");
    let answer = gateway.post_github(&sample.headers, &sample.body);
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(answer.json()["notifications"], 1);
    let messages = ntfy.wait_for_messages(1, Duration::from_secs(10));
    assert_eq!(messages[0]["title"], "octo-org/octo-repo");
    assert_eq!(messages[0]["priority"], 5);
    assert_eq!(messages[0]["tags"], json!(["x"]));
}
