//! Coverage of intervals in studies that stop when their intervals are narrow.

use hoptax_stats::{LOOK_CONFIDENCE, looks, mean_over_rounds, precise_enough, rounds_needed};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};

/// Standard deviation over rounds of the baseline's error, which all costs share; that of each cost's own error
/// is about 1.
const SHARED: f64 = 0.5;

/// Standard deviation of the logarithms of the costs' own standard deviations.
const UNLIKE: f64 = 0.3;

/// The end of the budget, in rounds.
const LAST: u32 = 80;

/// The distribution of a cost over rounds.
#[derive(Clone, Copy, Debug)]
enum Rounds {
    Normal,
    /// The arm's process lands in the upper of two modes in three starts of ten.
    TwoModes,
}

#[derive(Debug)]
struct Record {
    /// Percentage of costs whose interval covered the truth when the study stopped.
    coverage: f64,
    /// Mean number of rounds.
    rounds: f64,
}

/// Sums over rounds of one cost.
#[derive(Clone, Copy, Default)]
struct Sums {
    values: f64,
    squares: f64,
}

/// Half-width of an interval over `rounds` rounds, in standard deviations.
fn reach(rounds: u32, confidence: f64) -> f64 {
    let values: Vec<f64> = (0..rounds).map(f64::from).collect();
    let count = f64::from(rounds);
    // The variance of 0, 1, ... n - 1 is n (n + 1) / 12.
    let deviation = (count * (count + 1.0) / 12.0).sqrt();
    mean_over_rounds(&values, confidence).expect("there are rounds").half_width() / deviation
}

fn record(costs: usize, target: f64, rounds: Rounds, confidence: f64, times: &[u32], studies: u32) -> Record {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(21);
    let reaches: Vec<f64> = times.iter().map(|time| reach(*time, confidence)).collect();
    let (mut held, mut measured) = (0, 0);
    for _ in 0..studies {
        let normal = |rng: &mut Xoshiro256PlusPlus| -> f64 { StandardNormal.sample(rng) };
        let own: Vec<f64> = (0..costs).map(|_| (UNLIKE * normal(&mut rng)).exp()).collect();
        let mut sums = vec![Sums::default(); costs];
        let mut round = 0;
        for (time, reach) in times.iter().zip(&reaches) {
            while round < *time {
                round += 1;
                let shared = SHARED * normal(&mut rng);
                for (sum, own) in sums.iter_mut().zip(&own) {
                    let deviation = match rounds {
                        Rounds::Normal => normal(&mut rng),
                        Rounds::TwoModes => {
                            let mode = if rng.random_bool(0.3) { 0.91 } else { -0.39 };
                            mode + 0.8 * normal(&mut rng)
                        }
                    };
                    let value = shared + own * deviation;
                    sum.values += value;
                    sum.squares += value * value;
                }
            }
            let count = f64::from(round);
            let intervals: Vec<(f64, f64)> = sums
                .iter()
                .map(|sum| {
                    let mean = sum.values / count;
                    let variance = (sum.squares - count * mean * mean).max(0.0) / (count - 1.0);
                    (mean, reach * variance.sqrt())
                })
                .collect();
            let half_widths: Vec<f64> = intervals.iter().map(|(_, half_width)| *half_width).collect();
            if precise_enough(&half_widths, target) || *time == LAST {
                held += intervals.iter().filter(|(mean, half_width)| mean.abs() <= *half_width).count();
                measured += round;
                break;
            }
        }
    }
    let all = f64::from(studies);
    let record =
        Record { coverage: 100.0 * held as f64 / (all * costs as f64), rounds: f64::from(measured) / all };
    eprintln!("{costs} costs to {target}, {rounds:?}, {confidence}, {} looks: {record:?}", times.len());
    record
}

#[test]
fn twenty_costs_that_stop_together_are_covered_as_reported() {
    for rounds in [Rounds::Normal, Rounds::TwoModes] {
        let mut rounds_before = 0.0;
        for target in [1.5, 1.0, 0.7, 0.5] {
            let record = record(20, target, rounds, LOOK_CONFIDENCE, &looks(8, LAST), 250);
            assert!((93.0..=97.0).contains(&record.coverage), "{rounds:?} {target}: {record:?}");
            assert!(record.rounds > rounds_before, "{rounds:?} {target}: {record:?}");
            rounds_before = record.rounds;
        }
    }
}

#[test]
fn a_single_cost_that_stops_the_study_is_covered_as_reported() {
    for target in [1.0, 0.7, 0.5] {
        let record = record(1, target, Rounds::Normal, LOOK_CONFIDENCE, &looks(8, LAST), 3_000);
        assert!((93.0..=97.0).contains(&record.coverage), "{target}: {record:?}");
    }
}

#[test]
fn looking_after_every_round_at_the_nominal_confidence_covers_less() {
    let every: Vec<u32> = (3..=LAST).collect();
    let record = record(1, 0.7, Rounds::Normal, 0.95, &every, 3_000);
    assert!(record.coverage < 92.0, "{record:?}");
}

#[test]
fn the_rounds_predicted_from_the_first_look_are_those_that_are_needed() {
    // With 20 costs the last but one decides; the prediction is for a single cost, so it is tested on one.
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(22);
    let mut ratios: Vec<f64> = (0..400)
        .map(|_| {
            let mut half_width = |rounds: u32| {
                let values: Vec<f64> = (0..rounds).map(|_| StandardNormal.sample(&mut rng)).collect();
                mean_over_rounds(&values, LOOK_CONFIDENCE).expect("there are rounds").half_width()
            };
            let needed = rounds_needed(half_width(8), 8, 0.35).expect("within reach");
            f64::from(needed)
                / f64::from(rounds_needed(half_width(2_000), 2_000, 0.35).expect("within reach"))
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    let middle = ratios[ratios.len() / 2];
    eprintln!("rounds predicted from 8 over those needed: {:?}", [ratios[20], middle, ratios[379]]);
    assert!((0.8..=1.1).contains(&middle), "{middle}");
}
