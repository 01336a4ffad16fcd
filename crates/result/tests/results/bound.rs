//! Bounds of the numbers of an arm.

use hoptax_result::{Bound, BoundOf, Bounds, CostMeasure};

#[test]
fn a_bound_has_a_finite_end() {
    let bound = |low, high| Bound::new(BoundOf::Cost, CostMeasure::CpuUs, low, high);
    let ends = |low, high| bound(low, high).map(|bound| (bound.low, bound.high));
    assert_eq!(ends(Some(-20.0), Some(300.0)), Some((Some(-20.0), Some(300.0))));
    assert_eq!(ends(Some(5.0), Some(f64::INFINITY)), Some((Some(5.0), None)));
    assert_eq!((bound(None, None), bound(Some(f64::NAN), Some(f64::INFINITY))), (None, None));
}

#[test]
fn a_bound_is_found_by_its_number() {
    let of = |of, measure, low| Bound::new(of, measure, Some(low), None).unwrap();
    let bounds = Bounds(vec![
        of(BoundOf::Level, CostMeasure::MaxRate, 1.0),
        of(BoundOf::Cost, CostMeasure::MaxRate, 2.0),
    ]);
    assert_eq!(bounds.level(CostMeasure::MaxRate).unwrap().low, Some(1.0));
    assert_eq!(bounds.cost(CostMeasure::MaxRate).unwrap().low, Some(2.0));
    assert_eq!(bounds.cost(CostMeasure::CpuUs), None);
    let opposite = bounds.signed(BoundOf::Cost, -1.0);
    let bound = opposite.cost(CostMeasure::MaxRate).unwrap();
    assert_eq!((bound.low, bound.high, opposite.0.len()), (None, Some(-2.0), 1));
}
