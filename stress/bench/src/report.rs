//! The figures, for people and as JSON.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::tally::Tally;

/// A generator that uses more than this of its processor may be what is measured.
const BUSY: f64 = 0.95;

#[derive(Serialize)]
pub(crate) struct Report {
    seconds: f64,
    answers: u64,
    /// Answers a second.
    rate: f64,
    /// Microseconds at p50, p90, p99, p99.9, and the longest.
    latency_us: BTreeMap<&'static str, u64>,
    by_status: BTreeMap<u16, u64>,
    by_kind: BTreeMap<String, BTreeMap<u16, u64>>,
    wrong: u64,
    errors: BTreeMap<String, u64>,
    cannot_assign_requested_address: u64,
    connections: u64,
    /// The share of one processor that the generator used.
    generator_cpu: f64,
}

impl Report {
    pub(crate) fn new(tally: &Tally, generator_cpu: f64) -> Report {
        let mut by_status = BTreeMap::new();
        for (status, count) in tally.answers.iter().flatten() {
            *by_status.entry(*status).or_default() += count;
        }
        let (seconds, answers) = (tally.took.as_secs_f64(), tally.latency.len());
        let at = |quantile| tally.latency.value_at_quantile(quantile);
        let latency_us = [
            ("p50", at(0.5)),
            ("p90", at(0.9)),
            ("p99", at(0.99)),
            ("p99.9", at(0.999)),
            ("max", tally.latency.max()),
        ];
        Report {
            seconds,
            answers,
            rate: answers as f64 / seconds,
            latency_us: latency_us.into(),
            by_status,
            by_kind: tally.names.iter().cloned().zip(tally.answers.iter().cloned()).collect(),
            wrong: tally.wrong,
            errors: tally.errors.clone(),
            cannot_assign_requested_address: tally.no_port,
            connections: tally.connections,
            generator_cpu,
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} answers in {:.1} s, {:.0}/s, over {} connections",
            self.answers, self.seconds, self.rate, self.connections
        )?;
        for name in ["p50", "p90", "p99", "p99.9", "max"] {
            writeln!(f, "  {name:<24} {:>10.3} ms", self.latency_us[name] as f64 / 1000.0)?;
        }
        for (kind, counts) in &self.by_kind {
            let counts: Vec<_> = counts.iter().map(|(status, count)| format!("{status}: {count}")).collect();
            writeln!(f, "  {kind:<24} {}", counts.join(", "))?;
        }
        writeln!(f, "  {:<24} {}", "wrong answers", self.wrong)?;
        for (error, count) in &self.errors {
            writeln!(f, "  {error}: {count}")?;
        }
        if self.cannot_assign_requested_address > 0 {
            writeln!(f, "  Cannot assign requested address: {}", self.cannot_assign_requested_address)?;
        }
        let warning = if self.generator_cpu > BUSY { ": too much, it measured itself" } else { "" };
        writeln!(
            f,
            "  {:<24} {:.0} % of one processor{warning}",
            "load generator",
            self.generator_cpu * 100.0
        )
    }
}
