//! Times that are known, or known by bounds.

use hoptax_result::{Known, Percentile, TimeBounds, TimeOf, sample};

#[test]
fn a_time_is_known_by_its_value_or_else_by_its_bounds() {
    let mut load = sample::load();
    let p99 = TimeOf::Percentile(99.0);
    assert_eq!(load.response(p99), Known::Measured(200.0));
    load.latency.response.p99_us = None;
    assert_eq!(load.response(p99).ends(), (Some(192.0), Some(204.0)));
    load.bounds.response.p99_us = None;
    assert_eq!(load.response(p99), Known::Unknown);
    load.latency.response.at_least.p99_us = Some(300.0);
    assert_eq!(load.response(p99), Known::Bounded(TimeBounds::at_least(300.0)));
    assert_eq!(load.service(TimeOf::Mean), Known::Measured(95.0));
}

#[test]
fn a_requested_percentile_is_known_as_the_usual_ones_are() {
    let mut load = sample::load();
    let p95 = TimeOf::Percentile(95.0);
    assert_eq!(load.response(p95), Known::Unknown);
    let bounds = TimeBounds { low_us: Some(1.0), high_us: None };
    load.percentiles = vec![Percentile {
        percentile: 95.0,
        response_bounds: Some(bounds),
        service_us: Some(2.0),
        ..Percentile::default()
    }];
    assert_eq!((load.response(p95), load.service(p95)), (Known::Bounded(bounds), Known::Measured(2.0)));
}
