use hoptax_result::{CostMeasure, Disturbance, sample};

use super::super::fill;

/// A study of the baseline and `lua` in a closed loop. Each slice was measured twice: first disturbed, with this factor in its values.
fn disturbed(slowdown: f64) -> hoptax_result::StudyResult {
    let arms = [sample::arm("baseline"), sample::arm("lua")];
    let mut result =
        sample::study_of_rates(&arms, vec![sample::closed_loop("full", 16)], 8, |arm, _, round| {
            if arm.id == "lua" { 900.0 + f64::from(round) } else { 1_000.0 }
        });
    for sample in result.rounds.iter_mut().flat_map(|round| &mut round.samples) {
        // A slice that was disturbed, and measured again.
        let repeated = |values: &mut Vec<Option<f64>>, factor: f64| {
            let value = values[0].map(|value| value * factor);
            values.insert(0, value);
        };
        sample.values.values_mut().for_each(|values| repeated(values, slowdown));
        sample.began_s.insert(0, 0.0);
        sample.block.insert(0, sample.block[0]);
        sample.copy.insert(0, sample.copy[0]);
        sample.set_aside.insert(0, vec![Disturbance::Steal]);
        sample.slowdown.insert(0, None);
    }
    fill(&mut result);
    result
}

#[test]
fn a_rate_lies_between_that_of_the_slices_that_count_and_that_of_all() {
    let result = disturbed(0.5);
    let lua = result.arms.iter().find(|arm| arm.id == "lua").unwrap();
    let (stated, bound) =
        (lua.loads[0].rate.unwrap(), lua.loads[0].bounds.level(CostMeasure::MaxRate).unwrap());
    assert!(stated.low > 890.0, "{stated:?}");
    assert!(bound.low.unwrap() < 455.0 && bound.high.unwrap() >= stated.high, "{bound:?}");
}

mod of_quantiles {
    use hoptax_result::{Book, CountedTime, Interval};

    use super::super::quantiles::{QUANTILES, Side, missing_share};

    /// Times of eight rounds of a thousand requests each, from `from_us` upwards in steps of 0.1 us.
    fn times(from_us: u64) -> Vec<Vec<CountedTime>> {
        vec![(0..1000).map(|index| CountedTime::new(from_us * 1_000 + 100 * index, 1)).collect(); 8]
    }

    fn side<'a>(times: &'a [Vec<CountedTime>], lags: &'a [Vec<CountedTime>]) -> Side<'a> {
        let of = |all: &'a [Vec<CountedTime>]| all.iter().map(Vec::as_slice).collect();
        Side { responses: of(times), lags: of(lags), missing: 0.0, stated: None }
    }

    #[test]
    fn few_responses_bound_p99_on_both_sides_of_its_estimate() {
        let (times, lags) = (times(100), vec![vec![CountedTime::new(0, 1000)]; 8]);
        let ends = side(&times, &lags).level(&QUANTILES[2], 0.95);
        assert!(ends.low.unwrap() < 198.9 && ends.high.unwrap() > 198.9, "{ends:?}");
        assert!(ends.low.unwrap() > 190.0, "{ends:?}");
    }

    #[test]
    fn a_late_generator_lowers_only_the_low_end() {
        let (times, lags) = (times(100), vec![vec![CountedTime::new(30_000, 1000)]; 8]);
        let mut late = side(&times, &lags);
        late.stated = Some(Interval::new(150.0, 149.0, 151.0));
        let ends = late.level(&QUANTILES[0], 0.95);
        // Twice the lag of the generator, and a share of the responses.
        assert!((80.0..=89.0).contains(&ends.low.unwrap()) && ends.high == Some(151.0), "{ends:?}");
        let cost = late.cost(&late, Some(Interval::new(0.0, -1.0, 1.0)), &QUANTILES[0], 0.95);
        assert!(cost.low.unwrap() < -60.0 && cost.high.unwrap() > 60.0, "{cost:?}");
    }

    #[test]
    fn requests_without_a_response_may_lie_on_either_side() {
        let (times, lags) = (times(100), vec![vec![CountedTime::new(0, 1000)]; 8]);
        let book = Book { planned: 1_000, answered: 960, failed: 20, ..Book::default() };
        let mut some = side(&times, &lags);
        some.stated = Some(Interval::new(190.0, 189.0, 191.0));
        some.missing = missing_share(&book);
        assert!((some.missing - 0.02).abs() < 1e-9);
        let p90 = some.level(&QUANTILES[1], 0.95);
        assert!(p90.low.unwrap() < 189.8 && p90.high.unwrap() > 191.8, "{p90:?}");
        let p99 = some.level(&QUANTILES[2], 0.95);
        assert!(p99.low.is_some() && p99.high.is_none(), "{p99:?}");
    }

    #[test]
    fn that_no_response_time_is_negative_is_no_bound() {
        // So few responses that p99 has no upper end, and a generator whose lag exceeds all response times.
        let [few, lags] = [100_000, 900_000].map(|ns| vec![vec![CountedTime::new(ns, 100)]; 2]);
        let late = side(&few, &lags);
        let (level, cost) = (late.level(&QUANTILES[2], 0.95), late.cost(&late, None, &QUANTILES[2], 0.95));
        assert_eq!([level.low, level.high, cost.low, cost.high], [None; 4]);
        // Compared with an arm that has an upper end, it is only known that no response time is negative.
        let (times, punctual) = (times(100), vec![vec![CountedTime::new(0, 1000)]; 8]);
        let cost = late.cost(&side(&times, &punctual), None, &QUANTILES[2], 0.95);
        assert_eq!([cost.low, cost.high], [None; 2]);
    }
}
