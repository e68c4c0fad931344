//! The `hookbell` program.

use std::process::ExitCode;

/// Faster than the system's where many small values come and go on several threads, and gives memory back.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    hookbell::cli::run()
}
