//! File systems of a test's own, where the user may mount them.

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

/// A mounted file system. Unmounted when dropped.
pub struct Disk(TempDir);

impl Disk {
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Disk {
    /// Free bytes.
    pub fn free(&self) -> usize {
        let disk = rustix::fs::statvfs(self.path()).expect("a file system");
        usize::try_from(disk.f_bavail * disk.f_frsize).expect("few")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

/// An empty one of this size, such as `1m`; `None` where this user cannot mount.
pub fn small(size: &str) -> Option<Disk> {
    mount(&format!("size={size}"))
}

/// An empty one that cannot be written.
pub fn read_only() -> Option<Disk> {
    mount("ro,size=1m")
}

fn mount(options: &str) -> Option<Disk> {
    let folder = tempfile::tempdir().expect("a folder");
    let mount =
        Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(folder.path()).status();
    mount.is_ok_and(|status| status.success()).then_some(Disk(folder))
}
