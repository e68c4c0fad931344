//! Any text is either a set of rules or a list of mistakes that can be shown.
#![no_main]

use hookbell::rules::compile::compile_text;
use hookbell::rules::external::Environment;
use libfuzzer_sys::fuzz_target;

struct NoVariables;

impl Environment for NoVariables {
    fn variable(&self, _: &str) -> Option<String> {
        None
    }
}

fuzz_target!(|text: &str| {
    // A rules file names files to read; the fuzzer must not.
    if text.contains("file") {
        return;
    }
    if let Err(problems) = compile_text("fuzz.yaml", text, &NoVariables) {
        assert!(!problems.is_empty());
        problems.iter().for_each(|problem| drop(problem.to_string()));
    }
});
