//! One number of several sittings: as each states it, and combined.

use hoptax_plan::plan::CONFIDENCE;
use hoptax_result::Interval;
use hoptax_stats::{Sitting, random_effects};

use super::error_over_rounds;

/// A number as a sitting states it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stated {
    interval: Interval,
    /// The standard error over rounds; none without degrees of freedom.
    standard_error: Option<f64>,
}

impl Stated {
    /// A number whose standard error follows from an interval with so many degrees of freedom and this confidence. The interval states
    /// them itself if they are known.
    pub(super) fn new(interval: Interval, freedom: f64, confidence: f64) -> Self {
        let standard_error = error_over_rounds(&interval, freedom, confidence);
        Self { interval, standard_error }
    }
}

/// The combined number: that of the only sitting that states it, or by [`random_effects`] of all whose standard errors are known, with its
/// degrees of freedom. None if no sitting states it.
///
/// The interval of a single sitting that looked at its widths is wider than Student's, and stays as it is. The standard error that follows
/// from it is a few per cent larger than that of the sitting.
pub(super) fn combined(stated: &[Stated]) -> Option<Interval> {
    if let [only] = stated {
        return Some(only.interval);
    }
    let known = stated.iter().filter_map(|one| {
        Some(Sitting { estimate: one.interval.estimate, standard_error: one.standard_error? })
    });
    let known: Vec<Sitting> = known.collect();
    random_effects(&known, CONFIDENCE).map(|found| found.cost)
}

#[cfg(test)]
mod tests {
    use hoptax_result::{ArmLoad, CostMeasure, ResponseCost, StudyResult, sample};
    use hoptax_stats::standard_error;
    use proptest::prelude::*;

    use super::*;
    use crate::fixture;
    use crate::sittings::{Part, as_one};

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
        lua.cost.shares.set(RATE, number);
        let response_us = ResponseCost { p99: number, ..ResponseCost::default() };
        let load = "saturation".to_owned();
        lua.loads = vec![ArmLoad { load, response_us, cost: lua.cost.clone(), ..ArmLoad::default() }];
        Part { folder: String::new(), result }
    }

    fn combine(known: &[Known]) -> StudyResult {
        let parts: Vec<Part> = known.iter().map(part).collect();
        as_one(&parts).unwrap()
    }

    /// The numbers of `lua`: a level, two costs and a share of the arm, and the same with another level under the load.
    fn numbers(one: &StudyResult) -> Vec<Interval> {
        let lua = one.arm("lua").unwrap();
        let under = &lua.loads[0];
        let levels = [lua.cpu_us_per_request, under.response_us.p99].into_iter();
        let costs = [&lua.cost, &under.cost].into_iter();
        let costs = costs.flat_map(|cost| [cost.cpu_us_per_request, cost.max_rate, cost.share(RATE)]);
        levels.chain(costs).map(Option::unwrap).collect()
    }

    /// The standard errors that readers divide out of these numbers.
    fn errors(one: &StudyResult) -> Vec<f64> {
        let error = |number: Interval| standard_error(&number, number.degrees_of_freedom?, CONFIDENCE);
        numbers(one).into_iter().filter_map(error).collect()
    }

    fn all_are(errors: &[f64], expected: f64) -> bool {
        errors.len() == 8 && errors.iter().all(|error| (error / expected - 1.0).abs() < 1e-5)
    }

    #[test]
    fn one_two_and_three_of_three_sittings_give_their_standard_error_back() {
        // Of 19.4 and 20.2, the variance is 0.32; with 21.2, it is 0.813333. Equal ones have the error of their own: 0.2.
        let (one, root) = (stated(19.4), 3_f64.sqrt());
        let (two, three) = ([one, stated(20.2), SILENT], [one, stated(20.2), stated(21.2)]);
        // R: qt(0.975, 9) = 2.262157, qt(0.975, 1) = 12.706205, qt(0.975, 2) = 4.302653, qnorm(0.975) = 1.959964.
        for (known, freedom, expected, critical) in [
            ([one, SILENT, SILENT], 9.0, 0.2, 2.262_157),
            ([SILENT, SILENT, one], 9.0, 0.2, 2.262_157),
            (two, 1.0, 0.4, 12.706_205),
            (three, 2.0, 0.813_333_f64.sqrt() / root, 4.302_653),
            ([one; 3], f64::INFINITY, 0.2 / root, 1.959_964),
        ] {
            let combined = combine(&known);
            let found = numbers(&combined);
            assert!(found.iter().all(|one| one.degrees_of_freedom == Some(freedom)), "{known:?} {found:?}");
            assert!(all_are(&errors(&combined), expected), "{known:?} {:?}", errors(&combined));
            let by_sittings = |one: &Interval| standard_error(one, 2.0, CONFIDENCE);
            let wrong: Vec<f64> = found.iter().filter_map(by_sittings).collect();
            assert!(all_are(&wrong, expected * critical / 4.302_653), "{known:?} {wrong:?}");
        }
    }

    #[test]
    fn a_number_of_one_sitting_that_borrowed_there_has_the_degrees_of_freedom_of_there() {
        let mut parts = [SILENT, stated(19.4)].map(|known| part(&known));
        let cost = &mut fixture::arm(&mut parts[1].result, "lua").cost;
        cost.cpu_us_per_request = cost.cpu_us_per_request.map(|cost| cost.with_freedom(7.5));
        // The same interval, which does not borrow.
        cost.max_rate = cost.cpu_us_per_request.map(|cost| Interval { degrees_of_freedom: None, ..cost });
        let share = cost.share(RATE).map(|share| share.with_freedom(6.5));
        cost.shares.set(RATE, share);
        for parts in [parts.clone(), [parts[1].clone(), parts[0].clone()]] {
            let one = as_one(&parts).unwrap();
            let cost = &one.arm("lua").unwrap().cost;
            let found = [cost.cpu_us_per_request, cost.max_rate, cost.share(RATE)];
            assert_eq!(found.map(|one| one.unwrap().degrees_of_freedom), [7.5, 9.0, 6.5].map(Some));
        }
    }

    #[test]
    fn numbers_with_one_value_at_one_place_keep_their_own_degrees_of_freedom() {
        let mut parts = [SILENT, stated(19.4)].map(|known| part(&known));
        let under = &mut fixture::arm(&mut parts[1].result, "lua").loads[0];
        let p99 = Interval::around(3.0, 1.0);
        under.cost.response_us.p99 = Some(p99.with_freedom(7.5));
        under.cost.over_1_ms_share = Some(p99.with_freedom(4.5));
        let one = as_one(&parts).unwrap();
        let cost = &one.arm("lua").unwrap().loads[0].cost;
        let found = [cost.response_us.p99, cost.over_1_ms_share];
        assert_eq!(found, [7.5, 4.5].map(|freedom| Some(p99.with_freedom(freedom))));
    }

    #[test]
    fn a_result_of_several_sittings_is_a_sitting_with_the_standard_errors_that_it_states() {
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
