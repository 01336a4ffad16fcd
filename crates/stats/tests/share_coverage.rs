//! Coverage of the interval of a cost as a share of its level, in simulated studies whose rounds share some of the noise of arm and
//! reference, and of the intervals that it replaces.

use std::ops::RangeInclusive;

use hoptax_result::{CountedTime, Interval};
use hoptax_stats::{
    CostAtLevel, RoundTimes, costs_by_round, mean_over_rounds, median, quantile_cost, quantile_level,
    quantile_share, share_of_level,
};

use crate::tail_coverage::Machine;

const STUDIES: u32 = 4_000;
const CONFIDENCE: f64 = 0.95;

/// The true shares.
const SHARES: [f64; 3] = [0.0, 0.2, 1.0];

/// The coverage that an interval must have, percent.
const SOUND: RangeInclusive<f64> = 93.0..=97.5;

/// A level without noise.
const LEVEL: f64 = 100.0;

/// Standard deviations of the logarithms of levels.
#[derive(Clone, Copy, Debug)]
struct Noise {
    /// Of a round, which arm and reference share.
    round: f64,
    /// Of the arm's own level in a round.
    arm: f64,
    /// Of the reference's own level in a round.
    reference: f64,
    /// Of a slice.
    slice: f64,
}

const NOISES: [Noise; 3] = [
    Noise { round: 0.02, arm: 0.01, reference: 0.06, slice: 0.02 },
    Noise { round: 0.03, arm: 0.01, reference: 0.06, slice: 0.03 },
    Noise { round: 0.02, arm: 0.02, reference: 0.06, slice: 0.05 },
];

/// Rounds of four blocks, each with a slice of the arm and one of the reference, reduced as those of a study are.
fn study(machine: &mut Machine, rounds: usize, share: f64, noise: Noise) -> Vec<CostAtLevel> {
    let round = |_| {
        let common = LEVEL * machine.factor(noise.round);
        let reference = common * machine.factor(noise.reference);
        let arm = common * (1.0 + share) * machine.factor(noise.arm);
        let block = |_| (arm * machine.factor(noise.slice), reference * machine.factor(noise.slice));
        let blocks: Vec<(f64, f64)> = (0..4).map(block).collect();
        let differences: Vec<f64> = blocks.iter().map(|(arm, reference)| arm - reference).collect();
        let cost = costs_by_round(&[vec![differences]]).unwrap()[0].unwrap();
        let levels: Vec<f64> = blocks.iter().map(|(_, reference)| *reference).collect();
        CostAtLevel { cost, level: median(&levels).unwrap() }
    };
    (0..rounds).map(round).collect()
}

/// Wrong: the interval of the cost divided by the level, as if that were exact.
fn of_exact_level(cost: &Interval, level: &Interval) -> Interval {
    cost.times(1.0 / level.estimate)
}

/// The interval of the cost, and that of the level.
fn both(rounds: &[CostAtLevel]) -> (Interval, Interval) {
    let over_rounds = |of: fn(&CostAtLevel) -> f64| {
        mean_over_rounds(&rounds.iter().map(of).collect::<Vec<f64>>(), CONFIDENCE).unwrap()
    };
    (over_rounds(|round| round.cost), over_rounds(|round| round.level))
}

/// The percentage of studies whose interval covers the true share.
fn coverage(rounds: usize, share: f64, noise: Noise, interval: impl Fn(&[CostAtLevel]) -> Interval) -> f64 {
    // Methods that are tried on one kind of study see the same studies.
    let mut machine = Machine::new(1_000 * rounds as u64);
    let mut is_covered = || interval(&study(&mut machine, rounds, share, noise)).contains(share);
    let covered = (0..STUDIES).filter(|_| is_covered());
    100.0 * covered.count() as f64 / f64::from(STUDIES)
}

#[test]
fn a_share_within_rounds_covers_the_truth_whatever_its_size() {
    for rounds in [6, 12] {
        for (noise, share) in NOISES.iter().flat_map(|noise| SHARES.map(|share| (*noise, share))) {
            let within = coverage(rounds, share, noise, |study| share_of_level(study, CONFIDENCE).unwrap());
            assert!(SOUND.contains(&within), "{within} % at {share} in {rounds} rounds of {noise:?}");
        }
    }
}

#[test]
fn a_share_of_a_level_that_counts_as_exact_misses_a_large_truth() {
    let exact = |study: &[CostAtLevel]| {
        let (cost, level) = both(study);
        of_exact_level(&cost, &level)
    };
    for noise in NOISES {
        let large = coverage(12, 1.0, noise, exact);
        assert!(large < 85.0 && !SOUND.contains(&large), "{large} % of {noise:?}");
        let none = coverage(12, 0.0, noise, exact);
        assert!(SOUND.contains(&none), "a share of zero has the errors of the cost alone: {none} %");
    }
}

#[test]
fn a_share_that_counts_the_errors_of_both_numbers_without_rounds_is_a_bound() {
    let bound = |study: &[CostAtLevel]| {
        let (cost, level) = both(study);
        cost.share_of(&level).unwrap()
    };
    for (noise, share) in NOISES.iter().flat_map(|noise| SHARES.map(|share| (*noise, share))) {
        let covered = coverage(12, share, noise, bound);
        assert!(covered >= *SOUND.start(), "{covered} % at {share} of {noise:?}");
    }
}

/// Response times of a round around this level, evenly from half of it to one and a half, nanoseconds.
fn times(level_ns: f64) -> Vec<CountedTime> {
    let ns = |place: u32| (level_ns * (0.5 + f64::from(place) / 100.0)) as u64;
    (0..100).map(|place| CountedTime { ns: ns(place), count: 20 }).collect()
}

#[test]
fn shares_of_quantiles_cover_the_truth_and_those_of_exact_ones_miss_a_large_one() {
    const ROUNDS: usize = 12;
    let noise = NOISES[0];
    for p in [0.5, 0.9] {
        let mut covered = SHARES.map(|share| (share, 0_u32, 0_u32));
        let mut machine = Machine::new(5);
        for _ in 0..STUDIES / 2 {
            let levels: Vec<(f64, f64)> = (0..ROUNDS)
                .map(|_| {
                    let common = 1e6 * machine.factor(noise.round);
                    (common * machine.factor(noise.arm), common * machine.factor(noise.reference))
                })
                .collect();
            let references: Vec<Vec<CountedTime>> = levels.iter().map(|(_, level)| times(*level)).collect();
            let of_references: Vec<&[CountedTime]> = references.iter().map(Vec::as_slice).collect();
            let level = quantile_level(&of_references, p, CONFIDENCE).unwrap();
            for (share, within, exact) in &mut covered {
                let arms: Vec<Vec<CountedTime>> =
                    levels.iter().map(|(level, _)| times(level * (1.0 + *share))).collect();
                let study: Vec<RoundTimes> =
                    arms.iter().zip(&references).map(|(arm, other)| RoundTimes { arm, other }).collect();
                let found = quantile_share(&study, p, CONFIDENCE).unwrap();
                *within += u32::from(found.contains(*share));
                let cost = quantile_cost(&study, p, CONFIDENCE).unwrap();
                *exact += u32::from(of_exact_level(&cost, &level).contains(*share));
            }
        }
        let percent = |count: u32| 100.0 * f64::from(count) / f64::from(STUDIES / 2);
        for (share, within, exact) in covered {
            let (within, exact) = (percent(within), percent(exact));
            assert!(SOUND.contains(&within), "{within} % at {share} of p{p}");
            assert!(share < 1.0 || exact < 85.0, "{exact} % of p{p}");
        }
    }
}
