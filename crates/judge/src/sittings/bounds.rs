//! Bounds of several sittings: what holds a number in every one of them.

use hoptax_result::{ArmResult, Bound, BoundOf, Bounds, CostMeasure, Interval, StudyResult};

/// Sets the bounds of `combined`, the sittings as one result whose numbers are already combined. A number that no sitting states gets the
/// hull of what the sittings bound it by: from the lowest lower end to the highest upper end. A sitting that states the number counts with
/// its interval. An end that a sitting lacks is missing, because nothing bounds the number there in that sitting. Numbers that are stated
/// have none.
///
/// **Coverage.** A bound of a sitting holds the number of that sitting, so the hull holds the mean of the numbers of the sittings. It
/// misses the number of the machine on a side only if all sittings miss it there. With normal errors, and ends that are 1.96 standard
/// errors away, that is no more frequent than with one sitting that differs from no other (2.5 %) while the standard deviation between
/// sittings is at most 1.7 standard errors with two sittings, 3.4 with three, 7.5 with four, and whatever it is with six. If sittings
/// differ far more than their bounds are wide, it is 25 % with two sittings, 12.5 % with three.
///
/// **Degenerate cases.** The bounds of a single sitting stay as they are. A sitting without the arm or the load bounds nothing.
pub(super) fn combine(combined: &mut StudyResult, sittings: &[StudyResult]) {
    for arm in &mut combined.arms {
        let all: Vec<Option<&ArmResult>> = sittings.iter().map(|sitting| sitting.arm(&arm.id)).collect();
        let of_loads: Vec<Bounds> =
            arm.loads.iter().map(|load| of_missing(arm, &all, Some(load.load.as_str()))).collect();
        arm.bounds = of_missing(arm, &all, None);
        for (load, bounds) in arm.loads.iter_mut().zip(of_loads) {
            load.bounds = bounds;
        }
    }
}

/// The bounds of the numbers that an arm lacks, under a load or without one those of the arm itself.
fn of_missing(arm: &ArmResult, sittings: &[Option<&ArmResult>], load: Option<&str>) -> Bounds {
    let slots = BoundOf::numbers().map(|(of, measure)| Slot { of, measure, load });
    let missing = slots.filter(|slot| slot.stated(arm).is_none());
    Bounds(missing.filter_map(|slot| slot.hull(sittings)).collect())
}

/// A number of an arm.
struct Slot<'a> {
    of: BoundOf,
    measure: CostMeasure,
    /// None for the number of the arm itself.
    load: Option<&'a str>,
}

impl Slot<'_> {
    /// The number, if it is stated.
    fn stated(&self, arm: &ArmResult) -> Option<Interval> {
        arm.stated(self.of, self.load, self.measure)
    }

    /// Its bound, if it has one.
    fn bound<'r>(&self, arm: &'r ArmResult) -> Option<&'r Bound> {
        arm.bounds_under(self.load)?.get(self.of, self.measure)
    }

    /// The lower and the upper end of what an arm states of the number.
    fn ends(&self, arm: &ArmResult) -> (Option<f64>, Option<f64>) {
        match (self.stated(arm), self.bound(arm)) {
            (Some(stated), _) => (Some(stated.low), Some(stated.high)),
            (None, Some(bound)) => (bound.low, bound.high),
            (None, None) => (None, None),
        }
    }

    /// None if no sitting has a bound, and if at each end one of the sittings has none.
    fn hull(&self, sittings: &[Option<&ArmResult>]) -> Option<Bound> {
        let bounds: Vec<&Bound> = sittings.iter().filter_map(|arm| self.bound((*arm)?)).collect();
        if bounds.is_empty() {
            return None;
        }
        let of_sitting = |arm: Option<&ArmResult>| arm.map_or((None, None), |arm| self.ends(arm));
        let ends = sittings.iter().copied().map(of_sitting);
        let (lows, highs): (Vec<Option<f64>>, Vec<Option<f64>>) = ends.unzip();
        let outermost = |ends: Vec<Option<f64>>, outer: fn(f64, f64) -> f64| {
            let ends: Option<Vec<f64>> = ends.into_iter().collect();
            ends?.into_iter().reduce(outer)
        };
        let (low, high) = (outermost(lows, f64::min), outermost(highs, f64::max));
        let mut by: Vec<String> = bounds.iter().flat_map(|bound| bound.by.iter().cloned()).collect();
        by.sort_unstable();
        by.dedup();
        Some(Bound { by, ..Bound::new(self.of, self.measure, low, high)? })
    }
}

#[cfg(test)]
mod tests {
    use hoptax_result::ArmLoad;

    use super::*;
    use crate::fixture;
    use crate::sittings::{Part, as_one};

    const P99: CostMeasure = CostMeasure::ResponseP99Us;

    /// A sitting that bounds the p99 cost of `lua`, of the arm itself and under a load. Without ends, it withholds the cost.
    fn bounded(low: Option<f64>, high: Option<f64>, by: &str) -> Part {
        let mut result = fixture::study();
        let lua = fixture::arm(&mut result, "lua");
        let bound = Bound::new(BoundOf::Cost, P99, low, high);
        let by = vec![by.to_owned()];
        let bounds = Bounds(bound.into_iter().map(|bound| Bound { by: by.clone(), ..bound }).collect());
        let load = "saturation".to_owned();
        lua.loads = vec![ArmLoad { load, bounds: bounds.clone(), ..ArmLoad::default() }];
        lua.bounds = bounds;
        Part { folder: String::new(), result }
    }

    /// A sitting that states this cost.
    fn stated(us: f64, half_width: f64) -> Part {
        let mut part = bounded(None, None, "");
        let lua = fixture::arm(&mut part.result, "lua");
        let p99 = Some(Interval::around(us, half_width));
        (lua.cost.response_us.p99, lua.loads[0].cost.response_us.p99) = (p99, p99);
        part
    }

    /// The cost over all sittings, and its bound, which are the same under the load.
    fn of_all(parts: &[Part]) -> (Option<Interval>, Option<Bound>) {
        let one = as_one(parts).unwrap();
        let lua = one.arm("lua").unwrap();
        let cost = |load: Option<&str>| P99.interval(lua.cost_under(load).unwrap());
        assert_eq!((cost(None), &lua.bounds), (cost(Some("saturation")), &lua.loads[0].bounds));
        (cost(None), lua.bounds.cost(P99).cloned())
    }

    /// The ends of that bound.
    fn ends(parts: &[Part]) -> Option<(Option<f64>, Option<f64>)> {
        of_all(parts).1.map(|bound| (bound.low, bound.high))
    }

    #[test]
    fn the_bound_of_several_sittings_holds_what_each_is_bounded_by() {
        let parts = [
            bounded(Some(-20.0), Some(300.0), "too-few-samples"),
            bounded(Some(-50.0), Some(200.0), "send-lag"),
        ];
        let (_, bound) = of_all(&parts);
        let bound = bound.unwrap();
        assert_eq!((bound.low, bound.high), (Some(-50.0), Some(300.0)));
        assert_eq!(bound.by, ["send-lag", "too-few-samples"]);
        assert_eq!(ends(&parts[..1]), Some((Some(-20.0), Some(300.0))), "a single sitting keeps its own");
    }

    #[test]
    fn an_end_that_a_sitting_lacks_bounds_nothing_over_all() {
        let one = bounded(Some(-20.0), Some(300.0), "too-few-samples");
        let at_least = bounded(Some(-50.0), None, "too-few-samples");
        let at_most = bounded(None, Some(400.0), "too-few-samples");
        assert_eq!(ends(&[one.clone(), at_least.clone()]), Some((Some(-50.0), None)));
        assert_eq!(ends(&[one.clone(), at_most.clone()]), Some((None, Some(400.0))));
        assert_eq!(ends(&[at_least, at_most]), None);
        assert_eq!(ends(&[one.clone(), bounded(None, None, "")]), None, "it says nothing about the second");
        let mut without = one.clone();
        without.result.arms.retain(|arm| arm.id != "lua");
        assert_eq!(ends(&[one, without]), None);
    }

    #[test]
    fn a_number_that_a_sitting_states_leaves_no_bound_of_another() {
        let one = bounded(Some(-20.0), Some(300.0), "too-few-samples");
        for parts in [vec![one.clone(), stated(40.0, 5.0)], vec![one, stated(40.0, 5.0), stated(42.0, 5.0)]] {
            let (cost, bound) = of_all(&parts);
            assert!(cost.is_some() && bound.is_none(), "{cost:?} {bound:?}");
        }
    }

    #[test]
    fn exact_numbers_that_disagree_widen_the_bound_of_another_sitting() {
        let one = bounded(Some(-20.0), Some(300.0), "too-few-samples");
        let (cost, bound) = of_all(&[one, stated(40.0, 0.0), stated(310.0, 0.0)]);
        let bound = bound.unwrap();
        assert_eq!((cost, bound.low, bound.high), (None, Some(-20.0), Some(310.0)));
        assert_eq!(of_all(&[stated(40.0, 0.0), stated(310.0, 0.0)]), (None, None));
    }
}
