//! Degrees of freedom of the numbers of several sittings as one result.

use hoptax_result::{
    ArmResult, Contrast, CostMeasure, Freedom, FreedomOf, Freedoms, Interval, Measure, Place, StudyResult,
};

use super::Part;
use super::stated::{Stated, combined};

/// Records the degrees of freedom of the numbers of `one`, the sittings as one result, where it would otherwise be taken to have others:
/// those of a number that not all sittings state, and of one whose width the guard of [`hoptax_stats::random_effects`] sets.
///
/// **Limits.** A level in a measure of rounds, which may be a sum over proxies, is taken to be stated by all sittings.
pub(super) fn record(one: &mut StudyResult, parts: &[Part]) {
    for arm in &mut one.arms {
        arm.freedoms = Freedoms::default();
        arm.loads.iter_mut().for_each(|load| load.freedoms = Freedoms::default());
    }
    let result: &StudyResult = one;
    let of_arm = |arm: &ArmResult| {
        let under = |load: Option<&str>| freedoms(result, parts, &arm.id, load);
        let of_loads: Vec<Freedoms> = arm.loads.iter().map(|load| under(Some(&load.load))).collect();
        (under(None), of_loads)
    };
    let found: Vec<(Freedoms, Vec<Freedoms>)> = result.arms.iter().map(of_arm).collect();
    for (arm, (own, of_loads)) in one.arms.iter_mut().zip(found) {
        arm.freedoms = own;
        for (load, freedoms) in arm.loads.iter_mut().zip(of_loads) {
            load.freedoms = freedoms;
        }
    }
}

/// The degrees of freedom to be recorded of an arm, under a load or without one of the arm itself.
fn freedoms(one: &StudyResult, parts: &[Part], arm: &str, load: Option<&str>) -> Freedoms {
    let found = FreedomOf::numbers().filter_map(|(of, measure)| {
        let slot = Slot { arm, load, of, measure };
        let interval = slot.interval(one)?;
        let stated: Vec<Stated> = parts.iter().filter_map(|part| slot.stated(&part.result)).collect();
        // An interval with a moderated variance is another one, and has degrees of freedom of its own.
        let found = combined(&stated).filter(|found| found.interval == interval)?;
        let is_known = slot.freedom(one).total_cmp(&found.freedom).is_eq();
        (!is_known).then(|| Freedom::new(of, measure, found.freedom))
    });
    Freedoms(found.collect())
}

/// The degrees of freedom of an interval in a sitting, as readers of its result take them. None if it is of a number whose degrees of
/// freedom are not recorded, or if the evidence does not show them. Several intervals may share a place, so the interval is found by its
/// value.
pub(super) fn of_interval(result: &StudyResult, place: &Place<'_>, interval: &Interval) -> Option<f64> {
    // The rate of a load is the level from which a cost in the highest rate is the difference.
    let measures = |measure: CostMeasure| {
        measure.measure() == place.measure
            || (measure, place.measure) == (CostMeasure::MaxRate, Measure::Rate)
    };
    let is_level = place.compared_with.is_none();
    let numbers = FreedomOf::numbers()
        .filter(|(of, measure)| (*of == FreedomOf::Level) == is_level && measures(*measure));
    let mut slots = numbers
        .flat_map(|(of, measure)| [None, place.load].map(|load| Slot { arm: place.arm, load, of, measure }));
    let slot = slots.find(|slot| slot.interval(result).as_ref() == Some(interval))?;
    Some(slot.freedom(result)).filter(|freedom| *freedom > 0.0)
}

/// A number of an arm.
struct Slot<'a> {
    arm: &'a str,
    /// None for the number of the arm itself.
    load: Option<&'a str>,
    of: FreedomOf,
    measure: CostMeasure,
}

impl Slot<'_> {
    /// The number in a result, if it is stated.
    fn interval(&self, result: &StudyResult) -> Option<Interval> {
        let arm = result.arm(self.arm)?;
        match self.of {
            FreedomOf::Level => arm.level_under(self.load, self.measure),
            FreedomOf::Cost => self.measure.interval(arm.cost_under(self.load)?),
            FreedomOf::CostShare => Some(arm.cost_under(self.load)?.shares.get(self.measure)?.share),
        }
    }

    /// Its degrees of freedom in a result.
    fn freedom(&self, result: &StudyResult) -> f64 {
        let other = result.arm(self.arm).and_then(|arm| arm.compared_with.as_deref());
        let (level, cost) = (Contrast { arm: self.arm, other: None }, Contrast { arm: self.arm, other });
        match self.of {
            FreedomOf::Level => result.degrees_of_freedom(level, self.measure, self.load),
            FreedomOf::Cost => result.degrees_of_freedom(cost, self.measure, self.load),
            FreedomOf::CostShare => result.degrees_of_freedom_of_share(cost, self.measure, self.load),
        }
    }

    /// The number as a sitting states it.
    fn stated(&self, result: &StudyResult) -> Option<Stated> {
        let interval = self.interval(result)?;
        Some(Stated::new(interval, self.freedom(result), result.plan.quantile_confidence()))
    }
}

#[cfg(test)]
mod tests {
    use hoptax_plan::plan::CONFIDENCE;
    use hoptax_result::{ArmLoad, Borrowed, CostShare, ResponseCost, sample};
    use hoptax_stats::standard_error;
    use proptest::prelude::*;

    use super::*;
    use crate::fixture;
    use crate::sittings::as_one;

    const RATE: CostMeasure = CostMeasure::MaxRate;

    /// What a sitting knows of the numbers of `lua`, which all have one estimate and one standard error.
    #[derive(Clone, Copy, Debug)]
    struct Known {
        estimate: f64,
        error: f64,
        rounds: u32,
        is_stated: bool,
    }

    /// A number that a sitting of ten rounds states, with a standard error of 0.2.
    fn stated(estimate: f64) -> Known {
        Known { estimate, error: 0.2, rounds: 10, is_stated: true }
    }

    const SILENT: Known = Known { estimate: 0.0, error: 1.0, rounds: 10, is_stated: false };

    /// The half-width of an interval with this standard error.
    fn half_width(error: f64, freedom: f64) -> f64 {
        error / standard_error(&Interval::around(0.0, 1.0), freedom, CONFIDENCE).unwrap()
    }

    fn part(known: &Known) -> Part {
        let mut result = sample::study("x", "2026-01-01T00:00:00Z", 5.0);
        result.plan.rounds_completed = known.rounds;
        let half_width = half_width(known.error, f64::from(known.rounds) - 1.0);
        let number = known.is_stated.then(|| Interval::around(known.estimate, half_width));
        let lua = fixture::arm(&mut result, "lua");
        lua.cpu_us_per_request = number;
        (lua.cost.cpu_us_per_request, lua.cost.max_rate) = (number, number);
        let share = number.map(|share| CostShare { measure: RATE, share, degrees_of_freedom: None });
        lua.cost.shares = share.into_iter().collect();
        let response_us = ResponseCost { p99: number, ..ResponseCost::default() };
        let load = "saturation".to_owned();
        lua.loads = vec![ArmLoad { load, response_us, cost: lua.cost.clone(), ..ArmLoad::default() }];
        Part { folder: String::new(), result }
    }

    fn combine(known: &[Known]) -> StudyResult {
        let parts: Vec<Part> = known.iter().map(part).collect();
        as_one(&parts).unwrap()
    }

    /// The standard errors that readers divide out of the numbers of `lua`.
    fn errors(one: &StudyResult) -> Vec<f64> {
        let loads = [None, Some("saturation")].into_iter();
        let slots = loads.flat_map(|load| FreedomOf::numbers().map(move |(of, measure)| (load, of, measure)));
        let errors = slots.filter_map(|(load, of, measure)| {
            let slot = Slot { arm: "lua", load, of, measure };
            standard_error(&slot.interval(one)?, slot.freedom(one), one.plan.quantile_confidence())
        });
        errors.collect()
    }

    /// The same without the record.
    fn errors_without_record(mut one: StudyResult) -> Vec<f64> {
        let lua = fixture::arm(&mut one, "lua");
        (lua.freedoms, lua.loads[0].freedoms) = (Freedoms::default(), Freedoms::default());
        errors(&one)
    }

    fn all_are(errors: &[f64], expected: f64) -> bool {
        // A level, two costs and a share of the arm, and the same with another level under the load.
        errors.len() == 8 && errors.iter().all(|error| (error / expected - 1.0).abs() < 1e-5)
    }

    #[test]
    fn one_two_and_three_of_three_sittings_give_their_standard_error_back() {
        // Of 19.4 and 20.2, the variance is 0.32; with 21.2, it is 0.813333. Equal ones have the error of their own: 0.2.
        let (one, root) = (stated(19.4), 3_f64.sqrt());
        let (two, three) = ([one, stated(20.2), SILENT], [one, stated(20.2), stated(21.2)]);
        // R: qt(0.975, 9) = 2.262157, qt(0.975, 1) = 12.706205, qt(0.975, 2) = 4.302653, qnorm(0.975) = 1.959964.
        for (known, expected, critical) in [
            ([one, SILENT, SILENT], 0.2, 2.262_157),
            ([SILENT, SILENT, one], 0.2, 2.262_157),
            (two, 0.4, 12.706_205),
            (three, 0.813_333_f64.sqrt() / root, 4.302_653),
            ([one; 3], 0.2 / root, 1.959_964),
        ] {
            let combined = combine(&known);
            assert!(all_are(&errors(&combined), expected), "{known:?} {:?}", errors(&combined));
            let wrong = errors_without_record(combined);
            assert!(all_are(&wrong, expected * critical / 4.302_653), "{known:?} {wrong:?}");
        }
    }

    #[test]
    fn a_number_that_all_sittings_state_has_no_record_unless_the_guard_sets_its_width() {
        let lua = |known: [Known; 3]| combine(&known).arm("lua").unwrap().clone();
        let three = lua([stated(19.4), stated(20.2), stated(21.2)]);
        assert!(three.freedoms.is_empty() && three.loads[0].freedoms.is_empty(), "{three:?}");
        let equal = lua([stated(19.4); 3]);
        assert_eq!(equal.freedoms.get(FreedomOf::Level, CostMeasure::CpuUs), Some(f64::INFINITY));
        assert_eq!((equal.freedoms.0.len(), equal.loads[0].freedoms.0.len()), (4, 4));
    }

    #[test]
    fn a_number_of_one_sitting_that_borrowed_there_has_the_degrees_of_freedom_of_there() {
        let mut parts = [SILENT, stated(19.4)].map(|known| part(&known));
        let lua = fixture::arm(&mut parts[1].result, "lua");
        lua.cost.borrowed = vec![Borrowed { measure: CostMeasure::CpuUs, degrees_of_freedom: 7.5 }];
        let share = *lua.cost.shares.get(RATE).unwrap();
        lua.cost.shares.insert(CostShare { degrees_of_freedom: Some(6.5), ..share });
        for parts in [parts.clone(), [parts[1].clone(), parts[0].clone()]] {
            let one = as_one(&parts).unwrap();
            let lua = one.arm("lua").unwrap();
            let of_cost = one.degrees_of_freedom(lua.contrast(), CostMeasure::CpuUs, None);
            let of_share = one.degrees_of_freedom_of_share(lua.contrast(), RATE, None);
            assert!((of_cost - 7.5).abs() < 1e-12 && (of_share - 6.5).abs() < 1e-12, "{of_cost} {of_share}");
            assert!(lua.cost.borrowed.is_empty(), "it borrows from no cost of all sittings");
        }
    }

    #[test]
    fn a_result_of_several_sittings_is_a_sitting_with_the_standard_errors_that_it_records() {
        for (known, variance) in [(vec![stated(19.4), SILENT], 0.04), (vec![stated(19.4); 3], 0.04 / 3.0)] {
            let parts = [Part { folder: String::new(), result: combine(&known) }, part(&stated(19.4))];
            let one = as_one(&parts).unwrap();
            let expected = (f64::midpoint(variance, 0.04) / 2.0).sqrt();
            assert!(all_are(&errors(&one), expected), "{known:?} {:?}", errors(&one));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn the_standard_error_of_a_number_is_that_of_the_sittings_that_state_it(
            sittings in proptest::collection::vec((-3.0..3.0_f64, 0.05..3.0_f64, 3_u32..20, any::<bool>()), 1..5),
        ) {
            let known = sittings.into_iter().map(|(estimate, error, rounds, is_stated)| {
                Known { estimate, error, rounds, is_stated }
            });
            let known: Vec<Known> = known.collect();
            let stating: Vec<&Known> = known.iter().filter(|one| one.is_stated).collect();
            prop_assume!(!stating.is_empty());
            let count = stating.len() as f64;
            let mean = stating.iter().map(|one| one.estimate).sum::<f64>() / count;
            let expected = if let [only] = stating.as_slice() {
                only.error
            } else {
                let observed = stating.iter().map(|one| (one.estimate - mean).powi(2)).sum::<f64>() / (count - 1.0);
                let own = stating.iter().map(|one| one.error.powi(2)).sum::<f64>() / count;
                let [observed, own] = [observed, own].map(|variance| (variance / count).sqrt());
                if half_width(observed, count - 1.0) > half_width(own, f64::INFINITY) { observed } else { own }
            };
            let found = errors(&combine(&known));
            prop_assert!(all_are(&found, expected), "{expected} {found:?}");
        }
    }
}
