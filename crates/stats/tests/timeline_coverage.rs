//! Coverage of the intervals of timelines in simulated studies: shares of rare events, and times in steps.

use hoptax_stats::{EventCount, event_share, mean_of_steps};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Poisson, StandardNormal};

/// Number of simulated studies. Five standard errors of a coverage of 95 % are 2 %.
const STUDIES: usize = 3_000;

/// The share of simulated studies whose interval covers the truth.
fn coverage(seed: u64, mut covers: impl FnMut(&mut Xoshiro256PlusPlus) -> bool) -> f64 {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    (0..STUDIES).filter(|_| covers(&mut random)).count() as f64 / STUDIES as f64
}

/// Coverage of the share of events, which happen with probability `share` on average. A round has its own probability,
/// lognormal with the standard deviation `spread` of its logarithm and the mean 1.
fn coverage_of_share(rounds: usize, trials: u64, share: f64, spread: f64) -> f64 {
    coverage(rounds as u64, |random| {
        let counts: Vec<EventCount> = (0..rounds)
            .map(|_| {
                let normal: f64 = StandardNormal.sample(random);
                let level = (spread * normal - spread * spread / 2.0).exp();
                let mean = Poisson::new(share * level * trials as f64).expect("the mean is positive");
                EventCount { events: mean.sample(random) as u64, trials }
            })
            .collect();
        event_share(&counts, 0.95).is_some_and(|interval| interval.contains(share))
    })
}

#[test]
fn the_interval_of_a_share_covers_it_from_few_events_to_many() {
    for rounds in [3, 5, 10] {
        // From one event in all rounds together to a thousand in each.
        for share in [1e-5, 1e-4, 1e-3, 1e-1] {
            let covered = coverage_of_share(rounds, 10_000, share, 0.0);
            assert!(covered >= 0.94, "{rounds} rounds, {share}: {covered}");
        }
    }
}

#[test]
fn the_interval_of_a_share_covers_it_if_rounds_differ_by_more_than_chance() {
    for rounds in [5, 10] {
        for share in [1e-3, 1e-2] {
            let covered = coverage_of_share(rounds, 10_000, share, 0.3);
            assert!(covered >= 0.93, "{rounds} rounds, {share}: {covered}");
        }
    }
}

#[test]
fn the_interval_of_a_time_in_steps_covers_its_mean() {
    for rounds in [3, 5, 10] {
        // The probability that a round takes a step more, from one in a hundred rounds to every other one.
        for longer in [0.01, 0.1, 0.3, 0.5] {
            let covered = coverage(rounds as u64, |random| {
                let times: Vec<f64> =
                    (0..rounds).map(|_| if random.random_bool(longer) { 11.0 } else { 10.0 }).collect();
                mean_of_steps(&times, 1.0, 0.95).is_some_and(|interval| interval.contains(10.0 + longer))
            });
            assert!(covered >= 0.93, "{rounds} rounds, {longer}: {covered}");
        }
    }
}

#[test]
fn the_interval_of_a_time_in_steps_covers_its_mean_if_times_spread_over_many_steps() {
    for rounds in [3, 5, 10] {
        let covered = coverage(rounds as u64, |random| {
            let time = |random: &mut Xoshiro256PlusPlus| -> f64 {
                let normal: f64 = StandardNormal.sample(random);
                (20.0 + 4.0 * normal).round()
            };
            let times: Vec<f64> = (0..rounds).map(|_| time(random)).collect();
            mean_of_steps(&times, 1.0, 0.95).is_some_and(|interval| interval.contains(20.0))
        });
        assert!((0.93..=0.97).contains(&covered), "{rounds} rounds: {covered}");
    }
}
