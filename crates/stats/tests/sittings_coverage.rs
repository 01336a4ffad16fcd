//! Coverage of the combined intervals of several sittings, for the cost on the machine and for another sitting.

use hoptax_stats::{Sitting, random_effects};
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use rand_distr::{ChiSquared, Distribution, StandardNormal};

/// The true standard errors of sittings; a study of a few sittings takes the first of them. A typical value is 1.
const STANDARD_ERRORS: [f64; 5] = [0.7, 1.0, 1.3, 0.9, 1.1];

/// Numbers of rounds from which each sitting estimates its standard error.
const ROUNDS: [u32; 2] = [3, 10];

const STUDIES: u32 = 10_000;

/// Percentage of studies whose intervals covered the cost on the machine and the estimate of another sitting, and
/// the median half-width in standard errors of a sitting.
#[derive(Debug)]
struct Record {
    machine: f64,
    another: f64,
    half_width: f64,
    /// Coverage of the interval that assumes that sittings do not differ, and weights them by their standard errors.
    alike: f64,
}

/// So many sittings of so many rounds, with this standard deviation between sittings, in standard errors of one.
fn record(count: usize, rounds: u32, between: f64) -> Record {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(11);
    let freedom = f64::from(rounds - 1);
    let spread = ChiSquared::new(freedom).expect("there are several rounds");
    let (mut machine, mut another, mut alike, mut half_widths) = (0, 0, 0, Vec::new());
    for _ in 0..STUDIES {
        let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
        let estimates: Vec<f64> =
            STANDARD_ERRORS[..count].iter().map(|own| between * normal() + own * normal()).collect();
        let next = between * normal() + normal();
        let sittings: Vec<Sitting> = estimates
            .into_iter()
            .zip(STANDARD_ERRORS)
            .map(|(estimate, own)| {
                let standard_error = own * (spread.sample(&mut rng) / freedom).sqrt();
                Sitting { estimate, standard_error }
            })
            .collect();
        let found = random_effects(&sittings, 0.95).expect("there are sittings");
        machine += u32::from(found.cost.contains(0.0));
        another += u32::from(found.another_sitting.contains(next));
        half_widths.push(found.cost.half_width());
        let weights = || sittings.iter().map(|one| one.standard_error.powi(-2));
        let total: f64 = weights().sum();
        let mean =
            sittings.iter().zip(weights()).map(|(one, weight)| one.estimate * weight).sum::<f64>() / total;
        alike += u32::from(mean.abs() <= 1.96 / total.sqrt());
    }
    half_widths.sort_by(f64::total_cmp);
    let percent = |count: u32| 100.0 * f64::from(count) / f64::from(STUDIES);
    let record = Record {
        machine: percent(machine),
        another: percent(another),
        half_width: half_widths[half_widths.len() / 2],
        alike: percent(alike),
    };
    eprintln!("{count} sittings of {rounds} rounds, {between} standard errors between: {record:?}");
    record
}

#[test]
fn intervals_cover_the_cost_on_the_machine_however_much_sittings_differ() {
    for (count, rounds) in settings() {
        for between in [1.0, 3.0] {
            let record = record(count, rounds, between);
            assert!((93.0..=98.0).contains(&record.machine), "{count} {rounds} {between}: {record:?}");
            assert!((93.0..=98.5).contains(&record.another), "{count} {rounds} {between}: {record:?}");
            assert!(record.alike < 80.0, "{count} {rounds} {between}: {record:?}");
        }
    }
}

#[test]
fn intervals_of_sittings_that_do_not_differ_are_on_the_safe_side() {
    for (count, rounds) in settings() {
        let record = record(count, rounds, 0.0);
        assert!(record.machine >= 94.0 && record.another >= 94.0, "{count} {rounds}: {record:?}");
    }
}

/// Numbers of sittings, and of the rounds of each.
fn settings() -> impl Iterator<Item = (usize, u32)> {
    [2, 3, 5].into_iter().flat_map(|count| ROUNDS.map(|rounds| (count, rounds)))
}

#[test]
fn a_third_sitting_halves_the_interval() {
    let (two, three) = (record(2, 10, 1.0), record(3, 10, 1.0));
    assert!(three.half_width < two.half_width / 2.0, "{two:?} {three:?}");
}
