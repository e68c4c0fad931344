//! The `hookbell` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    hookbell::cli::run()
}
