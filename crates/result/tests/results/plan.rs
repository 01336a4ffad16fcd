//! The loads that the numbers of an arm are taken from.

use hoptax_result::{LoadSpec, Loop, Measure, sample};

fn load(name: &str, rate: Option<f64>, arms: &[&str]) -> LoadSpec {
    let arms = arms.iter().map(|arm| (*arm).to_owned()).collect();
    let loop_ = if rate.is_some() { Loop::Open } else { Loop::Closed };
    LoadSpec { loop_, rate, arms, ..sample::closed_loop(name, 16) }
}

#[test]
fn the_numbers_of_an_arm_are_taken_from_the_first_loads_that_are_for_it() {
    let mut plan = sample::study("x", "2026-01-01T00:00:00Z", 1.0).body.plan;
    plan.loads = vec![
        load("full", None, &[]),
        load("in-use", Some(3_300.0), &["baseline", "lua"]),
        load("slow", Some(1_600.0), &["baseline", "ext-proc"]),
    ];
    let of = |arm: &str, measure: Measure| plan.usual_load_of(arm, measure).unwrap().name.as_str();
    for (arm, expected) in [("baseline", "in-use"), ("lua", "in-use"), ("ext-proc", "slow"), ("cors", "full")]
    {
        assert_eq!(of(arm, Measure::Cpu), expected, "{arm}");
    }
    assert_eq!((of("ext-proc", Measure::ResponseP50), of("ext-proc", Measure::MaxRate)), ("slow", "full"));
    assert!(plan.response_load_of("cors").is_none());
    assert_eq!((plan.cpu_load().unwrap().name.as_str(), plan.loads.len()), ("in-use", 3));
}
