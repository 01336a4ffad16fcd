//! Bytes that proxies receive and send.

use hoptax_result::{ArmRound, ProxyTraffic, RoundMeasure};

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
