//! What a study records: one entry per slice, and what only a whole round can say.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use hoptax_load::{Distribution, Recording};
use hoptax_result::Book;
use hoptax_stats::median;
use serde::{Deserialize, Serialize};

/// Most proxies that an arm has.
pub const MAX_HOPS: usize = 3;

/// One slice, measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SliceRecord {
    /// The round, from 0.
    pub round: u32,
    /// The block of this load in the round, from 0.
    pub block: u32,
    /// The load, by its number in the plan.
    pub load: usize,
    /// The arm, by its number in the plan.
    pub arm: usize,
    /// Which of the arm's copies, from 0.
    pub copy: u32,
    /// When it began, seconds since the study did.
    pub began_s: f64,
    /// From the reading of the accounts before it to that after it, seconds.
    pub wall_s: f64,
    /// How long requests were released and recorded, seconds.
    pub recorded_s: f64,
    /// Where its recorded requests went.
    pub book: Book,
    /// CPU time of all proxies over `wall_s`, nanoseconds; 0 without a proxy.
    pub proxy_cpu_ns: u64,
    /// That of each, in the order in which a request meets them.
    pub hops_cpu_ns: [u64; MAX_HOPS],
    /// CPU time of all origins over `wall_s`, nanoseconds.
    pub origin_cpu_ns: u64,
    /// CPU time of the companion over `wall_s`, nanoseconds; 0 without one.
    pub companion_cpu_ns: u64,
    /// Bytes that the link carried over `wall_s`, both ways; 0 without one.
    pub link_bytes: u64,
    /// Time that the proxy waited for a processor that none of its own threads had, nanoseconds.
    pub proxy_run_delay_ns: u64,
    /// Ticks of 10 ms that the host took from the processors in use.
    pub steal_ticks: u64,
    /// Round trip of a cache line between the generator's processor and the proxy's, nanoseconds: the longer of one
    /// measured just before the slice and one just after. None when they share a processor.
    pub handover_ns: Option<f64>,
    /// Median response time, microseconds; none when nothing was answered.
    pub response_p50_us: Option<f64>,
    /// Whether the rule sets it aside; known when the study is over ([`set_aside`]).
    pub set_aside: bool,
    /// By what factor the machine was slower around it than usual in the study; known when the study is over, none where
    /// nothing can be said.
    pub slowdown: Option<f64>,
}

/// What the generator and its processors did under one load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
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

/// What the proxies of an arm used while no load was offered to them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct IdleRecord {
    /// CPU time, nanoseconds.
    pub cpu_ns: u64,
    /// That of each, in the order in which a request meets them.
    pub hops_cpu_ns: [u64; MAX_HOPS],
    /// Over this much time, nanoseconds.
    pub wall_ns: u64,
}

/// One complete round; kept as JSON, so that a study can be taken up again behind it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RoundRecord {
    /// Its slices, in the order in which they were measured.
    pub slices: Vec<SliceRecord>,
    /// Response times under the open loop, by the number of their slice in `slices`.
    pub responses: BTreeMap<usize, Times>,
    /// Response times by status, by the number of their slice, where a load expects several.
    pub by_status: BTreeMap<usize, BTreeMap<u16, Times>>,
    /// Idle use of the proxies of all its copies, by arm.
    pub idle: BTreeMap<usize, IdleRecord>,
    /// Resident memory of each proxy of the first copy of an arm at the end of the round, bytes.
    pub memory_bytes: BTreeMap<usize, Vec<u64>>,
    /// What speaks against a function having been at work, or gone, by arm.
    pub unproven: BTreeMap<usize, Vec<String>>,
    /// Failed requests by arm and kind.
    pub failures: BTreeMap<usize, BTreeMap<String, u64>>,
    /// What the generator did, by load.
    pub generator: BTreeMap<usize, GeneratorRecord>,
    /// The generator's own send lag, by load, nanoseconds.
    pub own_lag: BTreeMap<usize, Times>,
    /// Time waited for the host before slices, nanoseconds.
    pub waited_ns: u64,
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
            self.responses.insert(self.slices.len(), Times::of(&recording.response));
            self.own_lag.entry(slice.load).or_default().add(&Times::of(&recording.own_lag));
        }
        self.slices.push(slice);
    }

    /// Adds the response times by status of the slice that was added last.
    pub fn add_statuses(&mut self, by_status: &BTreeMap<u16, Distribution>) {
        let times = by_status.iter().map(|(status, times)| (*status, Times::of(times))).collect();
        self.by_status.insert(self.slices.len().saturating_sub(1), times);
    }

    /// Response times of an arm under an open loop in the slices that count, nanoseconds.
    pub fn response(&self, load: usize, arm: usize) -> Histogram<u64> {
        let is_meant = |slice: &SliceRecord| slice.arm == arm && slice.load == load && !slice.set_aside;
        let counts = |index: &usize| self.slices.get(*index).is_some_and(is_meant);
        let mut all = hoptax_load::histogram();
        for (_, one) in self.responses.iter().filter(|(index, _)| counts(index)) {
            one.add_to(&mut all);
        }
        all
    }
}

/// Times of one slice, or of a round: each value, in nanoseconds, and how often it came. A slice has some hundred of
/// them, far fewer than a histogram has places.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Times(BTreeMap<u64, u64>);

impl Times {
    fn of(distribution: &Distribution) -> Self {
        let recorded = distribution.histogram().iter_recorded();
        Self(recorded.map(|value| (value.value_iterated_to(), value.count_at_value())).collect())
    }

    fn add(&mut self, other: &Self) {
        for (value, count) in &other.0 {
            *self.0.entry(*value).or_default() += count;
        }
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.0.values().sum()
    }

    /// Adds them to a histogram.
    pub fn add_to(&self, histogram: &mut Histogram<u64>) {
        for (value, count) in &self.0 {
            // What a histogram of the same kind gave, one takes.
            histogram.saturating_record_n(*value, *count);
        }
    }
}

/// Share of a slice that the host may take: a tick in a slice of a second or more, none in a shorter one.
const MOST_STEAL: f64 = 0.01;
/// Length of a tick, seconds.
const TICK_S: f64 = 0.01;
/// Share of a slice that a proxy may wait for its processor.
const MOST_RUN_DELAY: f64 = 0.05;
/// How many times as long, or as short, as the usual one a handover may be. Readings of one placement of the processors are
/// within a fifth of each other; those of another are several times as long.
const MOST_HANDOVER: f64 = 1.5;

/// Sets slices aside by what the host did while they ran; what was measured in them plays no part. Returns the rule,
/// as results state it. Where proxies share processors with callers on purpose, waiting for them is no disturbance.
pub fn set_aside(rounds: &mut [RoundRecord], shares_processors: bool) -> String {
    let readings: Vec<f64> =
        rounds.iter().flat_map(|round| &round.slices).filter_map(|slice| slice.handover_ns).collect();
    let limits = HandoverLimits::around(median(&readings));
    for slice in rounds.iter_mut().flat_map(|round| &mut round.slices) {
        slice.set_aside = is_disturbed(slice, limits, shares_processors);
    }
    let mut rule =
        "a slice is set aside when the host took more than 1 % of it from the processors in use (a tick is 10 ms)"
            .to_owned();
    if !shares_processors {
        rule +=
            ", or when the proxy waited more than 5 % of it for a processor that none of its own threads had";
    }
    if let Some(HandoverLimits { low_ns, high_ns }) = limits {
        rule += &format!(
            ", or when a cache line did not take {low_ns:.0} to {high_ns:.0} ns between the generator's processor and \
             the proxy's and back just before and after it (1.5 times the median of the study, either way): then the host \
             had moved them"
        );
    }
    rule
}

/// Between which handovers the processors are where the study has them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HandoverLimits {
    /// The shortest, nanoseconds.
    low_ns: f64,
    /// The longest, nanoseconds.
    high_ns: f64,
}

impl HandoverLimits {
    /// Around the usual handover, if there is one.
    pub fn around(usual_ns: Option<f64>) -> Option<Self> {
        let usual_ns = usual_ns?;
        Some(Self { low_ns: usual_ns / MOST_HANDOVER, high_ns: usual_ns * MOST_HANDOVER })
    }

    /// Whether a reading is between them.
    pub fn hold(self, reading_ns: f64) -> bool {
        !self.is_apart(reading_ns) && reading_ns >= self.low_ns
    }

    /// Whether the host has the processors further apart.
    pub fn is_apart(self, reading_ns: f64) -> bool {
        reading_ns > self.high_ns
    }
}

/// Whether the host took more of a slice than it may.
pub fn took_ticks(slice: &SliceRecord) -> bool {
    slice.steal_ticks as f64 * TICK_S > MOST_STEAL * slice.wall_s
}

fn is_disturbed(slice: &SliceRecord, limits: Option<HandoverLimits>, shares_processors: bool) -> bool {
    let has_moved = slice.handover_ns.zip(limits).is_some_and(|(reading, limits)| !limits.hold(reading));
    has_moved
        || took_ticks(slice)
        || (!shares_processors && slice.proxy_run_delay_ns as f64 / 1e9 > MOST_RUN_DELAY * slice.wall_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice() -> SliceRecord {
        SliceRecord {
            round: 0,
            block: 0,
            load: 0,
            arm: 0,
            copy: 0,
            began_s: 0.0,
            wall_s: 0.2,
            recorded_s: 0.2,
            book: Book::default(),
            proxy_cpu_ns: 0,
            hops_cpu_ns: [0; MAX_HOPS],
            origin_cpu_ns: 0,
            companion_cpu_ns: 0,
            link_bytes: 0,
            proxy_run_delay_ns: 0,
            steal_ticks: 0,
            handover_ns: Some(60.0),
            response_p50_us: None,
            set_aside: false,
            slowdown: None,
        }
    }

    /// Which slices the rule sets aside, and what it says.
    fn judged(slices: &[SliceRecord]) -> (Vec<bool>, String) {
        let mut rounds = [RoundRecord { slices: slices.to_vec(), ..RoundRecord::default() }];
        let rule = set_aside(&mut rounds, false);
        (rounds[0].slices.iter().map(|slice| slice.set_aside).collect(), rule)
    }

    #[test]
    fn steal_and_run_delay_set_aside() {
        let slices = [
            slice(),
            SliceRecord { steal_ticks: 1, ..slice() },
            SliceRecord { proxy_run_delay_ns: 10_000_000, ..slice() },
            SliceRecord { proxy_run_delay_ns: 10_000_001, ..slice() },
        ];
        assert_eq!(judged(&slices).0, [false, true, false, true]);
    }

    #[test]
    fn processors_that_were_moved_apart_set_aside_even_when_the_study_began_so() {
        let with = |handover_ns| SliceRecord { handover_ns: Some(handover_ns), ..slice() };
        let (aside, rule) =
            judged(&[with(500.0), with(480.0), with(60.0), with(70.0), with(60.0), with(91.0), with(60.0)]);
        assert_eq!(aside, [true, true, false, false, false, false, false]);
        assert!(rule.contains("47 to 105 ns"), "{rule}");
    }

    #[test]
    fn processors_that_were_seldom_together_set_those_slices_aside() {
        let with = |handover_ns| SliceRecord { handover_ns: Some(handover_ns), ..slice() };
        let (aside, _) = judged(&[
            with(350.0),
            with(360.0),
            with(60.0),
            with(370.0),
            with(380.0),
            with(400.0),
            with(340.0),
        ]);
        assert_eq!(aside, [false, false, true, false, false, false, false]);
    }

    #[test]
    fn without_readings_the_rule_does_not_speak_of_them() {
        let (aside, rule) = judged(&[SliceRecord { handover_ns: None, ..slice() }]);
        assert!(!aside[0] && !rule.contains("cache line"), "{rule}");
    }
}
