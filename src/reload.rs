//! Reload: the folder is compiled aside, and only a set without mistakes replaces the one in force.

mod watch;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

pub use self::watch::{Snapshot, Watch};
use crate::cases;
use crate::footprint;
use crate::metrics::{Metrics, ReloadResult, Reloaded};
use crate::problem::Problem;
use crate::rules::compile::compile_folder;
use crate::rules::external::Environment;
use crate::rules::live::Live;
use crate::rules::set::RuleSet;

/// What a reload came to: the number of rules now in force, or every mistake.
pub type Outcome = Result<usize, Vec<Problem>>;

/// Asks for reloads. Requests that come while one runs are answered by the next.
#[derive(Debug, Clone)]
pub struct Reload(mpsc::Sender<oneshot::Sender<Outcome>>);

impl Reload {
    /// Reloads now, whether or not anything changed. `None` when the gateway is stopping.
    pub async fn now(&self) -> Option<Outcome> {
        let (reply, answer) = oneshot::channel();
        self.0.send(reply).await.ok()?;
        answer.await.ok()
    }
}

/// Where rules come from and where they go.
pub struct Reloader {
    /// The rules folder.
    pub folder: PathBuf,
    /// The folder before the set in force was compiled from it.
    pub compiled_from: Snapshot,
    /// Whether rules whose own cases fail are refused.
    pub require_tests: bool,
    /// Resolves `{env: …}`.
    pub environment: Arc<dyn Environment + Send + Sync>,
    /// The set in force.
    pub live: Arc<Live>,
    /// Counts reloads.
    pub metrics: Arc<Metrics>,
}

impl Reloader {
    /// Starts reloading on request and on changes of the folder, on the runtime of the caller.
    ///
    /// # Errors
    /// When the system cannot watch the folder; `--watch poll` needs nothing of it.
    pub fn start(self, watch: Watch) -> notify::Result<Reload> {
        self.publish_metrics();
        let (requests, received) = mpsc::channel(16);
        let changes = watch::Changes::start(&self.folder, self.compiled_from, watch)?;
        actix_web::rt::spawn(self.run(received, changes));
        Ok(Reload(requests))
    }

    async fn run(self, mut requests: mpsc::Receiver<oneshot::Sender<Outcome>>, mut changes: watch::Changes) {
        loop {
            tokio::select! {
                request = requests.recv() => match request {
                    Some(reply) => {
                        // Taken before the files are read, so that a change during it is seen as one.
                        changes.remember();
                        let _ = reply.send(self.reload().await);
                    }
                    None => return,
                },
                () = changes.next() => {
                    let _ = self.reload().await;
                }
            }
        }
    }

    async fn reload(&self) -> Outcome {
        let (folder, environment) = (self.folder.clone(), self.environment.clone());
        let require_tests = self.require_tests;
        let load = move || load(&folder, environment.as_ref(), require_tests);
        let compiled = tokio::task::spawn_blocking(load).await;
        let outcome = compiled
            .unwrap_or_else(|_| Err(vec![Problem::anywhere("the compiler of the rules panicked")]))
            .map(|set| self.accept(set))
            .map_err(|problems| self.reject(problems));
        let result = if outcome.is_ok() { ReloadResult::Ok } else { ReloadResult::Rejected };
        self.metrics.reloads.get_or_create(&Reloaded { result }).inc();
        self.publish_metrics();
        footprint::give_back();
        outcome
    }

    fn accept(&self, set: RuleSet) -> usize {
        let rules = set.rule_count();
        tracing::info!(rules, sources = set.sources().len(), "rules reloaded");
        log_sources_off(&set);
        self.live.replace(set);
        rules
    }

    fn reject(&self, problems: Vec<Problem>) -> Vec<Problem> {
        tracing::error!(mistakes = problems.len(), "rules not reloaded: the old ones stay in force");
        for problem in &problems {
            tracing::error!("{}", problem.to_string().trim_end());
        }
        // Stale since the first mistake, however often a reload was tried since.
        let since = self.live.stale().map_or_else(crate::outbox::unix_ms, |stale| stale.since);
        self.live.mark_stale(since, problems.clone());
        problems
    }

    fn publish_metrics(&self) {
        let rules = i64::try_from(self.live.current().rule_count()).unwrap_or(i64::MAX);
        self.metrics.rules.set(rules);
        self.metrics.rules_stale.set(i64::from(self.live.stale().is_some()));
    }
}

/// Compiles the folder; with `require_tests`, rules whose own cases fail are refused too.
///
/// # Errors
/// All mistakes and, when there are none, all cases that fail.
pub fn load(
    folder: &Path,
    environment: &dyn Environment,
    require_tests: bool,
) -> Result<RuleSet, Vec<Problem>> {
    let set = compile_folder(folder, environment)?;
    let failures = if require_tests { cases::failures(folder) } else { Vec::new() };
    if failures.is_empty() { Ok(set) } else { Err(failures) }
}

/// Says which sources are off and what turns them on.
pub fn log_sources_off(set: &RuleSet) {
    for off in set.off() {
        let variables = off.waits_for.join(", ");
        tracing::info!(source = off.source.name, "source is off: set {variables} to turn it on");
    }
}
