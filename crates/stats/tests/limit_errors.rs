//! Error rates of gates: how often a candidate is wrongly called beyond a limit, and how often a real change is found.

use hoptax_stats::{
    LOOK_CONFIDENCE, OF_COST, half_width_for_limit, looks, mean_over_rounds, precise_enough,
    scaled_half_width, simultaneous,
};
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use rand_distr::{Distribution, StandardNormal};

const GATES: u32 = 4_000;
const BUDGET_ROUNDS: u32 = 120;

/// A limit on an increase, percent, and the standard deviation of a small change from round to round, percent. The standard deviation of a
/// large change grows with the cost of the candidate.
#[derive(Clone, Copy, Debug)]
struct Limit {
    percent: f64,
    spread: f64,
}

/// CPU time, p99 and the maximum rate. The first ends studies that stop when they are precise.
const LIMITS: [Limit; 3] = [
    Limit { percent: 3.0, spread: 1.5 },
    Limit { percent: 10.0, spread: 5.0 },
    Limit { percent: 2.0, spread: 1.5 },
];

/// Percentages of gates.
#[derive(Clone, Copy, Debug, Default)]
struct Rates {
    /// Share of gates in which at least one limit is exceeded.
    failed: f64,
    /// CPU time exceeds its limit, whatever the others do.
    found: f64,
    /// CPU time is within its limit.
    passed: f64,
    /// The interval of at least one limit does not contain the true change.
    missed: f64,
    /// Mean number of rounds.
    rounds: f64,
}

/// Gates with true changes of `factor` times the limits, whose errors share the variance `shared`, looked at after `times`
/// rounds. `comparisons` is the number that intervals are widened for.
fn rates(factor: f64, shared: f64, (times, confidence): (&[u32], f64), comparisons: usize) -> Rates {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(18);
    let target = half_width_for_limit(LIMITS[0].percent, LIMITS.len()).expect("a positive limit");
    let share = 100.0 / f64::from(GATES);
    let mut rates = Rates::default();
    for _ in 0..GATES {
        let mut values: [Vec<f64>; 3] = Default::default();
        for time in times {
            while values[0].len() < *time as usize {
                let common: f64 = StandardNormal.sample(&mut rng);
                for (values, limit) in values.iter_mut().zip(LIMITS) {
                    let own: f64 = StandardNormal.sample(&mut rng);
                    let error = shared.sqrt() * common + (1.0 - shared).sqrt() * own;
                    let change = factor * limit.percent;
                    values.push(change + limit.spread * (1.0 + change.max(0.0) / 100.0) * error);
                }
            }
            let intervals = values
                .each_ref()
                .map(|values| mean_over_rounds(values, confidence).expect("there are rounds"));
            let is_last = Some(time) == times.last();
            let half_width =
                scaled_half_width(intervals[0].half_width(), intervals[0].estimate, target, OF_COST);
            if !is_last && !precise_enough(&[half_width], target) {
                continue;
            }
            let wide = intervals.map(|one| {
                simultaneous(&one, f64::from(*time) - 1.0, confidence, comparisons)
                    .expect("an interval with a width")
            });
            let any = |is: fn(f64, f64, f64) -> bool, factor: f64| {
                wide.iter().zip(LIMITS).any(|(one, limit)| is(one.low, one.high, factor * limit.percent))
            };
            rates.failed += if any(|low, _, limit| low > limit, 1.0) { share } else { 0.0 };
            rates.found += if wide[0].low > LIMITS[0].percent { share } else { 0.0 };
            rates.passed += if wide[0].high <= LIMITS[0].percent { share } else { 0.0 };
            rates.missed +=
                if any(|low, high, truth| low > truth || high < truth, factor) { share } else { 0.0 };
            rates.rounds += f64::from(*time) / f64::from(GATES);
            break;
        }
    }
    eprintln!("{factor} times the limits, {shared} shared, {} looks, {confidence}: {rates:?}", times.len());
    rates
}

#[test]
fn three_limits_together_fail_at_most_five_gates_of_a_hundred_by_chance() {
    for shared in [0.0, 0.5] {
        for rounds in [3, 6, 12, 30] {
            let at_limits = rates(1.0, shared, (&[rounds], 0.95), 3);
            assert!(at_limits.failed <= 3.5 && at_limits.missed <= 5.5, "{shared} {rounds}: {at_limits:?}");
        }
        let equal = rates(0.0, shared, (&[12], 0.95), 3);
        assert!(equal.failed < 0.5, "{shared}: {equal:?}");
    }
}

#[test]
fn without_widening_they_would_fail_more() {
    let narrow = rates(1.0, 0.0, (&[12], 0.95), 1);
    assert!(narrow.failed > 6.0 && narrow.missed > 12.0, "{narrow:?}");
}

#[test]
fn stopping_when_the_intervals_are_narrow_does_not_fail_more() {
    let times = looks(0, BUDGET_ROUNDS);
    for shared in [0.0, 0.5] {
        let at_limits = rates(1.0, shared, (&times, LOOK_CONFIDENCE), 3);
        assert!(at_limits.failed <= 3.5 && at_limits.missed <= 5.5, "{shared}: {at_limits:?}");
    }
}

#[test]
fn a_gate_until_decided_finds_a_change_of_five_percent_and_passes_none() {
    let times = looks(0, BUDGET_ROUNDS);
    let beyond = rates(5.0 / 3.0, 0.0, (&times, LOOK_CONFIDENCE), 3);
    assert!(beyond.found > 95.0 && beyond.passed < 0.5, "{beyond:?}");
    let equal = rates(0.0, 0.0, (&times, LOOK_CONFIDENCE), 3);
    assert!(equal.failed < 0.5 && equal.passed > 97.0, "{equal:?}");
    assert!(equal.rounds < f64::from(BUDGET_ROUNDS) / 2.0, "{equal:?}");
}

#[test]
fn a_large_change_is_found_soon_and_its_interval_is_not_favoured() {
    let times = looks(0, BUDGET_ROUNDS);
    // 6 % to 300 % more CPU time.
    for factor in [2.0, 3.0, 4.0, 6.0, 10.0, 100.0] {
        let beyond = rates(factor, 0.0, (&times, LOOK_CONFIDENCE), 3);
        assert!(beyond.found > 99.0 && beyond.missed <= 5.5, "{factor}: {beyond:?}");
        assert!(factor < 6.0 || beyond.rounds < 11.0, "{factor}: {beyond:?}");
    }
}
