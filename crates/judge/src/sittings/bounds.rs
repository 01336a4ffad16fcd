//! Bounds of several sittings: what holds a number in every one of them that says something of it.

use std::collections::BTreeSet;

use hoptax_result::{ArmResult, Bound, BoundOf, Bounds, CostMeasure, Interval, StudyResult};

/// Sets the bounds of `combined`, the sittings as one result whose numbers are already combined. A number that no sitting states gets the
/// hull of what the sittings bound it by: from the lowest lower end to the highest upper end. A sitting that states the number counts with
/// its interval. An end that one of them lacks is missing, because nothing bounds the number there in that sitting. A sitting that says
/// nothing of the number has no part in the hull, as it has none in a number that others state; at least two must say something. Numbers
/// that are stated have none.
///
/// A number that a single sitting states is withdrawn if another one bounds it, and gets that hull: the interval of one sitting contains
/// no variation between sittings, and the others did measure. It stays the number of that sitting if no other says anything of it. Two
/// sittings show how much sittings differ, so a number that they state stays. A ratio of rates is withdrawn with either rate.
///
/// **Coverage.** A bound of a sitting holds the number of that sitting, so the hull holds the mean of the numbers of the sittings that say
/// something. It misses the number of the machine on a side only if all of these miss it there. With normal errors, and ends that are 1.96
/// standard errors away, that is no more frequent than with one sitting that differs from no other (2.5 %) while the standard deviation
/// between sittings is at most 1.7 standard errors with two sittings, 3.4 with three, 7.5 with four, and whatever it is with six. If
/// sittings differ far more than their bounds are wide, it is 25 % with two sittings, 12.5 % with three.
///
/// **Degenerate cases.** The bounds of a single sitting stay as they are. A sitting without the arm or the load says nothing. Nothing is
/// left if one sitting has only a lower end and another only an upper one.
pub(super) fn combine(combined: &mut StudyResult, sittings: &[StudyResult]) {
    let mut rates: BTreeSet<Rate> = BTreeSet::new();
    for arm in &mut combined.arms {
        let all: Vec<Option<&ArmResult>> = sittings.iter().map(|sitting| sitting.arm(&arm.id)).collect();
        let loads: Vec<String> = arm.loads.iter().map(|load| load.load.clone()).collect();
        for load in std::iter::once(None).chain(loads.iter().map(|load| Some(load.as_str()))) {
            for slot in slots(load).filter(|slot| slot.is_of_one_beside_bounds(&all)) {
                arm.withdraw(slot.of, load, slot.measure);
                rates.extend(slot.rate(&arm.id));
            }
        }
        let of_loads: Vec<Bounds> =
            arm.loads.iter().map(|load| of_missing(arm, &all, Some(load.load.as_str()))).collect();
        arm.bounds = of_missing(arm, &all, None);
        for (load, bounds) in arm.loads.iter_mut().zip(of_loads) {
            load.bounds = bounds;
        }
    }
    withdraw_ratios(combined, &rates);
}

/// The rate of an arm under a load: the names of both.
type Rate = (String, String);

/// Removes the ratios of these rates.
fn withdraw_ratios(combined: &mut StudyResult, rates: &BTreeSet<Rate>) {
    for arm in &mut combined.arms {
        for under in &mut arm.loads {
            let is_withdrawn = |arm: &String| rates.contains(&(arm.clone(), under.load.clone()));
            if is_withdrawn(&arm.id) || arm.compared_with.as_ref().is_some_and(is_withdrawn) {
                under.rate_ratio = None;
            }
        }
    }
}

/// The bounds of the numbers that an arm lacks, under a load or without one those of the arm itself.
fn of_missing(arm: &ArmResult, sittings: &[Option<&ArmResult>], load: Option<&str>) -> Bounds {
    let missing = slots(load).filter(|slot| slot.stated(arm).is_none());
    Bounds(missing.filter_map(|slot| slot.hull(sittings)).collect())
}

/// The numbers that a bound may be about, under a load or without one those of the arm itself.
fn slots(load: Option<&str>) -> impl Iterator<Item = Slot<'_>> {
    BoundOf::numbers().map(move |(of, measure)| Slot { of, measure, load })
}

/// A number of an arm.
struct Slot<'a> {
    of: BoundOf,
    measure: CostMeasure,
    /// None for the number of the arm itself.
    load: Option<&'a str>,
}

impl Slot<'_> {
    /// The rate that it is of the arm `arm`, if it is one under a load.
    fn rate(&self, arm: &str) -> Option<Rate> {
        let is_rate = (self.of, self.measure) == (BoundOf::Level, CostMeasure::MaxRate);
        self.load.filter(|_| is_rate).map(|load| (arm.to_owned(), load.to_owned()))
    }

    /// The number, if it is stated.
    fn stated(&self, arm: &ArmResult) -> Option<Interval> {
        arm.stated(self.of, self.load, self.measure)
    }

    /// Its bound, if it has one.
    fn bound<'r>(&self, arm: &'r ArmResult) -> Option<&'r Bound> {
        arm.bounds_under(self.load)?.get(self.of, self.measure)
    }

    /// Returns true if a single sitting states the number, and another one bounds it.
    fn is_of_one_beside_bounds(&self, sittings: &[Option<&ArmResult>]) -> bool {
        let (stating, others): (Vec<&ArmResult>, Vec<&ArmResult>) =
            sittings.iter().copied().flatten().partition(|arm| self.stated(arm).is_some());
        stating.len() == 1 && others.iter().any(|arm| self.bound(arm).is_some())
    }

    /// The lower and the upper end of what an arm states of the number. None if it says nothing of it.
    fn ends(&self, arm: &ArmResult) -> Option<(Option<f64>, Option<f64>)> {
        let stated = self.stated(arm).map(|stated| (Some(stated.low), Some(stated.high)));
        stated.or_else(|| self.bound(arm).map(|bound| (bound.low, bound.high)))
    }

    /// None if no sitting has a bound, if only one of several says anything, and if at each end one of those that do has none.
    fn hull(&self, sittings: &[Option<&ArmResult>]) -> Option<Bound> {
        let bounds: Vec<&Bound> = sittings.iter().filter_map(|arm| self.bound((*arm)?)).collect();
        let ends: Vec<_> = sittings.iter().filter_map(|arm| self.ends((*arm)?)).collect();
        if bounds.is_empty() || ends.len() < sittings.len().min(2) {
            return None;
        }
        let (lows, highs): (Vec<Option<f64>>, Vec<Option<f64>>) = ends.into_iter().unzip();
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
    use hoptax_result::{ArmLoad, Finding, HopUse, Measured, Parts, Severity};

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
        assert_eq!(ends(&[at_least.clone(), at_most.clone()]), None);
        assert_eq!(of_all(&[stated(40.0, 5.0), at_least, at_most]), (None, None));
        assert_eq!(ends(&[one.clone(), bounded(None, None, "")]), None, "it says nothing about the second");
        let mut without = one.clone();
        without.result.arms.retain(|arm| arm.id != "lua");
        assert_eq!(ends(&[one, without]), None);
    }

    #[test]
    fn a_number_that_one_sitting_states_and_another_bounds_is_a_bound_that_holds_both() {
        for (one, expected) in [
            (bounded(Some(-20.0), Some(300.0), "too-few-samples"), (Some(-20.0), Some(300.0))),
            (bounded(Some(-20.0), Some(42.0), "too-few-samples"), (Some(-20.0), Some(45.0))),
            (bounded(None, Some(30.0), "send-lag"), (None, Some(45.0))),
        ] {
            for parts in [[one.clone(), stated(40.0, 5.0)], [stated(40.0, 5.0), one]] {
                let (cost, bound) = of_all(&parts);
                let bound = bound.unwrap();
                assert_eq!((cost, (bound.low, bound.high)), (None, expected));
                assert_eq!(bound.by.len(), 1, "{bound:?}");
            }
        }
    }

    #[test]
    fn a_sitting_that_says_nothing_has_no_part_in_a_bound() {
        let one = bounded(Some(-20.0), Some(30.0), "too-few-samples");
        let other = bounded(Some(-50.0), Some(25.0), "too-few-samples");
        let nothing = bounded(None, None, "");
        let stated = stated(40.0, 5.0);
        let parts = |parts: &[&Part]| -> Vec<Part> { parts.iter().copied().cloned().collect() };
        // As without that sitting.
        assert_eq!(ends(&parts(&[&one, &nothing, &stated])), Some((Some(-20.0), Some(45.0))));
        assert_eq!(of_all(&parts(&[&nothing, &stated, &one])), of_all(&parts(&[&stated, &one])));
        assert_eq!(ends(&parts(&[&one, &other, &nothing])), Some((Some(-50.0), Some(30.0))));
        // A bound of one of several sittings contains no variation between them.
        assert_eq!(of_all(&parts(&[&one, &nothing, &nothing])), (None, None));
        // Without any bound, the number is that of its sitting.
        let only = (Some(Interval::around(40.0, 5.0).with_freedom(9.0)), None);
        assert_eq!(of_all(&parts(&[&nothing, &stated, &nothing])), only);
        assert_eq!(of_all(&parts(&[&nothing, &stated])), only);
    }

    #[test]
    fn a_number_that_two_sittings_state_leaves_no_bound_of_another() {
        let one = bounded(Some(-20.0), Some(300.0), "too-few-samples");
        let (cost, bound) = of_all(&[one, stated(40.0, 5.0), stated(42.0, 5.0)]);
        assert!(bound.is_none() && (cost.unwrap().estimate - 41.0).abs() < 1e-9, "{cost:?} {bound:?}");
    }

    /// The numbers of `same` and `lua` over two sittings, of which the second bounds the level of CPU time and the rate of one arm: whether
    /// they have the CPU time of a proxy, a part of CPU time, and the ratio of the rate to that of the baseline.
    fn beside_bounds_of(bounded: &str) -> [[bool; 3]; 2] {
        let part = |is_first: bool| {
            let mut result = fixture::study();
            let states = |id: &str| is_first || id != bounded;
            for arm in &mut result.arms {
                let level = states(&arm.id).then(|| Interval::around(50.0, 1.0));
                let bound = |measure| Bound::new(BoundOf::Level, measure, Some(1.0), Some(90.0));
                let bounds = [CostMeasure::CpuUs, CostMeasure::MaxRate].into_iter().filter_map(bound);
                let bounds = Bounds(bounds.filter(|_| level.is_none()).collect());
                (arm.cpu_us_per_request, arm.max_rate, arm.bounds) = (level, level, bounds.clone());
                arm.hops = vec![HopUse { cpu_us_per_request: level, ..HopUse::default() }];
                arm.loads = vec![ArmLoad {
                    load: "saturation".to_owned(),
                    cpu_us_per_request: level,
                    rate: level,
                    rate_ratio: level.filter(|_| arm.compared_with.as_deref().is_some_and(states)),
                    parts: Some(Parts { user_us: level, ..Parts::default() }),
                    bounds,
                    ..ArmLoad::default()
                }];
            }
            Part { folder: String::new(), result }
        };
        let one = as_one(&[part(true), part(false)]).unwrap();
        ["same", "lua"].map(|id| {
            let arm = one.arm(id).unwrap();
            let (hop, under) = (&arm.hops[0], &arm.loads[0]);
            let numbers = [hop.cpu_us_per_request, under.parts.unwrap().user_us, under.rate_ratio];
            numbers.map(|number| number.is_some())
        })
    }

    #[test]
    fn parts_fall_with_a_withdrawn_level_and_ratios_with_either_rate() {
        assert_eq!(beside_bounds_of("none"), [[true; 3]; 2]);
        assert_eq!(beside_bounds_of("lua"), [[true; 3], [false; 3]]);
        assert_eq!(beside_bounds_of("baseline"), [[true, true, false]; 2]);
    }

    #[test]
    fn a_withdrawn_number_has_the_findings_that_explain_it() {
        let explained = |mut other: Part| {
            let nothing = Measured::count(0.0, 0.0, "");
            other.result.findings.push(Finding {
                arm: Some("lua".to_owned()),
                measures: vec![P99.measure()],
                withholds: true,
                costs_alone: true,
                ..Finding::new("too-few-samples", Severity::Info, nothing, String::new(), "")
            });
            let mut one = stated(40.0, 5.0);
            let lua = fixture::arm(&mut one.result, "lua");
            // The other cost that such a finding is about.
            let share = Some(Interval::around(0.01, 0.001));
            (lua.cost.over_1_ms_share, lua.loads[0].cost.over_1_ms_share) = (share, share);
            let of_both = as_one(&[one, other]).unwrap();
            of_both.findings.iter().map(|finding| finding.sitting).collect::<Vec<_>>()
        };
        assert_eq!(explained(bounded(Some(-20.0), Some(300.0), "too-few-samples")), [Some(2)]);
        assert!(explained(bounded(None, None, "")).is_empty(), "the number of the first sitting stays");
    }

    #[test]
    fn numbers_of_zero_width_count_as_others_do() {
        let (cost, bound) = of_all(&[stated(40.0, 0.0), stated(310.0, 0.0)]);
        let cost = cost.unwrap();
        // 12.706205 times the standard error of the mean, 135.
        assert!((cost.estimate - 175.0).abs() < 1e-9 && (cost.half_width() - 1_715.338).abs() < 1e-2);
        assert!(bound.is_none());
        let agree = of_all(&[stated(40.0, 0.0), stated(40.0, 0.0)]);
        assert_eq!(agree, (Some(Interval::around(40.0, 0.0).with_freedom(f64::INFINITY)), None));
    }
}
