//! Degrees of freedom of intervals.

use hoptax_result::{Contrast, CostMeasure, Interval, StudyResult, sample};
use serde_json::Value;

const CPU: CostMeasure = CostMeasure::CpuUs;
const RATE: CostMeasure = CostMeasure::MaxRate;

/// Three sittings as one result.
fn three() -> StudyResult {
    let mut result = sample::study("x", "2026-01-01T00:00:00Z", 10.0);
    result.sittings = vec![sample::sitting(10); 3];
    result
}

#[test]
fn what_an_interval_states_comes_before_the_number_of_sittings() {
    let result = three();
    let cost = Contrast { arm: "lua", other: Some("baseline") };
    let around = Interval::around(10.0, 0.5);
    let found = |interval| Some(result.degrees_of_freedom(&interval, cost, CPU, None));
    let freedoms = [around, around.with_freedom(7.5), around.with_freedom(f64::INFINITY)].map(found);
    assert_eq!(freedoms, [2.0, 7.5, f64::INFINITY].map(Some));
}

#[test]
fn the_normal_distribution_is_null_and_an_interval_that_states_none_has_no_field() {
    let interval = Interval::new(1.0, 0.5, 1.5);
    for (interval, expected) in [
        (interval, r#"{"estimate":1.0,"low":0.5,"high":1.5}"#),
        (interval.with_freedom(7.5), r#"{"estimate":1.0,"low":0.5,"high":1.5,"degrees_of_freedom":7.5}"#),
        (
            interval.with_freedom(f64::INFINITY),
            r#"{"estimate":1.0,"low":0.5,"high":1.5,"degrees_of_freedom":null}"#,
        ),
    ] {
        let text = serde_json::to_string(&interval).unwrap();
        assert_eq!(text, expected);
        assert_eq!(serde_json::from_str::<Interval>(&text).unwrap(), interval);
        assert_eq!(serde_json::to_value(interval).unwrap(), serde_json::from_str::<Value>(&text).unwrap());
    }
}

#[test]
fn a_multiple_has_those_of_its_interval_and_a_quotient_or_a_sum_of_two_states_none() {
    let one = Interval::around(10.0, 1.0).with_freedom(7.5);
    assert_eq!(one.times(-2.0), Interval::around(-20.0, 2.0).with_freedom(7.5));
    assert_eq!(one.in_units(2.0), Interval::around(5.0, 0.5).with_freedom(7.5));
    assert_eq!(Interval::sum_of_dependent(&[one]), Some(one), "the sum of one number is that number");
    let others = [one.share_of(&one), Interval::sum_of_dependent(&[one, one])];
    assert_eq!(others.map(|other| other.unwrap().degrees_of_freedom), [None; 2]);
}

#[test]
fn a_share_of_the_interval_of_a_cost_has_those_of_the_cost() {
    let mut result = three();
    result.arms[0].max_rate = Some(Interval::around(20_000.0, 1_000.0));
    result.arms[1].cost.max_rate = Some(Interval::around(-2_000.0, 190.0).with_freedom(4.5));
    let share = result.share_of_reference(&result.arms[1], &result.arms[0], RATE, None).unwrap();
    assert_eq!(share.degrees_of_freedom, Some(4.5));
}
