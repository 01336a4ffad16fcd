//! What callers of an arm see over time, in studies that observe a timeline.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Interval;
use crate::Book;

/// What a timeline observes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimelinePlan {
    /// Length of an interval, seconds.
    pub interval_s: f64,
    /// The response time above which a response is late, us; null if none is.
    pub objective_us: Option<f64>,
    /// The statistics that should be even, with wildcards; absent if none are read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<String>,
    /// The phases of each slice: the first one begins with it, each other one with an event.
    pub phases: Vec<PlannedPhase>,
}

/// A part of a slice between events.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedPhase {
    /// Its start since the start of the slice, seconds.
    pub from_s: f64,
    /// The events that begin it; empty before the first event.
    pub events: Vec<String>,
}

/// The slice of an arm under a load in one round: the evidence.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Course {
    /// The arm.
    pub arm: String,
    /// The load.
    pub load: String,
    /// Its start, in seconds since the start of the study.
    pub began_s: f64,
    /// Accounts of its requests.
    pub book: Book,
    /// CPU time of the generator as a share of the length of the slice.
    pub generator_core_share: f64,
    /// Lag that the generator itself caused, us: 99th percentile; null if nothing was answered.
    pub own_lag_p99_us: Option<f64>,
    /// What happened to its processes, in the order of time.
    pub events: Vec<Happened>,
    /// Its intervals, in the order of time. The last one contains what ended after the slice.
    pub intervals: Vec<CourseInterval>,
    /// The statistics that should be even, at the end of each interval.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spread: Vec<SpreadSample>,
    /// The 99th percentile of the response times of its connections; absent if none has a hundred responses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections_p99: Option<ConnectionsP99>,
    /// The connections of each worker of the first proxy; empty with one worker. Connections that were opened during the slice are in
    /// none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<WorkerConnections>,
}

/// The connections that one worker of a proxy serves, and their response times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkerConnections {
    /// Number of connections.
    pub connections: u64,
    /// Responses on them.
    pub responses: u64,
    /// The 99th percentile of their response times, us; null with fewer than a hundred responses.
    pub response_p99_us: Option<f64>,
}

/// Statistics that should be even, at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SpreadSample {
    /// When they were read, seconds since the start of the slice.
    pub at_s: f64,
    /// Their values, or how far they have grown since the sample before, by proxy or worker.
    pub values: BTreeMap<String, u64>,
}

impl SpreadSample {
    /// The largest value as a multiple of the mean; none if all are zero.
    pub fn imbalance(&self) -> Option<f64> {
        let sum: u64 = self.values.values().sum();
        let largest = self.values.values().max().filter(|_| sum > 0)?;
        Some(*largest as f64 * self.values.len() as f64 / sum as f64)
    }

    /// Each value as a share of their sum; empty if all are zero.
    pub fn shares(&self) -> BTreeMap<&str, f64> {
        let sum: u64 = self.values.values().sum();
        let shared = self.values.iter().filter(|_| sum > 0);
        shared.map(|(name, value)| (name.as_str(), *value as f64 / sum as f64)).collect()
    }
}

/// The 99th percentile of the response times of each connection, us.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConnectionsP99 {
    /// That of the connection in the middle.
    pub median_us: f64,
    /// That of the unluckiest connection.
    pub worst_us: f64,
}

/// An event of a slice as it happened.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Happened {
    /// What happened.
    pub what: String,
    /// When it was to happen, seconds since the start of the slice.
    pub planned_s: f64,
    /// When it began.
    pub began_s: f64,
    /// When it was done; for a restart, when the successor or the restarted proxy was live, or the broken one had ended.
    pub done_s: f64,
    /// Resident memory of each generation of a proxy that was restarted, when its successor was live, the oldest first,
    /// bytes; empty for other events.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub generations_bytes: Vec<u64>,
}

/// One interval of a slice. Requests count when they are sent, and again when they end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CourseInterval {
    /// Its end since the start of the slice, seconds.
    pub to_s: f64,
    /// Requests sent.
    pub sent: u64,
    /// Requests answered as expected.
    pub answered: u64,
    /// Those of them that were answered later than the objective.
    pub late: u64,
    /// Requests that ended otherwise, by kind.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failures: BTreeMap<String, u64>,
    /// Requests that were not sent, by reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unsent: BTreeMap<String, u64>,
    /// Requests in flight at its end.
    pub in_flight: u64,
    /// Response times of the answered requests: the median, us; null without any.
    pub response_p50_us: Option<f64>,
    /// The 99th percentile.
    pub response_p99_us: Option<f64>,
    /// The largest.
    pub response_max_us: Option<f64>,
}

impl CourseInterval {
    /// Requests that failed, and those that were not sent.
    pub fn failed(&self) -> u64 {
        self.failures.values().chain(self.unsent.values()).sum()
    }

    /// Requests that ended in it.
    pub fn ended(&self) -> u64 {
        self.answered + self.failed()
    }
}

/// What callers of an arm saw over time under one load, over all rounds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Timeline {
    /// The arm.
    pub arm: String,
    /// The load.
    pub load: String,
    /// Its numbers over the whole slice.
    pub whole: Phase,
    /// The 99th percentile of the response times of the connection in the middle, us.
    pub connection_p99_us: Option<Interval>,
    /// That of the unluckiest connection.
    pub worst_connection_p99_us: Option<Interval>,
    /// The 99th percentile of the response times of the worker in whose requests it is lowest, us; null with one worker.
    #[serde(default)]
    pub best_worker_p99_us: Option<Interval>,
    /// That of the worker in whose requests it is highest.
    #[serde(default)]
    pub worst_worker_p99_us: Option<Interval>,
    /// Its numbers by phase, in the order of time.
    pub phases: Vec<Phase>,
    /// Its intervals, in the order of time.
    pub points: Vec<TimelinePoint>,
}

/// The numbers of a phase. Null where not measured or withheld.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// Its start since the start of the slice, seconds.
    pub from_s: f64,
    /// Its end, seconds.
    pub to_s: f64,
    /// The events that begin it.
    pub events: Vec<String>,
    /// Requests that ended in it, all rounds together.
    pub ended: u64,
    /// Those of them that failed or were not sent, by kind.
    pub failures: BTreeMap<String, u64>,
    /// Requests that failed or were not sent, of a million.
    pub failed_per_million: Option<Interval>,
    /// Requests that were answered later than the objective, of a million.
    pub late_per_million: Option<Interval>,
    /// How long it hurts: the length of its intervals in which more than one request in a hundred failed or was late, or in
    /// which fewer than half of the planned requests ended, seconds.
    pub hurt_s: Option<Interval>,
    /// The highest 99th percentile of the response times of an interval, us.
    pub worst_p99_us: Option<Interval>,
    /// The largest of the statistics that should be even as a multiple of their mean, the mean of the intervals: 1 if they are
    /// even.
    pub imbalance: Option<Interval>,
    /// How long they are uneven: the length of the intervals in which the largest is above 1.2 times the mean, seconds.
    pub uneven_s: Option<Interval>,
    /// Time from the start of a restart until the successor, or the proxy that was started again, is live, the mean of its
    /// restarts, seconds.
    pub restart_s: Option<Interval>,
    /// Resident memory of all generations of the proxy together once the successor is live, the mean of its restarts, bytes.
    pub generations_bytes: Option<Interval>,
}

/// One interval of a timeline, over all rounds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimelinePoint {
    /// Its end since the start of the slice, seconds.
    pub to_s: f64,
    /// Requests answered per second, the mean over rounds.
    pub answered_per_second: f64,
    /// Requests that failed or were not sent, per second, the mean over rounds.
    pub failed_per_second: f64,
    /// Requests that were answered late, per second, the mean over rounds.
    pub late_per_second: f64,
    /// Median response time, us: the median over rounds; null if nothing was answered.
    pub response_p50_us: Option<f64>,
    /// 99th percentile of the response times, us: the median over rounds.
    pub response_p99_us: Option<f64>,
    /// The largest of the statistics that should be even as a multiple of their mean: the mean over rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imbalance: Option<f64>,
    /// Each of these statistics as a share of their sum, by proxy or worker: the mean over rounds; null where withheld.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub shares: BTreeMap<String, Option<f64>>,
}
