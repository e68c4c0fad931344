//! Which thread runs first while the processors are busy: a sender waits for its answer, and some give up after a second;
//! the phone can wait a little longer. With time to spare nobody waits for anybody.

/// Writes the store. Below those that answer: while they run, more webhooks gather for its next commit, which costs the
/// disk as much for many as for one.
pub const STORING: i32 = 5;
/// Sends to ntfy. What is stored arrives, if later.
pub const DELIVERING: i32 = 10;

/// Makes the calling thread yield to others, by so much more `nice` (nice(2)).
#[cfg(target_os = "linux")]
pub fn yield_to_others(more: i32) {
    // On Linux this is a thread's own. Where it is forbidden, all run alike.
    let _ = rustix::process::nice(more);
}

/// Elsewhere the number is that of the whole process.
#[cfg(not(target_os = "linux"))]
pub fn yield_to_others(_: i32) {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn only_the_thread_that_asks_yields() {
        let mine = || rustix::process::getpriority_process(None);
        let before = mine().unwrap();
        let of_another = std::thread::spawn(move || {
            yield_to_others(DELIVERING);
            mine()
        });
        assert_eq!(of_another.join().unwrap(), Ok((before + DELIVERING).min(19)));
        assert_eq!(mine(), Ok(before));
    }
}
