//! Memory that is not needed any more goes back to the system.
//!
//! Compiling the rules takes many times what the compiled rules keep, and a storm takes buffers by the thousand. glibc
//! keeps what was freed for a later need, per thread and for ever, unless it is told otherwise.

use std::time::Duration;

use actix_web::rt::task::JoinHandle;

/// The time between two sweeps: what a storm left is gone within a minute of its end.
const EVERY: Duration = Duration::from_secs(20);

/// A body of this size or more gets pages of its own, which are given back with it. Else glibc raises the size with what
/// is freed, and keeps room for many large bodies after the first ones.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const OWN_PAGES: libc::c_int = 128 * 1024;

/// Gives back what starting took, and from then on what is freed, until the task is aborted. On the runtime of the
/// caller.
pub fn keep_small() -> JoinHandle<()> {
    keep_large_apart();
    actix_web::rt::spawn(async {
        // What is spawned with this has run its first steps by then.
        tokio::time::sleep(Duration::from_secs(1)).await;
        unmap_code();
        loop {
            give_back_freed();
            tokio::time::sleep(EVERY).await;
        }
    })
}

/// Gives back what was freed and the code that is not running. For after work that happens rarely.
pub fn give_back() {
    give_back_freed();
    unmap_code();
}

/// Takes microseconds when there is little. Does nothing with another C library: musl gives back by itself.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(unsafe_code)]
fn give_back_freed() {
    // SAFETY: malloc_trim may be called at any time from any thread and touches free memory only (malloc_trim(3)).
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(unsafe_code)]
fn keep_large_apart() {
    // SAFETY: mallopt may be called at any time and touches only malloc's own settings (mallopt(3)).
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, OWN_PAGES);
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn give_back_freed() {}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn keep_large_apart() {}

/// Most code runs once: the command line, the compiler of the rules, the schema of the store. It leaves our memory here
/// and stays in the system's cache of files; a page that is needed again is mapped again at its next use.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
fn unmap_code() {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    for (start, end) in maps.lines().filter_map(code) {
        // SAFETY: these pages are mapped from a file, and nobody writes to code. Dropping them changes no byte: the
        // next access reads the same from the file (madvise(2), MADV_DONTNEED).
        unsafe {
            libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_DONTNEED);
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn unmap_code() {}

/// The bounds of a mapping that is code of a file, from a line of `/proc/PID/maps` (proc(5)).
#[cfg(target_os = "linux")]
fn code(line: &str) -> Option<(usize, usize)> {
    let mut fields = line.split_ascii_whitespace();
    let (start, end) = fields.next()?.split_once('-')?;
    let of_a_file = fields.next()? == "r-xp" && fields.nth(3)?.starts_with('/');
    let address = |text| usize::from_str_radix(text, 16).ok();
    of_a_file.then_some((address(start)?, address(end)?))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn only_mappings_that_are_code_of_a_file_are_given_back() {
        let code_of = "5590340ce000-559034c3b000 r-xp 003df000 08:01 131 /usr/bin/hookbell";
        assert_eq!(code(code_of), Some((0x5590_340c_e000, 0x5590_34c3_b000)));
        let relocated = "559034c3b000-559034cfb000 r--p 00f4c000 08:01 131 /usr/bin/hookbell";
        let kernels = "7fff557f0000-7fff557f2000 r-xp 00000000 00:00 0 [vdso]";
        let made_up = "7fff557f0000-7fff557f2000 r-xp 00000000 00:00 0";
        assert_eq!([relocated, kernels, made_up, ""].map(code), [None; 4]);
    }
}
