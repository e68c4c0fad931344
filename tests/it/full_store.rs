//! A disk without space: webhooks are turned away, nothing breaks, and service returns with the space.

use std::path::{Path, PathBuf};
use std::process::Command;

use fake_ntfy::{FakeNtfy, Options};

use crate::support::Gateway;
use crate::support::load::{PATH, arrived, rules};
use crate::support::wait::until;

/// A tiny file system of its own, unmounted when dropped.
struct TinyDisk(PathBuf);

impl TinyDisk {
    fn mount(at: &Path) -> Option<Self> {
        std::fs::create_dir_all(at).ok()?;
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"]).arg(at).output();
        mount.is_ok_and(|output| output.status.success()).then(|| Self(at.to_owned()))
    }
}

impl Drop for TinyDisk {
    fn drop(&mut self) {
        // Lazily: whatever still has it open may finish.
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_answers_503_until_there_is_space_again() {
    let ntfy = FakeNtfy::start(Options::default());
    let plan = Gateway::with_rules(&rules("t", "connections: 2")).ntfy(&ntfy);
    let Some(disk) = TinyDisk::mount(&plan.data_folder()) else {
        eprintln!("skipped: no right to mount a small file system");
        return;
    };
    let mut gateway = plan.start();
    assert_eq!(gateway.post(PATH, &[], r#"{"id":"before"}"#).status, 200);
    until("the first one", || arrived(&ntfy).contains("before").then_some(()));
    let filler = disk.0.join("filler");
    // Ends with an error once the disk is full.
    let _ = std::fs::write(&filler, vec![0; 2 << 20]);
    let mut accepted = vec!["before".to_owned()];
    let refused = until("a refusal", || {
        let id = format!("full {}", accepted.len());
        let answer = gateway.post(PATH, &[], format!(r#"{{"id":"{id}{}"}}"#, " ".repeat(3000)));
        if answer.status == 200 {
            accepted.push(id);
        }
        (answer.status != 200).then_some(answer)
    });
    assert_eq!(refused.status, 503, "{}", refused.text);
    assert!(refused.header("retry-after").is_some());
    let ready = gateway.admin("GET", "/readyz");
    assert_eq!((ready.status, &ready.json()["store"]["writable"]), (503, &false.into()), "{}", ready.text);
    assert_eq!(gateway.admin("GET", "/healthz").status, 200);
    assert!(gateway.is_running());
    std::fs::remove_file(filler).expect("to make space");
    until("service to return", || (gateway.post(PATH, &[], r#"{"id":"after"}"#).status == 200).then_some(()));
    until("readiness", || (gateway.admin("GET", "/readyz").status == 200).then_some(()));
    accepted.push("after".to_owned());
    until("all notifications", || accepted.iter().all(|id| arrived(&ntfy).contains(id)).then_some(()));
}
