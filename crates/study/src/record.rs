//! What a study records: one entry per slice, and what only a whole round can say.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use hoptax_load::Recording;
use hoptax_result::Book;

/// One slice, measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SliceRecord {
    /// The round, from 0.
    pub round: u32,
    /// The block of this load in the round, from 0.
    pub block: u32,
    /// The load, by its number in the plan.
    pub load: usize,
    /// The arm, by its number in the plan.
    pub arm: usize,
    /// When it began, seconds since the study did.
    pub began_s: f64,
    /// From the reading of the accounts before it to that after it, seconds.
    pub wall_s: f64,
    /// How long requests were released and recorded, seconds.
    pub recorded_s: f64,
    /// Where its recorded requests went.
    pub book: Book,
    /// CPU time of the proxy over `wall_s`, nanoseconds; 0 without a proxy.
    pub proxy_cpu_ns: u64,
    /// Time that the proxy waited for a processor that none of its own threads had, nanoseconds.
    pub proxy_run_delay_ns: u64,
    /// Ticks of 10 ms that the host took from the processors in use.
    pub steal_ticks: u64,
    /// Median response time, microseconds; none when nothing was answered.
    pub response_p50_us: Option<f64>,
    /// Whether the rule sets it aside.
    pub set_aside: bool,
}

/// What the generator and its processors did under one load.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GeneratorRecord {
    /// CPU time of the generator's thread, nanoseconds.
    pub cpu_ns: u64,
    /// Time that it waited for a processor, nanoseconds.
    pub run_delay_ns: u64,
    /// Time measured, nanoseconds.
    pub wall_ns: u64,
    /// Ticks of the processors of generator and origin in which they were busy.
    pub busy_ticks: u64,
    /// All their ticks.
    pub total_ticks: u64,
}

/// What a proxy used while no load was offered to it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct IdleRecord {
    /// CPU time, nanoseconds.
    pub cpu_ns: u64,
    /// Over this much time, nanoseconds.
    pub wall_ns: u64,
}

/// One complete round.
#[derive(Clone, Debug, Default)]
pub struct RoundRecord {
    /// Its slices, in the order in which they were measured.
    pub slices: Vec<SliceRecord>,
    /// Response times of the slices that count, by arm, under the open loop, nanoseconds.
    pub response: BTreeMap<usize, Histogram<u64>>,
    /// Idle use of each proxy, by arm.
    pub idle: BTreeMap<usize, IdleRecord>,
    /// Failed requests by arm and kind.
    pub failures: BTreeMap<usize, BTreeMap<String, u64>>,
    /// What the generator did, by load.
    pub generator: BTreeMap<usize, GeneratorRecord>,
    /// The generator's own send lag, by load, nanoseconds.
    pub own_lag: BTreeMap<usize, Histogram<u64>>,
    /// Ticks of the processors in use that the host took, and all their ticks.
    pub steal: (u64, u64),
}

impl RoundRecord {
    /// Adds one slice and what was recorded in it.
    pub fn add(&mut self, slice: SliceRecord, recording: &Recording, is_open: bool) {
        for (failure, count) in &recording.failures {
            let failures = self.failures.entry(slice.arm).or_default();
            *failures.entry(failure.word().to_owned()).or_default() += count;
        }
        if is_open {
            if !slice.set_aside {
                merge(&mut self.response, slice.arm, &recording.response());
            }
            merge(&mut self.own_lag, slice.load, &recording.own_lag);
        }
        self.slices.push(slice);
    }
}

/// The rule that sets slices aside, as results state it.
pub const SET_ASIDE_RULE: &str = "a slice is set aside when the host took a tick (10 ms) of the processors in use \
     while it ran, or when the proxy waited more than 5 % of it for a processor that none of its own threads had";

/// Share of a slice that a proxy may wait for its processor.
const MOST_RUN_DELAY: f64 = 0.05;

/// Whether a slice is set aside, by [`SET_ASIDE_RULE`]. What was measured in it plays no part.
pub fn is_set_aside(wall_s: f64, proxy_run_delay_ns: u64, steal_ticks: u64) -> bool {
    steal_ticks > 0 || proxy_run_delay_ns as f64 / 1e9 > MOST_RUN_DELAY * wall_s
}

fn merge(into: &mut BTreeMap<usize, Histogram<u64>>, key: usize, histogram: &Histogram<u64>) {
    match into.get_mut(&key) {
        Some(all) => *all += histogram,
        None => {
            into.insert(key, histogram.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_looks_at_the_host_alone() {
        assert!(!is_set_aside(0.2, 0, 0));
        assert!(is_set_aside(0.2, 0, 1));
        assert!(!is_set_aside(0.2, 10_000_000, 0));
        assert!(is_set_aside(0.2, 10_000_001, 0));
    }
}
