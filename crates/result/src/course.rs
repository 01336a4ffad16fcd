//! The evidence of a study that observes a timeline: the requests of an arm in one slice, and the events in it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Book;

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
    /// Events of its processes, in the order of time.
    pub events: Vec<Happened>,
    /// Its intervals, in the order of time. The last one contains the requests that ended after the slice.
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
    /// Time at which they were read, seconds since the start of the slice.
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
    /// 99th percentile of the connection in the middle, us.
    pub median_us: f64,
    /// 99th percentile of the worst connection, us.
    pub worst_us: f64,
}

/// An event of a slice as it happened.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Happened {
    /// Description of the event.
    pub event: String,
    /// Planned time, seconds since the start of the slice.
    pub planned_s: f64,
    /// Begin, seconds since the start of the slice.
    pub began_s: f64,
    /// End, seconds since the start of the slice. For a restart, the time at which the successor or the restarted proxy was live, or the
    /// broken one had ended.
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
    /// Answered requests that were answered later than the objective.
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
