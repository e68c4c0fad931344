//! What the system says about a process.

use std::time::Duration;

/// Resident memory in KiB.
pub fn rss_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("a running process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("VmRSS");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// Processor time spent so far, by all threads.
pub fn cpu_time(pid: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("a running process");
    // The name in parentheses may hold spaces; utime and stime are the 12th and 13th field after it.
    let (_, after) = stat.rsplit_once(')').expect("a name");
    let ticks: u64 =
        after.split_whitespace().skip(11).take(2).map(|n| n.parse::<u64>().expect("ticks")).sum();
    Duration::from_millis(ticks * 10)
}

/// The first child of a process.
pub fn child(pid: u32) -> Option<u32> {
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
    children.split_whitespace().next()?.parse().ok()
}

/// Client ends of connections to a local port that are open or opening now.
pub fn connections_to(port: u16) -> usize {
    let table = std::fs::read_to_string("/proc/net/tcp").expect("the table of sockets");
    let open = |line: &&str| {
        let mut words = line.split_whitespace().skip(2);
        let remote = words.next().is_some_and(|remote| remote.ends_with(&format!(":{port:04X}")));
        // 01 established, 02 SYN sent
        remote && words.next().is_some_and(|state| state == "01" || state == "02")
    };
    table.lines().filter(open).count()
}
