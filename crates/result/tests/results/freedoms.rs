//! Degrees of freedom of intervals.

use hoptax_result::{Contrast, Cost, CostMeasure, Interval, RoundMeasure, StudyResult, sample};
use serde_json::{Value, json};

const CPU: CostMeasure = CostMeasure::CpuUs;
const MEMORY: CostMeasure = CostMeasure::OfRounds(RoundMeasure::MEMORY);
const P50: CostMeasure = CostMeasure::ResponseP50Us;
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

#[test]
fn version_3_of_studies_had_them_beside_the_intervals() {
    let interval = || json!({"estimate": 1.0, "low": 0.5, "high": 1.5});
    let of = |measure: &str, of: &str, freedom: Value| json!({"measure": measure, "of": of, "degrees_of_freedom": freedom});
    let mut old = serde_json::to_value(three()).unwrap();
    old["format"] = json!("hoptax.study/3");
    let mut cost = serde_json::to_value(Cost::default()).unwrap();
    for name in ["cpu_us_per_request", "cpu_share", "max_rate", "memory_bytes"] {
        cost[name] = interval();
    }
    cost["response_us"]["p50"] = interval();
    cost["borrowed"] = json!([
        {"measure": "cpu_us", "degrees_of_freedom": 3.5},
        {"measure": "response_p50_us", "degrees_of_freedom": 4.5},
    ]);
    cost["shares"] = json!([
        {"measure": "response_p50_us", "share": interval(), "degrees_of_freedom": 5.5},
        {"measure": "max_rate", "share": interval()},
    ]);
    let lua = &mut old["arms"][1];
    lua["max_rate"] = interval();
    lua["response_us"]["quiet_p99"] = interval();
    let load = json!({"load": "saturation", "response_us": {}, "cost": cost, "rate": interval()});
    lua["cost"] = cost;
    lua["loads"] = json!([load]);
    lua["loads"][0]["freedoms"] = json!([of("max_rate", "level", json!(6.5))]);
    lua["freedoms"] = json!([
        of("max_rate", "level", json!(7.5)),
        of("response_quiet_p99_us", "level", json!(8.5)),
        of("cpu_us", "cost", json!(9.5)),
        of("memory_bytes", "cost", Value::Null),
        of("max_rate", "cost_share", json!(10.5)),
    ]);
    let result: StudyResult = serde_json::from_str(&old.to_string()).unwrap();
    let lua = &result.arms[1];
    let costs = |cost: &Cost| {
        let costs = [CPU, CostMeasure::CpuShare, P50, MEMORY].map(|one| one.interval(cost));
        let all = costs.into_iter().chain([P50, RATE].map(|one| cost.share(one)));
        all.map(|one| one.unwrap().degrees_of_freedom).collect::<Vec<_>>()
    };
    // What several sittings record comes before what borrows.
    let own = [Some(9.5), None, Some(4.5), Some(f64::INFINITY), Some(5.5), Some(10.5)];
    assert_eq!(costs(&lua.cost), own);
    assert_eq!(costs(&lua.loads[0].cost), [Some(3.5), None, Some(4.5), None, Some(5.5), None]);
    let levels = [lua.max_rate, lua.response_us.quiet_p99, lua.loads[0].rate];
    assert_eq!(levels.map(|one| one.unwrap().degrees_of_freedom), [7.5, 8.5, 6.5].map(Some));
    let written = serde_json::to_string(&result).unwrap();
    assert!(["borrowed", "freedoms"].iter().all(|name| !written.contains(name)), "{written}");
}
