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
        values: |round| round.traffic.iter().filter_map(ProxyTraffic::received_per_request).collect(),
        total: |round| bytes_per_request(round, |traffic| traffic.received_bytes),
        resolution: |_| Some(TRAFFIC_RESOLUTION_BYTES),
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ArmRound;

    #[test]
    fn bytes_are_those_of_each_proxy_per_request_of_its_own() {
        let traffic = |requests| ProxyTraffic { requests, received_bytes: 50_000, sent_bytes: 90_000 };
        let round = ArmRound { traffic: vec![traffic(100), traffic(50)], ..ArmRound::default() };
        assert_eq!((RoundMeasure::RECEIVED_BYTES.definition().values)(&round), [500.0, 1_000.0]);
        assert_eq!((RoundMeasure::SENT_BYTES.definition().values)(&round), [900.0, 1_800.0]);
        // The second proxy, as a clone, got half of the requests that the first got: together, they received 100,000 bytes for 100.
        assert_eq!((RoundMeasure::RECEIVED_BYTES.definition().total)(&round), Some(1_000.0));
        assert_eq!((RoundMeasure::SENT_BYTES.definition().total)(&round), Some(1_800.0));
        let none = ArmRound { traffic: vec![traffic(0)], ..ArmRound::default() };
        assert_eq!((RoundMeasure::SENT_BYTES.definition().values)(&none), Vec::<f64>::new());
        assert_eq!((RoundMeasure::SENT_BYTES.definition().total)(&none), None);
    }
}
