//! When the rules folder has changed.
//!
//! The folder is watched, not its files: editors save by renaming, Kubernetes swaps a symlink, a bind mount can change
//! its inode. What an event is worth is decided by a snapshot: many events change nothing that counts.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::event::{AccessKind, AccessMode};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

/// Several events of one save count as one.
const DEBOUNCE: Duration = Duration::from_millis(100);
/// How often the folder is looked at without an event. None tells of a link that leads to the folder and was
/// turned elsewhere, nor of a file that a link in the folder leads to.
const SECOND_LOOK: Duration = Duration::from_secs(5);
/// How often `poll` looks.
const POLL: Duration = Duration::from_secs(1);

/// How changes are noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Watch {
    /// The operating system tells.
    #[default]
    Notify,
    /// The folder is looked at every second: for network file systems and some container mounts.
    Poll,
    /// Only on SIGHUP and `POST /-/reload`.
    Off,
}

/// A stream of changes.
pub(super) struct Changes {
    folder: PathBuf,
    seen: Snapshot,
    source: Source,
}

enum Source {
    Events { _watcher: RecommendedWatcher, happened: Arc<Notify> },
    Poll,
    Off,
}

impl Changes {
    /// Changes of the folder since it was as in `seen`.
    pub(super) fn start(folder: &Path, seen: Snapshot, watch: Watch) -> notify::Result<Self> {
        let source = match watch {
            Watch::Notify => events_of(folder)?,
            Watch::Poll => Source::Poll,
            Watch::Off => Source::Off,
        };
        Ok(Self { folder: folder.to_owned(), seen, source })
    }

    /// Takes the folder as it is now for what is known.
    pub(super) fn remember(&mut self) {
        self.seen = Snapshot::of(&self.folder);
    }

    /// Resolves once the folder differs from what is known. Looks before it waits, so that a change is not lost
    /// when the wait is cut short.
    pub(super) async fn next(&mut self) {
        if matches!(self.source, Source::Off) {
            return std::future::pending().await;
        }
        loop {
            let now = Snapshot::of(&self.folder);
            if now != self.seen {
                self.seen = now;
                return;
            }
            match &self.source {
                Source::Events { happened, .. } => {
                    if timeout(SECOND_LOOK, happened.notified()).await.is_ok() {
                        sleep(DEBOUNCE).await;
                    }
                }
                Source::Poll | Source::Off => sleep(POLL).await,
            }
        }
    }
}

fn events_of(folder: &Path) -> notify::Result<Source> {
    let happened = Arc::new(Notify::new());
    let waker = happened.clone();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        // Reading is no change; and as looking at the folder reads it, each look would ask for the next one.
        let only_read = event.is_ok_and(|event| {
            event.kind.is_access() && event.kind != EventKind::Access(AccessKind::Close(AccessMode::Write))
        });
        if !only_read {
            waker.notify_one();
        }
    })?;
    watcher.watch(folder, RecursiveMode::Recursive)?;
    Ok(Source::Events { _watcher: watcher, happened })
}

/// A folder of rules at one moment. Differs whenever a rules file appeared, went, or was written, whatever way.
/// Links count by what they lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Snapshot(u64);

impl Snapshot {
    /// The folder as it is now.
    pub fn of(folder: &Path) -> Self {
        let mut hasher = DefaultHasher::new();
        add(folder, &mut hasher);
        Self(hasher.finish())
    }
}

fn add(folder: &Path, hasher: &mut DefaultHasher) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    for path in paths {
        let Ok(metadata) = fs::metadata(&path) else { continue };
        if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.')) {
            continue;
        }
        path.hash(hasher);
        if metadata.is_dir() {
            add(&path, hasher);
        } else {
            (metadata.ino(), metadata.len(), metadata.mtime(), metadata.mtime_nsec()).hash(hasher);
        }
    }
}
