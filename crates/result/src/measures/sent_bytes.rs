//! Bytes that a proxy sends per request.

use super::{MeasureDefinition, RoundMeasure, TRAFFIC_RESOLUTION_BYTES, bytes_per_request};
use crate::ProxyTraffic;

impl RoundMeasure {
    /// Bytes that a proxy sends per request, to its callers and to the servers that it calls.
    pub const SENT_BYTES: Self = Self(&MeasureDefinition {
        id: "sent-bytes",
        field: "sent_bytes_per_request",
        words: "bytes sent per request",
        summary: "Bytes that proxies send per request.",
        level: "Bytes that it sends per request, to its callers and to the servers that it calls, by its own statistics: those of \
                TLS without its records, none of UDP and none written to files.",
        cost: "Bytes that all proxies of one copy send per request, by their own statistics.",
        heading: "sent, B",
        short_heading: "sent B",
        below: None,
        unit: 1.0,
        unit_name: "B",
        own_table: Some("Bytes sent per request"),
        is_of_first_proxy: false,
        depends_on_connections: false,
        values: |round| round.traffic.iter().filter_map(ProxyTraffic::sent_per_request).collect(),
        total: |round| bytes_per_request(round, |traffic| traffic.sent_bytes),
        resolution: |_| Some(TRAFFIC_RESOLUTION_BYTES),
    });
}
