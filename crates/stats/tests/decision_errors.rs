//! Error rates of decisions between different and equivalent, with a fixed number of rounds and with stopping.

use hoptax_result::Decision;
use hoptax_stats::{
    DECISIVE, LOOK_CONFIDENCE, OF_COST, decide, decide_by_interval, looks, mean_over_rounds, precise_enough,
    scaled_half_width, sum_of_independent,
};
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use rand_distr::{Distribution, Normal};

const STUDIES: u32 = 4_000;
const MARGIN: f64 = 2.0;
/// Standard deviation of a difference from round to round, in the unit of the margin.
const SPREAD: f64 = 3.0;
const BUDGET_ROUNDS: u32 = 120;

/// Percentages of studies by decision.
#[derive(Clone, Copy, Debug, Default)]
struct Rates {
    different: f64,
    equivalent: f64,
    undecided: f64,
}

impl Rates {
    fn add(&mut self, decision: Decision) {
        let of = match decision {
            Decision::Different => &mut self.different,
            Decision::Equivalent => &mut self.equivalent,
            Decision::Undecided => &mut self.undecided,
        };
        *of += 100.0 / f64::from(STUDIES);
    }
}

/// Decisions of studies whose true difference is `truth`, looked at after `times` rounds. A study ends where its
/// interval is narrow enough to decide, or at the last look.
fn rates(truth: f64, times: &[u32], confidence: f64) -> Rates {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(16);
    let round = Normal::new(truth, SPREAD).expect("a positive spread");
    let mut rates = Rates::default();
    for _ in 0..STUDIES {
        let mut values = Vec::new();
        for time in times {
            while values.len() < *time as usize {
                values.push(round.sample(&mut rng));
            }
            let interval = mean_over_rounds(&values, confidence).expect("there are rounds");
            let is_last = Some(time) == times.last();
            let target = DECISIVE * MARGIN;
            let half_width = scaled_half_width(interval.half_width(), interval.estimate, target, OF_COST);
            if !is_last && !precise_enough(&[half_width], target) {
                continue;
            }
            let decision = decide(&interval, f64::from(*time) - 1.0, confidence, MARGIN);
            rates.add(decision.expect("a positive margin"));
            break;
        }
    }
    rates
}

#[test]
fn a_study_that_measures_until_decided_rarely_errs() {
    let times = looks(0, BUDGET_ROUNDS);
    let equal = rates(0.0, &times, LOOK_CONFIDENCE);
    assert!(equal.different < 2.0 && equal.equivalent > 98.0, "{equal:?}");
    let at_margin = rates(MARGIN, &times, LOOK_CONFIDENCE);
    assert!(at_margin.equivalent <= 5.0, "{at_margin:?}");
    let beyond = rates(1.5 * MARGIN, &times, LOOK_CONFIDENCE);
    assert!(beyond.different > 99.0, "{beyond:?}");
    let large = rates(20.0 * MARGIN, &times, LOOK_CONFIDENCE);
    assert!(large.different > 99.9, "{large:?}");
    for all in [equal, at_margin, beyond, large] {
        assert!(all.undecided < 1.0, "{all:?}");
    }
}

#[test]
fn few_rounds_are_undecided_rather_than_wrong() {
    for rounds in [3, 6, 10] {
        let equal = rates(0.0, &[rounds], 0.95);
        assert!(equal.different <= 5.5, "{rounds}: {equal:?}");
        let at_margin = rates(MARGIN, &[rounds], 0.95);
        assert!(at_margin.equivalent <= 5.5, "{rounds}: {at_margin:?}");
        assert!(equal.undecided > 30.0, "{rounds}: {equal:?}");
    }
}

/// Decisions about pairs of runs with so many rounds, whose true difference is `truth`. They share no rounds, and only the interval of each
/// is known.
fn rates_of_pairs(truth: f64, rounds: [usize; 2]) -> Rates {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(17);
    let mut rates = Rates::default();
    for _ in 0..STUDIES {
        let mut run = |level: f64, rounds: usize| {
            let round = Normal::new(level, SPREAD).expect("a positive spread");
            let values: Vec<f64> = (0..rounds).map(|_| round.sample(&mut rng)).collect();
            mean_over_rounds(&values, 0.95).expect("there are rounds")
        };
        let (reference, other) = (run(0.0, rounds[0]), run(truth, rounds[1]));
        let difference = sum_of_independent(&[other, reference.times(-1.0)]).expect("two numbers");
        rates.add(decide_by_interval(&difference, MARGIN).expect("a positive margin"));
    }
    rates
}

#[test]
fn two_runs_of_which_only_intervals_are_known_are_rarely_decided_wrongly() {
    for rounds in [[3, 3], [4, 12], [12, 12], [100, 100]] {
        let equal = rates_of_pairs(0.0, rounds);
        assert!(equal.different <= 5.5, "{rounds:?}: {equal:?}");
        let at_margin = rates_of_pairs(MARGIN, rounds);
        assert!(at_margin.equivalent <= 3.5, "{rounds:?}: {at_margin:?}");
    }
    let precise = rates_of_pairs(0.0, [100, 100]);
    assert!(precise.equivalent > 95.0, "{precise:?}");
    let beyond = rates_of_pairs(1.5 * MARGIN, [100, 100]);
    assert!(beyond.different > 99.0, "{beyond:?}");
}
