//! When the rules folder has changed.
//!
//! The folder is watched, not its files: editors save by renaming, Kubernetes swaps a symlink, a bind mount can change
//! its inode. What an event is worth is decided by a snapshot, since many events change nothing that counts.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use notify::event::{AccessKind, AccessMode, EventKind};
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc;

/// Several events of one save count as one.
const DEBOUNCE: Duration = Duration::from_millis(100);
/// How often `poll` looks.
const POLL: Duration = Duration::from_secs(1);
/// How often `notify` looks too: the system tells nothing of a folder that was replaced or is a link to another now.
const UNTOLD: Duration = Duration::from_secs(5);

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
    Events { watcher: RecommendedWatcher, events: mpsc::UnboundedReceiver<()> },
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
        if let Source::Events { watcher, .. } = &mut self.source {
            // It may be another folder under the same name. When that is gone, a later look finds it again.
            let _ = watcher.unwatch(&self.folder);
            let _ = watcher.watch(&self.folder, RecursiveMode::Recursive);
        }
        self.seen = Snapshot::of(&self.folder);
    }

    /// Resolves once the folder differs from what is known. Looks before it waits, so that nothing is lost when a wait
    /// is cut short.
    pub(super) async fn next(&mut self) {
        if matches!(self.source, Source::Off) {
            return std::future::pending().await;
        }
        while Snapshot::of(&self.folder) == self.seen {
            match &mut self.source {
                Source::Events { events, .. } => {
                    // Its sender lives as long as the watcher, so this ends by an event or by the time.
                    if tokio::time::timeout(UNTOLD, events.recv()).await.is_ok() {
                        tokio::time::sleep(DEBOUNCE).await;
                        while events.try_recv().is_ok() {}
                    }
                }
                Source::Poll | Source::Off => tokio::time::sleep(POLL).await,
            }
        }
        self.remember();
    }
}

fn events_of(folder: &Path) -> notify::Result<Source> {
    let (sender, events) = mpsc::unbounded_channel();
    let mut watcher = notify::recommended_watcher(move |event| {
        if tells_of_change(&event) {
            let _ = sender.send(());
        }
    })?;
    watcher.watch(folder, RecursiveMode::Recursive)?;
    Ok(Source::Events { watcher, events })
}

/// Reading makes events too, and the folder is read for each event: one would lead to the next without end.
fn tells_of_change(event: &notify::Result<Event>) -> bool {
    let Ok(event) = event else { return true };
    match event.kind {
        EventKind::Access(access) => access == AccessKind::Close(AccessMode::Write),
        _ => true,
    }
}

/// A folder of rules at one moment. Differs whenever a rules file appeared, went, or was written, whatever way. Links
/// count by what they lead to.
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
