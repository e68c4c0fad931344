//! All shipped sources at once, each webhook proven as its sender proves it.

use std::cell::RefCell;
use std::time::{SystemTime, UNIX_EPOCH};

use fake_ntfy::{FakeNtfy, Options};
use hookbell::auth::Claim;
use hookbell::rules::compile::compile_folder;
use hookbell::rules::external::Environment;
use hookbell::rules::set::RuleSet;
use hookbell::rules::source::Source;
use serde_json::Value;

use crate::support::Gateway;
use crate::support::gateway::SECRET;
use crate::support::samples::{Sample, shipped_rules};
use crate::support::scene::lasting;
use crate::support::wait::PATIENCE;

/// A gateway on the shipped rules with every secret set, and the same rules to prove webhooks by.
pub(super) struct Library {
    rules: RuleSet,
    gateway: Gateway,
    ntfy: FakeNtfy,
}

/// Gives every secret the same value, and remembers what was asked for.
#[derive(Default)]
struct AllSecrets(RefCell<Vec<String>>);

impl Environment for AllSecrets {
    fn variable(&self, name: &str) -> Option<String> {
        name.ends_with("_SECRET").then(|| {
            self.0.borrow_mut().push(name.to_owned());
            SECRET.to_owned()
        })
    }
}

impl Library {
    pub(super) fn start() -> Self {
        let secrets = AllSecrets::default();
        let rules = compile_folder(&shipped_rules(), &secrets).expect("the shipped rules");
        let plan = secrets.0.borrow().iter().fold(Gateway::shipped(), |plan, name| plan.env(name, SECRET));
        let ntfy = FakeNtfy::start(Options::default());
        Self { rules, gateway: plan.ntfy(&ntfy).start(), ntfy }
    }

    /// Posts a sample as its sender does and returns what arrived; `None` when it repeats another: some were made from one.
    pub(super) fn post(&self, source: &str, sample: &Sample) -> Option<Vec<Value>> {
        let found = self.rules.sources().iter().find(|known| known.name == source);
        let source = found.unwrap_or_else(|| panic!("{source} is off with every secret set"));
        let before = self.ntfy.messages().len();
        let (path, headers) = proven(source, sample);
        let borrowed: Vec<(&str, &str)> = headers.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        let answer = self.gateway.post(&path, &borrowed, &sample.body);
        assert!((200..300).contains(&answer.status), "{}/{}: {}", source.name, sample.name, answer.text);
        // Where the rules answer in their sender's terms, the samples are one message each.
        let told = serde_json::from_str::<Value>(&answer.text).unwrap_or_default();
        if told["duplicate"] == true {
            return None;
        }
        let count = told["notifications"].as_u64().unwrap_or(1);
        let all = self.ntfy.wait_for_messages(before + usize::try_from(count).expect("few"), PATIENCE);
        Some(all.into_iter().skip(before).map(lasting).collect())
    }
}

/// The path and the headers of a sample, with a proof in them.
fn proven(source: &Source, sample: &Sample) -> (String, Vec<(String, String)>) {
    let mut headers = sample.headers.clone();
    let mut path = source.path.clone();
    let Some(verifier) = &source.verifier else { return (path, headers) };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_millis();
    let claim = Claim {
        headers: &[],
        query: &[],
        path: &[],
        raw: &sample.body,
        target: &source.path,
        now_ms: i64::try_from(now).expect("this age"),
        through_proxy: false,
    };
    let proof = verifier.prove(&claim);
    headers.retain(|(name, _)| !proof.headers.iter().any(|(new, _)| new.eq_ignore_ascii_case(name)));
    headers.extend(proof.headers);
    for (segment, value) in proof.path {
        path = path.replace(&format!("{{{segment}}}"), &value);
    }
    let query: Vec<String> = proof.query.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let separator = if query.is_empty() { "" } else { "?" };
    (format!("{path}{separator}{}", query.join("&")), headers)
}
