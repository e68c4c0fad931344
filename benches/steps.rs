//! What each step of a webhook's way costs. `cargo bench` times them; `steps --repeat N STEP` runs one of them N times and
//! ends, to count its instructions (stress/instructions.sh).

use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use hookbell::auth::{Claim, Verifier};
use hookbell::outbox::{
    Head, Kept, Options, Outbox, Outgoing, StoreThread, Verdict, VerdictOutcome, Webhook, new_id, unix_ms,
};
use hookbell::payload::{Part, decode, decode_part};
use hookbell::pipeline::{Reception, receive};
use hookbell::rules::compile::compile_folder;
use hookbell::rules::external::Environment;
use hookbell::rules::request::{Facts, Request};
use hookbell::rules::set::RuleSet;
use hookbell::rules::source::Source;

const STEPS: [&str; 9] = [
    "read whole github",
    "read part github",
    "verify github",
    "match github",
    "receive github",
    "receive coolify",
    "pack github",
    "enqueue",
    "enqueue 32",
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--repeat", times, step] => {
            let mut run = prepare(step);
            (0..times.parse().expect("a number")).for_each(|_: u32| run());
        }
        ["--list-steps"] => STEPS.iter().for_each(|step| println!("{step}")),
        _ => divan::main(),
    }
}

#[divan::bench(args = STEPS)]
fn step(bencher: divan::Bencher<'_, '_>, name: &str) {
    bencher.bench_local(prepare(name));
}

fn prepare(step: &str) -> Box<dyn FnMut()> {
    match step {
        "enqueue" => enqueue(1),
        "enqueue 32" => enqueue(32),
        "receive coolify" => received(Sample::of("coolify", "coolify/deployment_failed")),
        of_github => {
            let sample = Sample::of("github", "github/workflow_run_completed_failure");
            match of_github {
                "read whole github" => read(sample, |_| Part::Whole),
                "read part github" => read(sample, |source| source.reads.clone()),
                "verify github" => verified(sample),
                "match github" => matched(sample),
                "receive github" => received(sample),
                "pack github" => packed(sample),
                other => panic!("no step {other:?}: see --list-steps"),
            }
        }
    }
}

/// A shipped sample, as its sender sends it, and the shipped rules.
struct Sample {
    rules: &'static RuleSet,
    source: &'static Source,
    request: Request,
    body: Vec<u8>,
}

impl Sample {
    fn of(source: &str, name: &str) -> Self {
        let rules: &'static RuleSet = Box::leak(Box::new(rules()));
        let source = rules.sources().iter().find(|one| one.name == source).expect("a source that is on");
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("rules/samples").join(name);
        let body = std::fs::read(file.with_extension("json")).expect("a sample");
        let mut headers: Vec<_> = std::fs::read_to_string(file.with_extension("headers"))
            .unwrap_or_default()
            .lines()
            .filter_map(|line| line.split_once(": "))
            .filter(|(name, _)| !name.starts_with("X-Hub-Signature"))
            .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
            .collect();
        let proof = source.verifier.as_ref().map(|verifier| verifier.prove(&claim(&[], &body)));
        let proof = proof.unwrap_or_default();
        headers.extend(proof.headers);
        let method = source.methods.first().expect("a method").clone();
        let (query, path) = (proof.query, proof.path);
        let request = Request { method, headers, query, path, received_at: unix_ms(), ..Request::default() };
        Self { rules, source, request, body }
    }
}

fn claim<'a>(headers: &'a [(String, String)], raw: &'a [u8]) -> Claim<'a> {
    Claim { headers, query: &[], path: &[], raw, target: "", now_ms: unix_ms(), through_proxy: false }
}

fn rules() -> RuleSet {
    struct AllSecrets;
    impl Environment for AllSecrets {
        fn variable(&self, name: &str) -> Option<String> {
            name.ends_with("_SECRET").then(|| "a-secret-of-32-characters-for-it".to_owned())
        }
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("rules");
    compile_folder(&folder, &AllSecrets).expect("the shipped rules")
}

fn read(sample: Sample, part: impl Fn(&Source) -> Part) -> Box<dyn FnMut()> {
    let part = part(sample.source);
    Box::new(move || {
        let read = decode_part(black_box(&sample.body), Some("application/json"), &part);
        black_box(read).expect("a body");
    })
}

fn verified(sample: Sample) -> Box<dyn FnMut()> {
    let verifier: &Verifier = sample.source.verifier.as_ref().expect("a verifier");
    Box::new(move || {
        verifier.verify(black_box(&claim(&sample.request.headers, &sample.body))).expect("right")
    })
}

/// All rules of the source, whether or not an index would pass them over.
fn matched(sample: Sample) -> Box<dyn FnMut()> {
    let body = decode(&sample.body, Some("application/json")).expect("a body");
    Box::new(move || {
        let facts = Facts { request: &sample.request, body: &body, item: None };
        let conditions = sample.source.rules.all().iter().filter_map(|rule| rule.when.as_ref());
        assert!(conditions.filter(|when| when.holds(black_box(facts))).count() > 0);
    })
}

fn received(sample: Sample) -> Box<dyn FnMut()> {
    let reception = Reception { limit: 1 << 20, verify: true };
    Box::new(move || {
        let request = sample.request.clone();
        let decision =
            receive(sample.rules, sample.source, request, black_box(&sample.body), reception, None);
        assert_eq!(decision.expect("a decision").notifications.len(), 1);
    })
}

fn packed(sample: Sample) -> Box<dyn FnMut()> {
    let body = bytes::Bytes::from(sample.body);
    Box::new(move || {
        let head = Head::new("POST", Vec::new(), Vec::new(), Vec::new());
        black_box(Kept::new(0, head, body.clone()));
    })
}

/// So many webhooks at once, each of one notification, until all are on disk.
fn enqueue(count: usize) -> Box<dyn FnMut()> {
    let data = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let (outbox, thread): (Outbox, StoreThread) =
        Outbox::open(data.path(), &Options::default()).expect("a store");
    Box::new(move || {
        let _kept_open = (&data, &thread);
        let all = (0..count).map(|_| outbox.enqueue(webhook()));
        for enqueued in runtime.block_on(futures_util::future::join_all(all)) {
            enqueued.expect("stored");
        }
    })
}

fn webhook() -> Webhook {
    let one = Outgoing {
        id: new_id(),
        server: "default".to_owned(),
        topic: "ci".to_owned(),
        rule: "failed".to_owned(),
        sequence: None,
        payload: format!(r#"{{"topic":"ci","title":"Deployment failed","message":"{}"}}"#, "x".repeat(400)),
    };
    let head = Head::new("POST", Vec::new(), Vec::new(), vec![("content-type", "application/json")]);
    Webhook {
        id: new_id(),
        source: "coolify".to_owned(),
        received_at: unix_ms(),
        record: Some(Kept::new(unix_ms(), head, vec![b'x'; 500].into())),
        verdict: Verdict {
            outcome: VerdictOutcome::Published,
            rules: vec!["failed".to_owned()],
            first: None,
        },
        once: Some(hookbell::outbox::Once { key: new_id().to_string(), window: Duration::from_secs(60) }),
        notifications: vec![one],
    }
}
