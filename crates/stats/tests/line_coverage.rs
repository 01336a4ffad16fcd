//! Coverage of the intervals of a line over arms, in simulated studies.

use hoptax_stats::{Point, line};
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use rand_distr::{Distribution, StandardNormal, StudentT};

/// Quantities of the arms.
const QUANTITIES: [f64; 5] = [10.0, 100.0, 1_000.0, 5_000.0, 20_000.0];
/// True cost per unit.
const SLOPE: f64 = 0.01;
/// True quadratic coefficient.
const BEND: f64 = 2e-7;
/// Standard deviation of the level of a process.
const LEVEL: f64 = 0.6;
/// Scale of the noise of slices.
const NOISE: f64 = 1.0;
/// Relative standard deviation of the speed of the machine from round to round, which scales the costs.
const SPEED: f64 = 0.03;
const STUDIES: usize = 2_000;
const BLOCKS: usize = 4;

/// Shares of studies in which the intervals of slope and sag cover the truth.
fn coverage(rounds: usize, copies: usize, seed: u64) -> [f64; 2] {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let noise = StudentT::new(3.0).unwrap();
    let range = QUANTITIES[4] - QUANTITIES[0];
    let truth = [truth_of_slope(), BEND * range * range / 4.0];
    let mut covered = [0; 2];
    for _ in 0..STUDIES {
        let mut points = QUANTITIES.map(|quantity| Point { quantity, rounds: Vec::new() });
        for _ in 0..rounds {
            let mut normal = || -> f64 { StandardNormal.sample(&mut random) };
            let speed = 1.0 + SPEED * normal();
            let references: Vec<f64> = (0..copies).map(|_| LEVEL * normal()).collect();
            let levels: Vec<f64> = QUANTITIES.iter().map(|_| LEVEL * normal()).collect();
            // The slices of the reference are shared by all arms.
            let mut slice = |level: f64| -> Vec<f64> {
                (0..BLOCKS).map(|_| level + NOISE * noise.sample(&mut random)).collect()
            };
            let references: Vec<Vec<f64>> = references.into_iter().map(&mut slice).collect();
            for (Point { quantity, rounds }, level) in points.iter_mut().zip(levels) {
                let cost = speed * (3.0 + SLOPE * *quantity + BEND * *quantity * *quantity);
                let own = slice(cost + level);
                let pair = |reference: &Vec<f64>| {
                    own.iter().zip(reference).map(|(own, other)| own - other).collect()
                };
                rounds.push(references.iter().map(pair).collect());
            }
        }
        let line = line(&points, 0.95).unwrap();
        for ((covered, interval), truth) in covered.iter_mut().zip([line.slope, line.sag]).zip(truth) {
            *covered += usize::from(interval.low <= truth && truth <= interval.high);
        }
    }
    covered.map(|covered| covered as f64 / STUDIES as f64)
}

/// The slope of the least-squares line through the true costs, which a bend changes.
fn truth_of_slope() -> f64 {
    let cost = |x: f64| SLOPE * x + BEND * x * x;
    let mean =
        |of: &dyn Fn(f64) -> f64| QUANTITIES.iter().map(|x| of(*x)).sum::<f64>() / QUANTITIES.len() as f64;
    let (mean_x, mean_y) = (mean(&|x| x), mean(&cost));
    mean(&|x| (x - mean_x) * (cost(x) - mean_y)) / mean(&|x| (x - mean_x).powi(2))
}

#[test]
fn intervals_of_slope_and_sag_cover_the_truth() {
    for (rounds, copies, seed) in [(6, 1, 1), (10, 1, 2), (10, 7, 3), (24, 3, 4)] {
        let shares = coverage(rounds, copies, seed);
        assert!(
            shares.iter().all(|share| (0.93..=0.97).contains(share)),
            "{rounds} rounds, {copies} copies: slope and sag {shares:?}"
        );
    }
}
