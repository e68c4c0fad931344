//! What the system says about sockets.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;

/// Watches how many connections to a local port are open or opening at one time. A server learns of an end a moment
/// after the system has, so its own count runs behind.
pub struct Watch {
    most: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Watch {
    pub fn on(port: u16) -> Self {
        let (most, stop) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let (seen, stopped) = (most.clone(), stop.clone());
        let thread = std::thread::spawn(move || {
            while !stopped.load(Relaxed) {
                seen.fetch_max(connections_to(port), Relaxed);
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        Self { most, stop, thread }
    }

    /// Ends the watch with the most that it saw.
    pub fn most(self) -> u64 {
        self.stop.store(true, Relaxed);
        self.thread.join().expect("the watch");
        self.most.load(Relaxed) as u64
    }
}

fn connections_to(port: u16) -> usize {
    let table = std::fs::read_to_string("/proc/net/tcp").expect("the table of sockets");
    let port = format!(":{port:04X}");
    let open = |line: &&str| {
        let words: Vec<&str> = line.split_whitespace().skip(2).take(2).collect();
        // The remote end, and the state: 01 is established, 02 is opening.
        matches!(words[..], [remote, "01" | "02"] if remote.ends_with(&port))
    };
    table.lines().filter(open).count()
}
