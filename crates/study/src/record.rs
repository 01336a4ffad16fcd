//! What a study records: one entry per slice, and what only a whole round can say. Nothing here is judged yet.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use hoptax_load::{Distribution, Recording};
use hoptax_result::{Book, Opened, PartCounts};
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
    /// Requests per second that were planned; 0 in a closed loop.
    pub planned_rate: f64,
    /// How long requests were released and recorded, seconds.
    pub recorded_s: f64,
    /// Where its recorded requests went.
    pub book: Book,
    /// All requests that were answered over `wall_s`, those before the record began among them: what CPU time was spent on.
    pub answered: u64,
    /// CPU time of all proxies over `wall_s`, nanoseconds; 0 without a proxy.
    pub proxy_cpu_ns: u64,
    /// That of each, in the order in which a request meets them.
    pub hops_cpu_ns: [u64; MAX_HOPS],
    /// CPU time that each used between the slice and the next of the same copy, as it went on with what the slice had left it:
    /// timers that fell due, buffers that were sent. It stands still in between.
    pub late_hops_cpu_ns: [u64; MAX_HOPS],
    /// What all proxies did over `wall_s` and until the next slice of the same copy; none without a proxy, and where the kernel
    /// does not tell.
    #[serde(default)]
    pub parts: Option<PartCounts>,
    /// CPU time of all origins over `wall_s`, nanoseconds.
    pub origin_cpu_ns: u64,
    /// CPU time of the companion over `wall_s`, nanoseconds; 0 without one.
    pub companion_cpu_ns: u64,
    /// Bytes that the link carried over `wall_s`, both ways; 0 without one.
    pub link_bytes: u64,
    /// Time that the proxy waited for a processor that none of its own threads had, nanoseconds.
    pub proxy_run_delay_ns: u64,
    /// Ticks of 10 ms that the host took from the one of the processors in use that lost most.
    pub steal_ticks: u64,
    /// Round trip of a cache line between the generator's processor and the proxy's, nanoseconds: the longer of one
    /// measured just before the slice and one just after. None when they share a processor.
    pub handover_ns: Option<f64>,
    /// CPU time of the generator's thread over `recorded_s`, nanoseconds.
    pub generator_cpu_ns: u64,
    /// Time that it waited for a processor, nanoseconds.
    pub generator_run_delay_ns: u64,
    /// Ticks of the processors of generator and origin in which they were busy over `wall_s`, and all their ticks.
    pub busy_ticks: f64,
    /// See `busy_ticks`.
    pub total_ticks: f64,
    /// Connections that were opened.
    pub connected: u64,
    /// Handshakes of TLS in which keys were exchanged, and such that took up an earlier session.
    pub full_handshakes: u64,
    /// See `full_handshakes`.
    pub resumed_handshakes: u64,
    /// Median response time, microseconds; none when nothing was answered.
    pub response_p50_us: Option<f64>,
    /// How late the generator itself was with the request that it was latest with, nanoseconds; 0 in a closed loop.
    #[serde(default)]
    pub latest_own_lag_ns: u64,
}

/// One complete round; kept as JSON, so that a study can be taken up again behind it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RoundRecord {
    /// Its number, from 0.
    pub round: u32,
    /// When its processes were started, RFC 3339 in UTC.
    pub began_at: String,
    /// When its last slice ended.
    pub ended_at: String,
    /// The kernel's id of the boot.
    pub boot_id: String,
    /// Its slices, in the order in which they were measured.
    pub slices: Vec<SliceRecord>,
    /// Response times under an open loop, by the number of their slice in `slices`.
    pub responses: BTreeMap<usize, Times>,
    /// The generator's own send lag under an open loop, by the number of the slice, nanoseconds.
    pub own_lag: BTreeMap<usize, Times>,
    /// Response times by status, by the number of their slice, where a load expects several.
    pub by_status: BTreeMap<usize, BTreeMap<u16, Times>>,
    /// Failed requests by kind, by the number of their slice.
    pub failures: BTreeMap<usize, BTreeMap<String, u64>>,
    /// Resident memory of each proxy of the first copy of an arm at the end of the round, bytes.
    pub memory_bytes: BTreeMap<usize, Vec<u64>>,
    /// The memory of the first proxy of the first copy of an arm while connections to it were opened, by arm.
    pub opened: BTreeMap<usize, Opened>,
    /// The hash of the configuration of the first copy of an arm with proxies, by arm.
    #[serde(default)]
    pub configurations: BTreeMap<usize, String>,
    /// What speaks against a function having been at work, or gone, by arm.
    pub unproven: BTreeMap<usize, Vec<String>>,
    /// Requests per second that each arm can take, by arm, where loads are shares of it: measured once, before the first round.
    #[serde(default)]
    pub capacities: BTreeMap<usize, f64>,
    /// Time waited for the host before slices, nanoseconds.
    pub waited_ns: u64,
    /// Ticks of the processors in use that the host took, and all their ticks.
    pub steal: (u64, u64),
}

impl RoundRecord {
    /// Adds one slice and what was recorded in it.
    pub fn add(&mut self, slice: SliceRecord, recording: &Recording, is_open: bool) {
        let number = self.slices.len();
        if !recording.failures.is_empty() {
            let failures = recording.failures.iter();
            let failures = failures.map(|(failure, count)| (failure.word().to_owned(), *count)).collect();
            self.failures.insert(number, failures);
        }
        if is_open {
            self.responses.insert(number, Times::of(&recording.response));
            self.own_lag.insert(number, Times::of(&recording.own_lag));
        }
        self.slices.push(slice);
    }

    /// Adds the response times by status of the slice that was added last.
    pub fn add_statuses(&mut self, by_status: &BTreeMap<u16, Distribution>) {
        let times = by_status.iter().map(|(status, times)| (*status, Times::of(times))).collect();
        self.by_status.insert(self.slices.len().saturating_sub(1), times);
    }
}

/// Times of one slice: each value, in nanoseconds, and how often it came. A slice has some hundred of them, far fewer than a
/// histogram has places.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Times(BTreeMap<u64, u64>);

impl Times {
    fn of(distribution: &Distribution) -> Self {
        let recorded = distribution.histogram().iter_recorded();
        Self(recorded.map(|value| (value.value_iterated_to(), value.count_at_value())).collect())
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
