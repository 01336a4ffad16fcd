//! The evidence of a study: the measurements of each round, by slice, so that every number can be recomputed.

use std::collections::BTreeMap;
use std::ops::Add;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Book, Course, Histogram, PartCounts, Reasons};

/// Measurements of one complete round.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StudyRound {
    /// Its number, from 0.
    pub round: u32,
    /// Start of its processes, RFC 3339 in UTC.
    pub began_at: String,
    /// End of its last slice, RFC 3339 in UTC.
    pub ended_at: String,
    /// The kernel's boot id during the round.
    pub boot_id: String,
    /// Time spent waiting for the host before slices, seconds.
    pub waited_s: f64,
    /// Ticks of 10 ms of the processors in use, and how many of them were stolen.
    pub ticks: u64,
    /// See `ticks`.
    pub steal_ticks: u64,
    /// One entry per arm and load; empty in a timeline.
    pub samples: Vec<Sample>,
    /// The slices of a timeline, in the order of measurement.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub courses: Vec<Course>,
    /// Values of an arm that are recorded once per round, by arm.
    pub arms: BTreeMap<String, ArmRound>,
}

/// The slices of one arm under one load in one round. The lists have one entry per slice, in chronological order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    /// The arm.
    pub arm: String,
    /// The load.
    pub load: String,
    /// Start of each slice, in seconds since the start of the study.
    pub began_s: Vec<f64>,
    /// Its block of this load, from 0.
    pub block: Vec<u32>,
    /// The copy of the arm that it was measured on, from 0.
    pub copy: Vec<u32>,
    /// Its disturbances; empty for a slice that counts.
    pub set_aside: Vec<Vec<Disturbance>>,
    /// The factor by which the machine was slower around it than usual in the study; null if it cannot be estimated.
    /// Costs in CPU time are differences of values divided by it.
    pub slowdown: Vec<Option<f64>>,
    /// Measured values without adjustment, by measure.
    pub values: BTreeMap<String, Vec<Option<f64>>>,
    /// Activity of the proxies, in slices that count for any measure; null without a proxy, and if the kernel does not
    /// report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<PartCounts>,
    /// Accounts of its requests, in slices that count for any measure: of one that was repeated, in the last measurement that does.
    pub book: Book,
    /// Accounts of its requests in all other measurements.
    pub set_aside_book: Book,
    /// Failed requests by kind, as in `book`.
    pub failures: BTreeMap<String, u64>,
    /// First reasons of failed requests by kind, with their number of requests, where they are known.
    #[serde(default, skip_serializing_if = "Reasons::is_empty")]
    pub reasons: Reasons,
    /// Response times under an open loop, nanoseconds, in slices that count for all measures: of one that was repeated, in the last
    /// measurement that does.
    pub responses: Option<Histogram>,
    /// Send lag caused by the generator itself under an open loop, nanoseconds, in slices that count.
    pub own_lag: Option<Histogram>,
    /// Response times by status, if the load expects several, in slices that count.
    pub statuses: BTreeMap<u16, Histogram>,
    /// Of the slices of `responses`, the quiet ones by the rule of the plan. Null if there is none, where the rule does not apply to the
    /// arm, and in results of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet: Option<QuietSlices>,
    /// Periods of the CPU limit of each proxy by slice, in the order in which a request passes the proxies; null where they are not known, and
    /// of a proxy without a limit. Empty unless the control groups of the proxies were read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<Vec<Option<LimitPeriods>>>,
}

/// Periods of the CPU limit of a control group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitPeriods {
    /// Periods of the limit, usually of 100 ms, in which the group had work; 0 without a limit.
    pub periods: u64,
    /// The periods among them in which the limit stopped it.
    pub throttled: u64,
    /// Time for which it was stopped, summed over processors, seconds.
    pub throttled_s: f64,
}

impl LimitPeriods {
    /// The periods since an earlier reading of the same counters. None if they began again.
    pub fn since(self, earlier: Self) -> Option<Self> {
        Some(Self {
            periods: self.periods.checked_sub(earlier.periods)?,
            throttled: self.throttled.checked_sub(earlier.throttled)?,
            throttled_s: (self.throttled_s - earlier.throttled_s).max(0.0),
        })
    }

    /// The share of the periods in which the limit stopped the group; 0 without a period.
    pub fn throttled_share(self) -> f64 {
        if self.throttled == 0 {
            0.0
        } else {
            self.throttled as f64 / self.periods.max(self.throttled) as f64
        }
    }
}

impl Add for LimitPeriods {
    type Output = Self;

    /// The periods of two limits.
    fn add(self, other: Self) -> Self {
        Self {
            periods: self.periods.saturating_add(other.periods),
            throttled: self.throttled.saturating_add(other.throttled),
            throttled_s: self.throttled_s + other.throttled_s,
        }
    }
}

/// The quiet slices of an arm under an open loop in one round.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QuietSlices {
    /// Their number.
    pub slices: u32,
    /// Their response times, nanoseconds; null without a response.
    pub responses: Option<Histogram>,
    /// Send lag caused by the generator itself in them, nanoseconds.
    pub own_lag: Option<Histogram>,
}

/// Values of an arm that are recorded once per round.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArmRound {
    /// Resident memory of each proxy at the end, the mean over its copies, bytes.
    pub memory_bytes: Vec<u64>,
    /// CPU time of each proxy from its start until it was live, the mean over its copies, us.
    #[serde(default)]
    pub start_cpu_us: Vec<u64>,
    /// Memory of the first proxy of its first copy before and after connections to it were opened; null if none were.
    pub opened: Option<Opened>,
    /// Bytes and requests of each proxy of its first copy, from its start to the end of the round, by its own statistics. Empty unless all
    /// of them are Envoys that answer HTTP requests over TCP.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traffic: Vec<ProxyTraffic>,
    /// Evidence that its function was not active, or not removed.
    pub unproven: Vec<String>,
    /// Its profile, if the study takes profiles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<RoundProfile>,
    /// Its capacity on the connections of the first load that needs one, measured once, before the first round; null if no load is a share
    /// of one. Loads that use connections otherwise have other capacities, which are not stated.
    pub capacity: Option<Capacity>,
}

/// Bytes that a proxy received and sent, with the requests that it answered meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProxyTraffic {
    /// Number of requests from its callers.
    pub requests: u64,
    /// Bytes received from its callers and from the servers that it calls.
    pub received_bytes: u64,
    /// Bytes sent to them.
    pub sent_bytes: u64,
}

impl ProxyTraffic {
    /// Bytes received per request; None without requests.
    pub fn received_per_request(&self) -> Option<f64> {
        self.per_request(self.received_bytes)
    }

    /// Bytes sent per request; None without requests.
    pub fn sent_per_request(&self) -> Option<f64> {
        self.per_request(self.sent_bytes)
    }

    fn per_request(&self, bytes: u64) -> Option<f64> {
        (self.requests > 0).then(|| bytes as f64 / self.requests as f64)
    }
}

/// The samples of the proxies of an arm in one round, under the load that costs in CPU time are taken from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoundProfile {
    /// Requests answered meanwhile.
    pub requests: u64,
    /// CPU time of the proxies meanwhile, including that of the profiler in them, nanoseconds.
    pub cpu_ns: u64,
    /// Program that took the samples: `perf`, or `hoptax` itself where perf is not installed. Null in results of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampler: Option<String>,
    /// CPU time of the samples by layer, nanoseconds.
    pub layers_ns: BTreeMap<String, u64>,
    /// Top-down counters of a second run without samples: shares of the processor's issue slots by part. Empty if they are absent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub top_down: BTreeMap<String, f64>,
    /// Reason why there are no top-down counters; null with them, and in results of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_down_absent: Option<String>,
}

/// The rate that an arm can take, from a closed and an open loop over the connections of its open loops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Capacity {
    /// The rate at which an open loop would keep the processors of its proxies busy all the time, at most `closed_rate`,
    /// requests per second. Loads that are a share of the capacity are a share of this, unless they use connections otherwise
    /// than the first of them. For an arm without a proxy, that of an arm with one.
    pub rate: f64,
    /// The rate of the closed loop, requests per second.
    pub closed_rate: f64,
    /// Busy share of the processors that the proxies can use, under the closed loop, 0 to 1: the least over all uses of connections (new,
    /// resumed, kept) if loads are shares of several capacities. Below about 0.9, the connections limited the rate of that loop, or the
    /// generator did. Null without a proxy, and if not known.
    pub closed_busy_share: Option<f64>,
}

/// Resident memory of a proxy before and after the generator opened its connections, before any request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Opened {
    /// Number of connections opened.
    pub connections: u64,
    /// The memory before, bytes.
    pub before_bytes: u64,
    /// The memory after, bytes.
    pub after_bytes: u64,
}

/// A disturbance of a slice by the host, or by a process that did not last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Disturbance {
    /// Time was stolen from the processors.
    Steal,
    /// The processors of generator and proxy were not at their usual placement.
    Handover,
    /// The proxy waited for its processor because of other work on it.
    RunDelay,
    /// The generator was stopped while it should have sent or received, or the whole machine was.
    Stalled,
    /// A process whose CPU time is counted, or a thread of one, ended or was replaced, so that its CPU time is unknown.
    Restarted,
}

impl Disturbance {
    /// All disturbances.
    pub const ALL: [Self; 5] = [Self::Steal, Self::Handover, Self::RunDelay, Self::Stalled, Self::Restarted];

    /// Its name, as serialised.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Steal => "steal",
            Self::Handover => "handover",
            Self::RunDelay => "run-delay",
            Self::Stalled => "stalled",
            Self::Restarted => "restarted",
        }
    }

    /// True if CPU time measured in such a slice is invalid as well. A proxy that waits for its processor uses no CPU time meanwhile.
    pub fn invalidates_cpu_time(self) -> bool {
        self != Self::RunDelay
    }
}
