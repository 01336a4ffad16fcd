//! Counts and response times of the distinct requests of a load.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Latency, LatencyBounds, QuantileIntervals};
use crate::{Book, Histogram};

/// The requests of one name, of a load that sends several.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NamedRequests {
    /// The method and the path as the user wrote them, with placeholders and fields not filled in; with the host if the load has several.
    /// `others` are the requests without a row of their own.
    pub name: String,
    /// Accounts of these requests.
    pub book: Book,
    /// Requests that were not sent, by reason.
    pub unsent: BTreeMap<String, u64>,
    /// Failed requests by kind.
    pub failures: BTreeMap<String, u64>,
    /// Response time, by the rules of that of all requests.
    pub response: Latency,
    /// Response time less the time by which the generator may have delayed it.
    pub without_generator: Option<Latency>,
    /// Bounds of response time.
    #[serde(default)]
    pub bounds: LatencyBounds,
    /// 95 % confidence intervals of the quantiles of response time.
    #[serde(default)]
    pub intervals: QuantileIntervals,
}

impl NamedRequests {
    /// The most names that have a row of their own.
    pub const MOST: usize = 50;
    /// The name of the requests without a row of their own. No other has it: each contains a path or a host.
    pub const OTHERS: &str = "others";
}

/// The histograms of the requests of one name, in nanoseconds. One that is absent has no times.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestHistograms {
    /// Response time of answered requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<Histogram>,
    /// Time since the intended start of requests whose response was still pending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending_response: Option<Histogram>,
    /// Response time of answered requests less the time by which the generator may have delayed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without_generator: Option<Histogram>,
    /// Response time of answered requests in the complete twentieths of the planned time, or in those of a hundred `windows`, in their
    /// order, to two digits. Null where no request was answered. Absent of a load with stages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub batches: Vec<Option<Histogram>>,
}
