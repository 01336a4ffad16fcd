//! Raw records of a study: one entry per slice, and values recorded once per round, before any check.

use std::collections::{BTreeMap, BTreeSet};

use hdrhistogram::Histogram;
use hoptax_load::{Distribution, Recording};
use hoptax_result::{
    Answer, Book, Capacity, Course, Opened, PartCounts, ProxyTraffic, Reasons, RoundProfile,
};
use serde::{Deserialize, Serialize};

/// One measured slice.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SliceRecord {
    /// The round, from 0.
    pub round: u32,
    /// The number of the block of this load in the round, from 0.
    pub block: u32,
    /// The index of the load in the plan.
    pub load: usize,
    /// The index of the arm in the plan.
    pub arm: usize,
    /// The number of the arm's copy, from 0.
    pub copy: u32,
    /// Its start, in seconds since the start of the study.
    pub began_s: f64,
    /// Time between the readings of counters before and after it, seconds.
    pub wall_s: f64,
    /// Planned requests per second; 0 in a closed loop.
    pub planned_rate: f64,
    /// Time during which requests were released and recorded, seconds.
    pub recorded_s: f64,
    /// The outcomes of its recorded requests.
    pub book: Book,
    /// All requests answered over `wall_s`, including those before recording began: the requests that CPU time was
    /// spent on.
    pub answered: u64,
    /// True if a proxy, an origin or the companion, or a thread of one, ended or was replaced between the readings. Their CPU times are
    /// then unknown and 0 here, and no number of the slice counts.
    pub is_incomplete: bool,
    /// CPU time of all proxies over `wall_s`, nanoseconds; 0 without a proxy.
    pub proxy_cpu_ns: u64,
    /// CPU time of each proxy, in the order in which a request passes them.
    pub hops_cpu_ns: Vec<u64>,
    /// Busy share of the proxies, over the processors that they may use, 0 to 1; none without a proxy, and if that is not known.
    pub busy_share: Option<f64>,
    /// Busy share of these processors with proxies, generator and origin, 0 to 1; none in the same cases.
    pub processors_share: Option<f64>,
    /// CPU time that each proxy used after the slice and before the next one of the same copy, on work that the slice
    /// left: timers that fired, buffers that were sent. The proxy is stopped in between.
    pub late_hops_cpu_ns: Vec<u64>,
    /// Activity of all proxies over `wall_s` and until the next slice of the same copy; none without a proxy, and where
    /// the kernel does not report it.
    pub parts: Option<PartCounts>,
    /// CPU time of all origins over `wall_s`, nanoseconds.
    pub origin_cpu_ns: u64,
    /// CPU time of the companion over `wall_s`, nanoseconds; 0 for an arm that does not call it.
    pub companion_cpu_ns: u64,
    /// Bytes carried by the link over `wall_s`, both directions; 0 without one.
    pub link_bytes: u64,
    /// Packets that arrived from callers where the proxies are over `wall_s`; 0 without a network.
    pub received_packets: u64,
    /// Time over `wall_s` that the proxy waited for a processor that none of its own threads used, nanoseconds.
    pub proxy_run_delay_ns: u64,
    /// Stolen ticks of 10 ms on the processor in use that lost most.
    pub steal_ticks: u64,
    /// Round trip of a cache line between the generator's processor and the proxy's, nanoseconds: the longer of a
    /// reading just before the slice and one just after. None when they share a processor.
    pub handover_ns: Option<f64>,
    /// CPU time of the generator's thread over `recorded_s`, nanoseconds.
    pub generator_cpu_ns: u64,
    /// Time that the generator's thread waited for a processor over `recorded_s`, nanoseconds.
    pub generator_run_delay_ns: u64,
    /// Busy ticks of the processors of generator and origin over `wall_s`, and all their ticks.
    pub busy_ticks: f64,
    /// See `busy_ticks`.
    pub total_ticks: f64,
    /// Connections opened.
    pub connected: u64,
    /// Full and resumed TLS handshakes.
    pub full_handshakes: u64,
    /// See `full_handshakes`.
    pub resumed_handshakes: u64,
    /// Median response time, us; none when nothing was answered.
    pub response_p50_us: Option<f64>,
    /// The largest lag that the generator itself caused, nanoseconds: with a request, or between two turns of its event loop.
    pub latest_own_lag_ns: u64,
    /// Connections of a closed loop, each with a request in flight; 0 under an open loop.
    pub closed_connections: u32,
}

/// The capacity of each arm, by the first load that uses connections alike ([`crate::plan::Plan::first_alike`]), and by arm.
pub type Capacities = BTreeMap<usize, BTreeMap<usize, Capacity>>;

/// One complete round; stored as JSON so that a study can be resumed after it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RoundRecord {
    /// Its number, from 0.
    pub round: u32,
    /// Time of the start of its processes, RFC 3339 in UTC.
    pub began_at: String,
    /// Time of the end of its last slice.
    pub ended_at: String,
    /// The kernel's boot id.
    pub boot_id: String,
    /// Its slices, in the order of measurement.
    pub slices: Vec<SliceRecord>,
    /// The slices of a timeline, in the order of measurement.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub courses: Vec<Course>,
    /// Response times under an open loop, by the index of the slice in `slices`.
    pub responses: BTreeMap<usize, Times>,
    /// Send lag caused by the generator itself under an open loop, nanoseconds, by the index of the slice.
    pub own_lag: BTreeMap<usize, Times>,
    /// Response times by status, by the index of the slice, for loads that expect several statuses.
    pub by_status: BTreeMap<usize, BTreeMap<u16, Times>>,
    /// Failed requests by kind, by the index of the slice.
    pub failures: BTreeMap<usize, BTreeMap<String, u64>>,
    /// Reasons of their failures, by the index of the slice.
    pub reasons: BTreeMap<usize, Reasons>,
    /// Resident memory of each proxy of an arm at the end of the round, the mean over its copies, bytes, by arm.
    pub memory_bytes: BTreeMap<usize, Vec<u64>>,
    /// CPU time of each proxy of an arm from its start until it was live, the mean over its copies, us, by arm.
    pub start_cpu_us: BTreeMap<usize, Vec<u64>>,
    /// Memory of the first proxy of an arm's first copy before and after connections to it were opened, by arm.
    pub opened: BTreeMap<usize, Opened>,
    /// Bytes that each proxy of an arm's first copy received and sent, by arm.
    pub traffic: BTreeMap<usize, Vec<ProxyTraffic>>,
    /// The configuration hash of the first copy of an arm with proxies, by arm.
    pub configurations: BTreeMap<usize, String>,
    /// Evidence that a function was not active, or not removed, by arm.
    pub unproven: BTreeMap<usize, Vec<String>>,
    /// Capacities of the arms, if loads are shares of them. Measured once, before the first round.
    pub capacities: Capacities,
    /// First answer of each arm, by arm, from before the first round; empty if the arms were not tried.
    pub answers: BTreeMap<usize, Answer>,
    /// The profile of each arm, by arm, if the study takes profiles.
    pub profiles: BTreeMap<usize, RoundProfile>,
    /// Time spent waiting for the host before slices, nanoseconds.
    pub waited_ns: u64,
    /// Stolen ticks of the processors in use, and all their ticks.
    pub steal: (u64, u64),
}

impl RoundRecord {
    /// Adds one slice and its recording.
    pub fn add(&mut self, slice: SliceRecord, recording: &Recording, is_open: bool) {
        let number = self.slices.len();
        if !recording.failures.is_empty() {
            let failures = recording.failures.iter();
            let failures = failures.map(|(failure, count)| (failure.as_str().to_owned(), *count)).collect();
            self.failures.insert(number, failures);
        }
        if !recording.reasons.is_empty() {
            self.reasons.insert(number, recording.reasons.clone());
        }
        if is_open {
            self.responses.insert(number, Times::from_distribution(&recording.response));
            self.own_lag.insert(number, Times::from_distribution(&recording.own_lag));
        }
        self.slices.push(slice);
    }

    /// Adds the response times by status of the last added slice.
    pub fn add_statuses(&mut self, by_status: &BTreeMap<u16, Distribution>) {
        let times =
            by_status.iter().map(|(status, times)| (*status, Times::from_distribution(times))).collect();
        self.by_status.insert(self.slices.len().saturating_sub(1), times);
    }
}

/// The hash of an arm's configuration if all rounds agree on it; none otherwise.
pub fn common_configuration(records: &[RoundRecord], arm: usize) -> Option<String> {
    let all: BTreeSet<Option<&String>> =
        records.iter().map(|record| record.configurations.get(&arm)).collect();
    let mut all = all.into_iter();
    all.next().flatten().filter(|_| all.next().is_none()).cloned()
}

/// Times of one slice: each value in nanoseconds with its count. A slice has a few hundred distinct values, far fewer
/// than a histogram has buckets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Times(BTreeMap<u64, u64>);

impl Times {
    fn from_distribution(distribution: &Distribution) -> Self {
        let times = distribution.histogram();
        let recorded = times.iter_recorded();
        Self(recorded.map(|value| (value.value_iterated_to(), value.count_at_value())).collect())
    }

    /// Number of recorded times.
    pub fn count(&self) -> u64 {
        self.0.values().sum()
    }

    /// Adds them to a histogram.
    pub fn add_to(&self, histogram: &mut Histogram<u64>) {
        for (value, count) in &self.0 {
            // The values come from a histogram of the same kind, so they are in range.
            histogram.saturating_record_n(*value, *count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_with_different_hashes_have_no_common_hash() {
        let round = |hash: Option<&str>| RoundRecord {
            configurations: hash.map(|hash| (1, hash.to_owned())).into_iter().collect(),
            ..RoundRecord::default()
        };
        assert_eq!(common_configuration(&[round(Some("a")), round(Some("a"))], 1).as_deref(), Some("a"));
        assert_eq!(common_configuration(&[round(Some("a")), round(Some("b"))], 1), None);
        assert_eq!(common_configuration(&[round(Some("a")), round(None)], 1), None);
        assert_eq!(common_configuration(&[round(None)], 1), None);
        assert_eq!(common_configuration(&[], 1), None);
    }
}
