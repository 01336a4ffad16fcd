//! The timeline of an arm: requests of callers over time, and the phases that events begin.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Interval;

/// Plan of a timeline.
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

/// Experience of callers of an arm over time under one load, over all rounds.
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
    /// The 99th percentile of the response times of the worst connection, us.
    pub worst_connection_p99_us: Option<Interval>,
    /// The 99th percentile of the response times of the worker in whose requests it is lowest, us; null with one worker.
    pub best_worker_p99_us: Option<Interval>,
    /// The 99th percentile of the response times of the worker in whose requests it is highest, us; null with one worker.
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
    /// Requests that failed or were not sent, by kind.
    pub failures: BTreeMap<String, u64>,
    /// Requests that failed or were not sent, of a million.
    pub failed_per_million: Option<Interval>,
    /// Requests that were answered later than the objective, of a million.
    pub late_per_million: Option<Interval>,
    /// Duration of harm: the length of its intervals in which more than one request in a hundred failed or was late, or in which fewer than
    /// half of the planned requests ended, seconds.
    pub hurt_s: Option<Interval>,
    /// The highest 99th percentile of the response times of an interval, us.
    pub worst_p99_us: Option<Interval>,
    /// The largest of the statistics that should be even as a multiple of their mean, the mean of the intervals: 1 if they are
    /// even.
    pub imbalance: Option<Interval>,
    /// Duration of unevenness: the length of the intervals in which the largest is above 1.2 times the mean, seconds.
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
