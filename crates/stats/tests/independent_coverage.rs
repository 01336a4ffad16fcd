//! Coverage of the intervals of sums over studies, simulated.

use hoptax_result::Interval;
use hoptax_stats::{mean_over_rounds, sum_of_independent};
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use rand_distr::{Distribution, StandardNormal};

const STUDIES: usize = 4_000;
const CONFIDENCE: f64 = 0.95;

/// Share of sums over studies whose interval covers the true sum, which is 0. Each number is the mean of as many rounds as
/// `rounds` has for it, with a standard deviation from `deviations`; `shared` is the share of the deviation that the numbers of a
/// study have in common, round by round.
fn coverage(
    rounds: &[usize],
    deviations: &[f64],
    shared: f64,
    sum: fn(&[Interval]) -> Option<Interval>,
    seed: u64,
) -> f64 {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut normal = || -> f64 { StandardNormal.sample(&mut random) };
    let most = rounds.iter().copied().max().unwrap();
    let covered = (0..STUDIES).filter(|_| {
        let common: Vec<f64> = (0..most).map(|_| normal()).collect();
        let mut number = |(rounds, deviation): (&usize, &f64)| {
            let own = (1.0 - shared * shared).sqrt();
            let of_round = |common: &f64| deviation * (shared * common + own * normal());
            let values: Vec<f64> = common.iter().take(*rounds).map(of_round).collect();
            mean_over_rounds(&values, CONFIDENCE).unwrap()
        };
        let numbers: Vec<Interval> = rounds.iter().zip(deviations).map(&mut number).collect();
        sum(&numbers).unwrap().contains(0.0)
    });
    covered.count() as f64 / STUDIES as f64
}

/// Rounds and standard deviations of the numbers.
const CASES: [(&[usize], &[f64]); 4] = [
    (&[12, 12], &[1.0, 1.0]),
    (&[6, 12, 10], &[1.0, 0.3, 2.0]),
    (&[4, 4], &[1.0, 1.0]),
    (&[4, 12, 6, 6, 8], &[0.2, 1.0, 1.0, 1.5, 0.5]),
];

#[test]
fn sums_over_studies_are_covered_at_least_as_often_as_stated() {
    for (number, (rounds, deviations)) in CASES.into_iter().enumerate() {
        let covered = coverage(rounds, deviations, 0.0, sum_of_independent, 71 + number as u64);
        assert!((0.94..=0.995).contains(&covered), "{rounds:?}: {covered}");
    }
}

#[test]
fn sums_of_numbers_that_share_an_error_need_the_wider_interval() {
    for (number, (rounds, deviations)) in CASES.into_iter().enumerate() {
        let seed = 91 + number as u64;
        let wide = coverage(rounds, deviations, 0.8, Interval::sum_of_dependent, seed);
        assert!(wide >= 0.94, "{rounds:?}: {wide}");
        let narrow = coverage(rounds, deviations, 0.8, sum_of_independent, seed);
        assert!(narrow < wide, "{rounds:?}: {narrow}");
    }
    // Two numbers that share most of their error: adding squares covers too rarely.
    assert!(coverage(&[12, 12], &[1.0, 1.0], 0.9, sum_of_independent, 90) < 0.91);
}
