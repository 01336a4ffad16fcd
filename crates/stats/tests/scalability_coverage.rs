//! Coverage of the intervals of the scalability law, in simulated studies. Seeds are fixed, so results depend neither on the
//! clock nor on the machine.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use hoptax_stats::{SizedRates, scalability};
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use rand_distr::{Distribution, StandardNormal};

const SIZES: [f64; 7] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];
/// Relative standard deviation of the speed of the machine from round to round, which all rates of a round share.
const SPEED: f64 = 0.03;
/// Relative standard deviation of the level that a size has in a round.
const LEVEL: f64 = 0.02;
const STUDIES: usize = 500;

/// Lambda, sigma and kappa.
type Law = [f64; 3];

fn rate([lambda, sigma, kappa]: Law, size: f64) -> f64 {
    lambda * size / (1.0 + sigma * (size - 1.0) + kappa * size * (size - 1.0))
}

/// Shares of studies in which the intervals cover lambda, sigma, kappa, and size and rate of the peak.
fn coverage(law: Law, rounds: usize, seed: u64) -> [f64; 5] {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let peak = ((1.0 - law[1]) / law[2]).sqrt().min(2.0 * 64.0);
    let truth = [law[0], law[1], law[2], peak, rate(law, peak)];
    let mut covered = [0; 5];
    for _ in 0..STUDIES {
        let mut points: Vec<SizedRates> = SIZES.iter().map(|size| (*size, Vec::new())).collect();
        for _ in 0..rounds {
            let mut normal = || -> f64 { StandardNormal.sample(&mut random) };
            let speed = 1.0 + SPEED * normal();
            for (size, rates) in &mut points {
                rates.push(Some(speed * (1.0 + LEVEL * normal()) * rate(law, *size)));
            }
        }
        let fit = scalability(&points, 0.95).unwrap().fit;
        let intervals = [fit.lambda, fit.sigma, fit.kappa, fit.peak.size, fit.peak.rate];
        for ((covered, interval), truth) in covered.iter_mut().zip(intervals).zip(truth) {
            *covered += usize::from(interval.contains(truth));
        }
    }
    covered.map(|covered| covered as f64 / STUDIES as f64)
}

#[test]
fn intervals_cover_a_law_with_a_peak_among_the_sizes() {
    for (rounds, seed) in [(6, 1), (12, 2)] {
        let shares = coverage([1_000.0, 0.05, 0.001], rounds, seed);
        assert!(
            shares.iter().all(|share| (0.92..=0.98).contains(share)),
            "{rounds} rounds: lambda, sigma, kappa, size and rate of the peak {shares:?}"
        );
    }
}

/// At the edge of its range, an interval is one-sided and covers more often.
#[test]
fn intervals_cover_a_law_without_contention_or_without_coherency() {
    for (law, seed) in [([1_000.0, 0.0, 0.001], 3), ([1_000.0, 0.05, 0.0], 4)] {
        let shares = coverage(law, 6, seed);
        assert!(
            shares.iter().all(|share| *share >= 0.92),
            "{law:?}: lambda, sigma, kappa, size and rate of the peak {shares:?}"
        );
    }
}
