//! Bytes that a proxy receives per request.

use super::{MeasureDefinition, RoundMeasure, TRAFFIC_RESOLUTION_BYTES, bytes_per_request};
use crate::ProxyTraffic;

impl RoundMeasure {
    /// Bytes that a proxy receives per request, from its callers and from the servers that it calls.
    pub const RECEIVED_BYTES: Self = Self(&MeasureDefinition {
        id: "received-bytes",
        field: "received_bytes_per_request",
        words: "bytes received per request",
        summary: "Bytes that proxies receive per request.",
        level: "Bytes that it receives per request, from its callers and from the servers that it calls, by its own statistics: \
                those of TLS without its records, none of UDP and none read from files.",
        cost: "Bytes that all proxies of one copy receive per request, by their own statistics.",
        heading: "received, B",
        short_heading: "received B",
        below: None,
        unit: 1.0,
        unit_name: "B",
        own_table: Some("Bytes received per request"),
        is_of_first_proxy: false,
        depends_on_connections: false,
        values: |round| round.traffic.iter().filter_map(ProxyTraffic::received_per_request).collect(),
        total: |round| bytes_per_request(round, |traffic| traffic.received_bytes),
        resolution: |_| Some(TRAFFIC_RESOLUTION_BYTES),
    });
}
