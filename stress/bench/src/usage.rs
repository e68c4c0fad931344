//! What the load generator itself costs: a generator at its limit measures itself.

use std::time::Duration;

/// Processor time that this thread, which does all the work, has used.
pub(crate) fn processor_time() -> Duration {
    let file = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(parse(&file))
}

fn parse(schedstat: &str) -> u64 {
    schedstat.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_field_is_the_time_on_a_processor() {
        assert_eq!([parse("1234 5 6\n"), parse("")], [1234, 0]);
    }
}
