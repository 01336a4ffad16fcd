//! Error rates of decisions between different and equivalent, with a fixed number of rounds and with stopping.
//!
//! Every test has a fixed seed, so results depend neither on the clock nor on the machine.

use hoptax_result::Decision;
use hoptax_stats::{
    DECISIVE, LOOK_CONFIDENCE, OF_COST, decide, looks, mean_over_rounds, precise_enough, scaled_half_width,
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
            let of = match decide(&interval, f64::from(*time) - 1.0, confidence, MARGIN)
                .expect("a positive margin")
            {
                Decision::Different => &mut rates.different,
                Decision::Equivalent => &mut rates.equivalent,
                Decision::Undecided => &mut rates.undecided,
            };
            *of += 100.0 / f64::from(STUDIES);
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
