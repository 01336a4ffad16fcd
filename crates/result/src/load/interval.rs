//! One line of `hoptax load --every`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Verdict;

/// An interval of a load, printed while the load runs. Only recorded requests count, not those of the warm-up: counts summed
/// over all lines are those of the result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadInterval {
    /// Name and version of this format.
    #[schemars(extend("const" = LoadInterval::FORMAT))]
    pub format: String,
    /// Wall-clock time of its end, seconds since 1970.
    pub unix_s: f64,
    /// Start, seconds since the start of the record.
    pub from_s: f64,
    /// End, seconds since the start of the record. Responses after the end of the record are in further intervals. The last
    /// interval ends with the last response; if it is shorter than a tenth of an interval, it is part of the one before.
    pub to_s: f64,
    /// Responses per second.
    pub rate: f64,
    /// Requests whose sending began in the interval.
    pub sent: u64,
    /// Requests whose expected response was complete in the interval.
    pub answered: u64,
    /// Requests that ended otherwise in the interval, by kind, with `timed-out` and `unfinished`.
    pub failures: BTreeMap<String, u64>,
    /// Requests that were not sent, by reason: `busy`, `late` or `end`.
    pub unsent: BTreeMap<String, u64>,
    /// Requests in flight at its end.
    pub in_flight: u64,
    /// Response time of the answered requests; null without any.
    pub response: Option<IntervalTimes>,
    /// Send lag of the answered requests; null without any.
    pub send_lag: Option<IntervalTimes>,
    /// The verdict on the whole load, in its last line. The other lines are printed before the checks judge, and no line has its
    /// own judgement: where the verdict is `void`, none of the times is supported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
}

impl LoadInterval {
    /// Name and version of the format.
    pub const FORMAT: &'static str = "hoptax.load-interval/1";
}

/// Quantiles of one interval. With fewer than a hundred responses, p99 is the maximum.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IntervalTimes {
    /// Median, microseconds.
    pub p50_us: f64,
    /// 90th percentile, microseconds.
    pub p90_us: f64,
    /// 99th percentile, microseconds.
    pub p99_us: f64,
    /// Maximum, microseconds.
    pub max_us: f64,
}
