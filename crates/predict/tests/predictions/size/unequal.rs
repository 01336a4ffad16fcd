//! Predictions from studies whose open loads do not make all arms equally busy.

use hoptax_predict::size::check;
use hoptax_result::{ArmResult, LoadSpec, StudyResult};

use super::{MORE_LOADS, hop_us, is_near, study_with_busy};

const ARMS: &str = "
  - baseline
  - same
  - jwt
  - lua
  - {name: both, functions: [jwt, lua]}";

fn busy(arm: &ArmResult, load: &LoadSpec) -> f64 {
    let [of_30, of_60] = match arm.id.as_str() {
        "jwt" => [0.46, 0.62],
        "lua" => [0.44, 0.68],
        "both" => [0.48, 0.6],
        _ => [0.42, 0.7],
    };
    match load.name.as_str() {
        "saturation" => 1.0,
        "in-use-30" => of_30,
        _ => of_60,
    }
}

/// CPU time of a request at the busy share of its own proxy.
fn cpu_us(arm: &ArmResult, load: &LoadSpec, _: u32) -> f64 {
    let hops = arm.subject.iter().flat_map(|subject| &subject.hops);
    hops.map(|hop| hop_us(hop, busy(arm, load))).sum()
}

/// Response times that grow like a queue: 30 us for the origin, and 100 for the proxy, 50 for `jwt` and 10 for `lua` as long as nothing
/// waits.
fn times_us(arm: &ArmResult, load: &LoadSpec, round: u32) -> Vec<f64> {
    let own = busy(arm, load);
    if own >= 1.0 {
        return Vec::new();
    }
    let functions = arm.subject.iter().flat_map(|subject| &subject.hops).flat_map(|hop| &hop.functions);
    let of_function = |id: &str| if id == "jwt" { 50.0 } else { 10.0 };
    let work = 100.0 + functions.map(|function| of_function(&function.id)).sum::<f64>();
    let drift = 1.0 + 0.01 * f64::from(round % 3);
    let level = drift * (30.0 + work * (1.0 + own / (1.0 - own)));
    (0..2_000).map(|number| level * (1.0 + 0.01 * f64::from(number % 100))).collect()
}

/// A machine on which a closed loop costs a third of what the curve of open loops leads to, and every function costs the same whenever
/// open loops are measured. `jwt` is busier than the plain proxy ever is under an open loop.
#[test]
fn the_closed_loop_is_no_point_of_the_curve_that_corrects_costs() {
    let busier = |arm: &ArmResult, load: &LoadSpec| match (arm.id.as_str(), load.name.as_str()) {
        ("jwt", "in-use-60") => 0.8,
        _ => busy(arm, load),
    };
    let cpu_us = |arm: &ArmResult, load: &LoadSpec, _: u32| {
        let functions = arm.subject.iter().flat_map(|subject| &subject.hops).flat_map(|hop| &hop.functions);
        let of_functions: f64 = functions.map(|one| if one.id == "jwt" { 50.0 } else { 7.0 }).sum();
        let in_use = 100.0 - 80.0 * (busier(arm, load).min(0.7) - 0.42) + of_functions;
        if load.name == "saturation" { in_use / 3.0 } else { in_use }
    };
    let study = study_with_busy(MORE_LOADS, ARMS, cpu_us, times_us, busier);
    let result = check(&study).unwrap();
    assert_eq!(result.compositions.len(), 3);
    for one in &result.compositions {
        assert!(one.error_share.abs() < 1e-6, "{one:?}");
    }
}

fn study() -> StudyResult {
    study_with_busy(MORE_LOADS, ARMS, cpu_us, times_us, busy)
}

#[test]
fn what_a_function_adds_is_that_at_the_busy_share_of_its_own_proxy() {
    let study = study();
    // `jwt` costs 52.7 us where its proxy is busy for 62 %, and a plain proxy costs 5.3 us more there than at 70 %.
    let jwt = study.arms.iter().find(|arm| arm.id == "jwt").unwrap();
    let stated = jwt.loads[2].cost.cpu_us_per_request.unwrap().estimate;
    assert!(is_near(stated, 58.0), "{stated}");
    let result = check(&study).unwrap();
    assert_eq!(result.compositions.len(), 3);
    for one in &result.compositions {
        assert!(one.error_share.abs() < 1e-6, "{one:?}");
    }
    assert_eq!(result.response_times.len(), 2);
    for one in &result.response_times {
        assert!(one.mean.error_share.abs() < 0.004, "{one:?}");
    }
}
