//! Costs as shares of the level that they are differences from.

use hoptax_result::{
    ArmLoad, ArmResult, Bound, BoundOf, Cost, CostMeasure, CostShare, Interval, Number, RoundMeasure,
    StudyResult, sample, share_ends,
};

const RATE: CostMeasure = CostMeasure::MaxRate;
const MEMORY: CostMeasure = CostMeasure::OfRounds(RoundMeasure::MEMORY);

fn share(measure: CostMeasure, estimate: f64) -> CostShare {
    CostShare { measure, share: Interval::around(estimate, 0.01) }
}

/// A study whose function `lua` costs 2,000 of 20,000 requests/s, with the share of its rate, if any.
fn study(of_rate: Option<CostShare>) -> StudyResult {
    let mut result = sample::study("x", "2026-01-01T00:00:00Z", 10.0);
    result.arms[0].max_rate = Some(Interval::around(20_000.0, 1_000.0));
    result.arms[1].cost.max_rate = Some(Interval::around(-2_000.0, 190.0));
    result.arms[1].cost.shares = of_rate.into_iter().collect();
    result
}

fn share_of_lua(result: &StudyResult, load: Option<&str>) -> Option<Interval> {
    result.share_of_reference(&result.arms[1], &result.arms[0], RATE, load)
}

#[test]
fn shares_are_a_list_in_the_order_of_measures_and_results_without_them_are_read() {
    let all = [share(MEMORY, 0.2), share(RATE, -0.1), share(MEMORY, 0.3)];
    let cost = Cost { shares: all.into_iter().collect(), ..Cost::default() };
    let text = serde_json::to_string(&cost).unwrap();
    let expected = r#""shares":[{"measure":"max_rate","share":{"estimate":-0.1,"low":-0.11,"high":"#;
    assert!(text.contains(expected) && text.matches("memory_bytes").count() == 2, "{text}");
    assert_eq!(serde_json::from_str::<Cost>(&text).unwrap(), cost);
    assert_eq!(cost.share(MEMORY), Some(Interval::around(0.3, 0.01)));
    assert!(!serde_json::to_string(&Cost::default()).unwrap().contains("shares"));
    assert_eq!(serde_json::from_str::<Cost>(r#"{"response_us":{}}"#).unwrap(), Cost::default());
}

#[test]
fn a_share_is_set_with_its_degrees_of_freedom_and_removed() {
    let mut shares = study(Some(share(RATE, -0.1))).arms[1].cost.shares.clone();
    for other in [Interval::around(-0.1, 0.01).with_freedom(7.5), Interval::around(-0.2, 0.01)] {
        shares.set(RATE, Some(other));
        assert_eq!(shares.get(RATE).map(|one| one.share), Some(other));
    }
    shares.set(RATE, None);
    assert!(shares.is_empty());
}

#[test]
fn a_share_is_that_of_the_rounds_or_counts_the_errors_of_both_numbers() {
    let of_rounds = study(Some(share(RATE, -0.1)));
    assert_eq!(share_of_lua(&of_rounds, None), Some(Interval::around(-0.1, 0.01)));
    let earlier = share_of_lua(&study(None), None).unwrap();
    // From -2,190 of 19,000 to -1,810 of 21,000.
    assert!((earlier.estimate + 0.1).abs() < 1e-12 && (earlier.low + 2_190.0 / 19_000.0).abs() < 1e-12);
    assert!((earlier.half_width() - earlier.reach()).abs() < 1e-12, "{earlier:?}");
    let exact = 190.0 / 20_000.0;
    assert!(earlier.half_width() > 1.5 * exact, "the level is not exact: {earlier:?}");
    let mut near_zero = study(None);
    near_zero.arms[0].max_rate = Some(Interval::around(20_000.0, 20_000.0));
    assert_eq!(share_of_lua(&near_zero, None), None);
    let mut unknown = study(Some(share(RATE, -0.1)));
    unknown.arms[1].cost.max_rate = None;
    assert_eq!(share_of_lua(&unknown, None), None, "without a cost there is no share");
}

#[test]
fn under_a_load_a_share_is_that_of_the_load() {
    let mut result = study(None);
    let under = |cost: Cost, rate: f64| ArmLoad {
        load: "saturation".to_owned(),
        rate: Some(Interval::around(rate, 100.0)),
        cost,
        ..ArmLoad::default()
    };
    let cost = Cost { max_rate: Some(Interval::around(500.0, 10.0)), ..Cost::default() };
    result.arms[0].loads = vec![under(Cost::default(), 1_000.0)];
    result.arms[1].loads = vec![under(cost, 1_500.0)];
    let found = share_of_lua(&result, Some("saturation")).unwrap();
    assert!((found.estimate - 0.5).abs() < 1e-12, "{found:?}");
    assert_eq!(share_of_lua(&result, Some("another")), None);
}

#[test]
fn a_number_that_is_withheld_takes_its_share_along() {
    let mut result = study(Some(share(RATE, -0.1)));
    result.arms[1].cost.shares.insert(share(MEMORY, 0.2));
    let mut found = Vec::new();
    result.for_each_number(&mut |place, number| {
        if let Number::CostShare(share) = &number
            && share.is_some()
        {
            found.push((place.arm.to_owned(), place.load.map(str::to_owned), place.measure));
        }
        if place.measure == RATE.measure() {
            number.clear();
        }
    });
    let lua = |load: Option<&str>, measure: CostMeasure| {
        ("lua".to_owned(), load.map(str::to_owned), measure.measure())
    };
    assert_eq!(found, [lua(Some("saturation"), RATE), lua(None, MEMORY)]);
    let shares = &result.arms[1].cost.shares;
    assert!(shares.get(RATE).is_none() && shares.get(MEMORY).is_some());
}

#[test]
fn ends_of_a_share_hold_every_quotient() {
    let level = (Some(80.0), Some(125.0));
    let of = |low, high, level| share_ends((low, high), level);
    assert_eq!(of(Some(-8.0), Some(40.0), level), Some((Some(-0.1), Some(0.5))));
    assert_eq!(of(Some(25.0), None, level), Some((Some(0.2), None)));
    assert_eq!(of(None, Some(-25.0), level), Some((None, Some(-0.2))));
    let at_least = (Some(80.0), None);
    assert_eq!(of(Some(25.0), Some(40.0), at_least), Some((Some(0.0), Some(0.5))));
    for unknown in [(None, Some(125.0)), (Some(0.0), Some(125.0)), (Some(-1.0), None), (None, None)] {
        assert_eq!(of(Some(25.0), Some(40.0), unknown), None, "{unknown:?}");
    }
    assert_eq!(of(None, None, level), None);
}

#[test]
fn the_ends_of_a_reference_are_those_of_its_interval_or_of_its_bounds() {
    let mut result = study(None);
    let ends = |result: &StudyResult| result.ends_of_reference(&result.arms[1], &result.arms[0], RATE);
    assert_eq!(ends(&result), (Some(19_000.0), Some(21_000.0)));
    let baseline: &mut ArmResult = &mut result.arms[0];
    baseline.max_rate = None;
    baseline.bounds.0.extend(Bound::new(BoundOf::Level, RATE, Some(15_000.0), None));
    assert_eq!(ends(&result), (Some(15_000.0), None));
    result.arms[0].bounds.0.clear();
    assert_eq!(ends(&result), (None, None));
}
