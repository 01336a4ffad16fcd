//! The histograms of a load, from which results are merged and exported.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Histogram;

/// The histograms that the distributions of a result were read from, in nanoseconds. One that is absent has no times. With
/// them, results of several generators become one without an average of quantiles.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadHistograms {
    /// Response time of answered requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<Histogram>,
    /// Time since the intended start of requests whose response was still pending. Their response time is longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending_response: Option<Histogram>,
    /// Response time of answered requests less the time by which the generator may have delayed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without_generator: Option<Histogram>,
    /// Service time of answered requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<Histogram>,
    /// Time since the first byte written of requests whose response was still pending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending_service: Option<Histogram>,
    /// Send lag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub send_lag: Option<Histogram>,
    /// The generator's own lag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_lag: Option<Histogram>,
    /// Time to the first byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_byte: Option<Histogram>,
    /// Times from the first to the last byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_byte: Option<Histogram>,
    /// Connect time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connect: Option<Histogram>,
    /// Times between messages of gRPC responses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<Histogram>,
    /// Durations of TLS handshakes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handshake: Option<Histogram>,
    /// Response time until the failure, by outcome, as in `outcomes` of the result.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub outcomes: BTreeMap<String, Histogram>,
    /// Response time of answered requests in equal parts of the recorded time, in their order, to two digits. The intervals
    /// of quantiles are computed from them. Null where no request was answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub batches: Vec<Option<Histogram>>,
}
