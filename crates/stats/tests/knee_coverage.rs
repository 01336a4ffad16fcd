//! Coverage of the range of the knee, in simulated sweeps.

use hoptax_stats::{TimesAtRate, knee};
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use rand_distr::{Distribution, StandardNormal};

/// Relative standard deviation of the speed of the machine from round to round, which all rates of a round share.
const SPEED: f64 = 0.05;
const ROUNDS: usize = 6;
const SWEEPS: usize = 1_000;

/// Share of sweeps over nine rates whose range contains the rate with the highest power, and the mean number of rates in it.
/// `power` is the true power of a rate, `noise` the relative standard deviation of a response time.
fn coverage(power: fn(f64) -> f64, noise: f64, seed: u64) -> (f64, f64) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let rates: Vec<f64> = (1..10).map(|step| f64::from(step) * 100.0).collect();
    let best = (0..rates.len()).max_by(|a, b| power(rates[*a]).total_cmp(&power(rates[*b]))).unwrap();
    let (mut covered, mut width) = (0, 0);
    for _ in 0..SWEEPS {
        let point = |rate: &f64| TimesAtRate { rate: *rate, mean_times: Vec::new() };
        let mut curve: Vec<TimesAtRate> = rates.iter().map(point).collect();
        for _ in 0..ROUNDS {
            let mut normal = || -> f64 { StandardNormal.sample(&mut random) };
            let speed = SPEED * normal();
            for TimesAtRate { rate, mean_times } in &mut curve {
                mean_times.push((speed + noise * normal()).exp() * *rate / power(*rate));
            }
        }
        let found = knee(&curve, 0.95).unwrap();
        covered += usize::from(found.first <= best && best <= found.last);
        width += found.last - found.first + 1;
    }
    (covered as f64 / SWEEPS as f64, width as f64 / SWEEPS as f64)
}

/// The power of an M/M/1 queue with a capacity of 1,000/s.
fn queue(rate: f64) -> f64 {
    rate * (1_000.0 - rate)
}

#[test]
fn the_range_contains_the_knee_of_a_queue() {
    for (noise, seed, widest) in [(0.01, 1, 1.5), (0.05, 2, 3.5), (0.2, 3, 6.0)] {
        let (share, width) = coverage(queue, noise, seed);
        assert!(share >= 0.95 && width <= widest, "noise {noise}: {share} in {width} rates");
    }
}

#[test]
fn the_range_contains_the_knee_of_a_curve_that_is_nearly_flat() {
    // The hardest case: any other rate may seem better by chance.
    let (share, _) = coverage(|rate| if rate < 150.0 { 1.001 } else { 1.0 }, 0.05, 4);
    assert!((0.95..0.999).contains(&share), "{share}");
}
