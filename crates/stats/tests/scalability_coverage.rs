//! Coverage of the intervals of the scalability law, in simulated studies.

use hoptax_stats::{SizedRates, scalability};
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use rand_distr::{Distribution, StandardNormal};

const SIZES: [f64; 7] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];
/// Relative standard deviation of the speed of the machine from round to round, which all rates of a round share.
const SPEED: f64 = 0.03;
/// Relative standard deviation of the level that a size has in a round.
const LEVEL: f64 = 0.02;
const STUDIES: usize = 1_000;
/// The most studies in which chance may refute a true law: 5 %, and two standard errors of that share in [`STUDIES`].
const REFUTED: f64 = 0.064;

/// Lambda, sigma and kappa.
type Law = [f64; 3];

fn rate([lambda, sigma, kappa]: Law, size: f64) -> f64 {
    lambda * size / (1.0 + sigma * (size - 1.0) + kappa * size * (size - 1.0))
}

/// Shares of studies in which the intervals cover lambda, sigma, kappa, and size and rate of the peak, and in which the law is
/// refuted.
fn coverage(law: Law, rounds: usize, seed: u64) -> ([f64; 5], f64) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let peak = ((1.0 - law[1]) / law[2]).sqrt().min(2.0 * 64.0);
    let truth = [law[0], law[1], law[2], peak, rate(law, peak)];
    let mut covered = [0; 5];
    let mut refuted = 0;
    for _ in 0..STUDIES {
        let mut points = SIZES.map(|size| SizedRates { size, rates: Vec::new() });
        for _ in 0..rounds {
            let mut normal = || -> f64 { StandardNormal.sample(&mut random) };
            let speed = 1.0 + SPEED * normal();
            for SizedRates { size, rates } in &mut points {
                rates.push(Some(speed * (1.0 + LEVEL * normal()) * rate(law, *size)));
            }
        }
        let fit = scalability(&points, 0.95).unwrap().fit;
        refuted += usize::from(fit.is_refuted);
        let intervals = [fit.lambda, fit.sigma, fit.kappa, fit.peak.size, fit.peak.rate];
        for ((covered, interval), truth) in covered.iter_mut().zip(intervals).zip(truth) {
            *covered += usize::from(interval.contains(truth));
        }
    }
    let share = |count: usize| count as f64 / STUDIES as f64;
    (covered.map(share), share(refuted))
}

#[test]
fn intervals_cover_a_law_with_a_peak_among_the_sizes() {
    for (rounds, seed) in [(5, 1), (6, 2), (12, 3)] {
        for law in [[1_000.0, 0.05, 0.001], [1_000.0, 0.003, 0.001]] {
            let (shares, refuted) = coverage(law, rounds, seed);
            assert!(
                shares.iter().all(|share| (0.92..=0.98).contains(share)) && refuted <= REFUTED,
                "{law:?}, {rounds} rounds: lambda, sigma, kappa, size and rate of the peak {shares:?}, refuted {refuted}"
            );
        }
    }
}

/// At the edge of its range, the interval of a number is one-sided and covers more often; those of the others do not.
#[test]
fn intervals_cover_a_law_without_contention_or_without_coherency() {
    for (law, seed) in [([1_000.0, 0.0, 0.001], 4), ([1_000.0, 0.05, 0.0], 5), ([1_000.0, 0.0, 0.0], 6)] {
        for rounds in [5, 6, 12] {
            let (shares, refuted) = coverage(law, rounds, seed);
            let ([lambda, ..], rate) = (shares, shares[4]);
            assert!(
                shares.iter().all(|share| *share >= 0.92)
                    && lambda <= 0.98
                    && rate <= 0.98
                    && refuted <= REFUTED,
                "{law:?}, {rounds} rounds: lambda, sigma, kappa, size and rate of the peak {shares:?}, refuted {refuted}"
            );
        }
    }
}

/// Rates that fall by a power of the size, as no contention does.
#[test]
fn another_law_is_refuted() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
    let mut refuted = 0;
    for _ in 0..STUDIES {
        let mut rate = |size: f64| {
            let normal: f64 = StandardNormal.sample(&mut random);
            Some((1.0 + LEVEL * normal) * 1_000.0 / size.sqrt())
        };
        let points = SIZES.map(|size| SizedRates { size, rates: (0..6).map(|_| rate(size)).collect() });
        refuted += usize::from(scalability(&points, 0.95).unwrap().fit.is_refuted);
    }
    assert!(refuted as f64 >= 0.95 * STUDIES as f64, "{refuted} of {STUDIES}");
}
