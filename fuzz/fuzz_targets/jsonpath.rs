//! Any query is refused or selects something that is there.
#![no_main]

use hookbell::rules::selector::Selector;
use libfuzzer_sys::fuzz_target;
use serde_json::json;

fuzz_target!(|query: &str| {
    let value = json!({
        "a": {"b": [1, 2, {"c": "x"}], "d-e": null}, "list": [{"s": "x", "n": 1}, {"s": "y", "n": 2.5}], "t": true,
    });
    if let Ok(selector) = Selector::parse(query) {
        selector.select(&value);
    }
});
