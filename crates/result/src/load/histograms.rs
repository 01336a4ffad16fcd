//! The histograms of a load, from which results are merged and exported.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::by_request::RequestHistograms;
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
    /// Times of the phases of answered requests in the complete twentieths of the planned time, or in those of a hundred `windows`, in
    /// their order, to two digits. Null where there is none, and absent is a phase that no request had. Requests are in the twentieth of
    /// their intended start, handshakes in that of their end.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub phases: BTreeMap<RequestPhase, Vec<Option<Histogram>>>,
    /// The histograms of the requests of each name, as in `by_request` of the result.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub by_request: BTreeMap<String, RequestHistograms>,
}

/// A phase of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RequestPhase {
    /// From the intended start to the first byte written. It contains the next two of a request that a connection was opened for.
    SendLag,
    /// From the start of a connection attempt to connected, of connections that were opened for a request.
    Connect,
    /// The TLS handshake of a connection that was opened within the recorded time.
    Handshake,
    /// From the first byte written to the first byte read.
    FirstByte,
    /// From the first byte read to the last byte read.
    LastByte,
}
