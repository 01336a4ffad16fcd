//! Checks of predictions against compositions.

use hoptax_predict::size::{SizeCheckError, check};
use hoptax_result::{ArmResult, LoadSpec};

use super::{additive, study};

const ARMS: &str = "
  - baseline
  - same
  - jwt
  - lua
  - {function: jwt, at: {protocol: http2}}
  - {name: both, functions: [jwt, lua]}
  - {name: two-proxies, hops: [{name: client, functions: [lua]}, {name: server, functions: [jwt]}]}
  - {name: http2-chain, hops: [client, {name: server, functions: [jwt]}], at: {protocol: http2}}
  - {name: unlearned, functions: [jwt, cors]}";

/// Rounds differ, all arms of a round alike, and each process has a level of its own.
fn drifting(arm: &ArmResult, load: &LoadSpec, round: u32) -> f64 {
    let seed =
        arm.id.bytes().chain(load.name.bytes()).fold(round, |sum, byte| 31 * sum % 65_521 + u32::from(byte));
    let level = 0.1 * (f64::from(seed % 11) - 5.0);
    additive(arm, load, round) * (1.0 + 0.01 * f64::from(round % 3)) + level
}

#[test]
fn costs_that_add_up_have_no_error() {
    let result = check(&study(ARMS, drifting)).unwrap();
    assert_eq!(result.compositions.len(), 6);
    assert!(result.worst_error_share.unwrap() < 0.01, "{result:?}");
    assert!(result.compositions.iter().all(|one| !one.is_interaction), "{result:?}");
    let chain = &result.compositions[2];
    assert_eq!((chain.arm.as_str(), chain.hops, chain.functions), ("two-proxies", 2, 2));
    // Each of the two has half of the processor, where plain proxying costs more than the 60 us of a single one.
    assert!(chain.measured_us.estimate > 2.0 * 60.0 + 45.0 + 20.0, "{chain:?}");
    // Costs of chains add up here, but no chain of plain proxies states so.
    assert!(result.compositions.iter().all(|one| one.error_share.abs() < 0.01), "{result:?}");
    for one in &result.compositions {
        assert_eq!(one.is_extrapolated, one.hops > 1, "{one:?}");
    }
}

#[test]
fn the_rate_of_a_check_is_that_under_load_if_the_measured_one_is_withheld() {
    let mut study = study(ARMS, drifting);
    for load in study.arms.iter_mut().flat_map(|arm| &mut arm.loads) {
        load.rate = None;
    }
    let result = check(&study).unwrap();
    assert_eq!(result.compositions.len(), 6);
    assert!(result.compositions.iter().all(|one| one.error_share.abs() < 0.01), "{result:?}");
}

#[test]
fn an_interaction_is_found_with_its_size() {
    let sharing = |arm: &ArmResult, load: &LoadSpec, round: u32| {
        let shared = if arm.id == "both" && load.name == "saturation" { 12.0 } else { 0.0 };
        drifting(arm, load, round) - shared
    };
    let result = check(&study(ARMS, sharing)).unwrap();
    let found: Vec<(&str, &str)> = result
        .compositions
        .iter()
        .filter(|one| one.is_interaction)
        .map(|one| (one.arm.as_str(), one.load.as_str()))
        .collect();
    assert_eq!(found, [("both", "saturation")]);
    let both = &result.compositions[0];
    assert!(both.difference_us.contains(-12.0) && both.difference_us.half_width() < 2.0, "{both:?}");
    assert!((both.error_share - 12.0 / 93.0).abs() < 0.02, "{both:?}");
    assert_eq!(result.worst_error_share, Some(both.error_share));
}

#[test]
fn what_the_study_does_not_measure_alone_is_left_out() {
    let result = check(&study(ARMS, additive)).unwrap();
    let [left_out] = result.left_out.as_slice() else { panic!("{:?}", result.left_out) };
    assert_eq!(left_out.arm, "unlearned");
    assert!(
        left_out.reason.contains("no arm states the cost of `cors` over http1 alone"),
        "{}",
        left_out.reason
    );
}

#[test]
fn a_study_without_compositions_or_rounds_is_refused() {
    let plain = study("[baseline, same, jwt]", additive);
    assert_eq!(check(&plain), Err(SizeCheckError::NoComposition("known".to_owned())));
    let mut empty = study(ARMS, additive);
    empty.rounds.clear();
    assert_eq!(check(&empty), Err(SizeCheckError::NoRounds("known".to_owned())));
}
