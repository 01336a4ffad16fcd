//! How often the interval of a large cost holds the true one on a machine whose speed wanders, with and without
//! taking the slowness of rounds out.
//!
//! Every test is a fixed draw: its seed decides it, the clock and the machine do not.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use hoptax_result::Interval;
use hoptax_stats::{median, paired_cost, slowness};
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use rand_distr::{Distribution, StandardNormal, StudentT};

/// Levels of the baseline and of the arm on a machine of mean speed, microseconds of CPU per request: verifying a
/// token, as it was measured.
const BASELINE_US: f64 = 22.0;
const ARM_US: f64 = 43.0;
/// Standard deviation of the logarithm of the machine's slowness, and its correlation from round to round.
const WANDER: f64 = 0.05;
const CORRELATION: f64 = 0.5;
/// Standard deviation of the level that a process is born with, and of the scale of its slices, both as shares.
const LEVEL: f64 = 0.015;
const NOISE: f64 = 0.01;

/// What a study reads, by arm, round and block, and the cost at its mean speed.
struct Study {
    slices: Vec<Vec<Vec<f64>>>,
    cost_us: f64,
}

/// A study of the baseline, the arm, and others that cost little.
fn study(arms: usize, rounds: usize, blocks: usize, rng: &mut Xoshiro256PlusPlus) -> Study {
    let normal = |rng: &mut Xoshiro256PlusPlus| -> f64 { StandardNormal.sample(rng) };
    let noise = StudentT::new(3.0).unwrap();
    let mut wander = normal(rng);
    let factors: Vec<f64> = (0..rounds)
        .map(|_| {
            wander = CORRELATION * wander + (1.0 - CORRELATION.powi(2)).sqrt() * normal(rng);
            (WANDER * wander).exp()
        })
        .collect();
    let levels = [BASELINE_US, ARM_US].into_iter().chain((2..arms).map(|arm| BASELINE_US + 0.1 * arm as f64));
    let slices = levels
        .map(|level_us| {
            let of_round = |factor: &f64| {
                let born = level_us * factor * (1.0 + LEVEL * normal(rng));
                (0..blocks).map(|_| born * (1.0 + NOISE * noise.sample(rng))).collect()
            };
            factors.iter().map(of_round).collect()
        })
        .collect();
    let mean = factors.iter().sum::<f64>() / rounds as f64;
    Study { slices, cost_us: (ARM_US - BASELINE_US) * mean }
}

/// The interval of the arm's cost.
fn cost(study: &Study, is_scaled: bool) -> Interval {
    let levels: Vec<Vec<Option<f64>>> =
        study.slices.iter().map(|rounds| rounds.iter().map(|blocks| median(blocks)).collect()).collect();
    let slowness = slowness(&levels, 1);
    let differences: Vec<Vec<f64>> = study.slices[1]
        .iter()
        .zip(&study.slices[0])
        .zip(slowness)
        .map(|((arm, baseline), slowness)| {
            let factor = if is_scaled { slowness } else { 1.0 };
            arm.iter().zip(baseline).map(|(arm, baseline)| (arm - baseline) / factor).collect()
        })
        .collect();
    paired_cost(&differences, 0.95).unwrap()
}

/// Coverage in percent, and the mean half-width in microseconds.
fn record(arms: usize, rounds: usize, blocks: usize, is_scaled: bool) -> (f64, f64) {
    const STUDIES: u32 = 4_000;
    let mut rng = Xoshiro256PlusPlus::seed_from_u64((arms * 1_000 + rounds * 10 + blocks) as u64);
    let (mut covered, mut half_widths) = (0, 0.0);
    for _ in 0..STUDIES {
        let study = study(arms, rounds, blocks, &mut rng);
        let interval = cost(&study, is_scaled);
        covered += u32::from(interval.contains(study.cost_us));
        half_widths += interval.half_width();
    }
    (100.0 * f64::from(covered) / f64::from(STUDIES), half_widths / f64::from(STUDIES))
}

#[test]
fn the_interval_covers_the_cost_at_the_mean_speed() {
    for (arms, rounds, blocks) in [(5, 8, 4), (8, 10, 4), (8, 18, 2), (20, 18, 2)] {
        let (coverage, _) = record(arms, rounds, blocks, true);
        assert!(
            (93.0..=97.0).contains(&coverage),
            "{coverage} % with {arms} arms, {rounds} rounds of {blocks}"
        );
    }
}

#[test]
fn with_one_other_arm_beside_the_baseline_the_interval_is_wider_than_it_need_be() {
    let (coverage, _) = record(3, 8, 4, true);
    assert!((95.0..=99.0).contains(&coverage), "{coverage} %");
}

#[test]
fn without_it_the_interval_of_a_large_cost_tells_of_the_machine() {
    let ((_, scaled_us), (coverage, plain_us)) = (record(8, 18, 2, true), record(8, 18, 2, false));
    assert!(plain_us > 1.3 * scaled_us, "{plain_us} {scaled_us}");
    assert!(coverage > 97.0, "wider than it need be: {coverage} %");
}
