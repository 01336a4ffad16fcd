//! Coverage of the distance of a new sitting from earlier sittings of a reference.

use hoptax_stats::{Sitting, from_reference};
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use rand_distr::{ChiSquared, Distribution, StandardNormal};

/// Each sitting of the reference estimates its standard error from twelve rounds.
const ROUNDS: u32 = 12;
const STUDIES: u32 = 2_000;

/// Percentage of studies whose interval covered the true distance, and of those in which an interval that takes sittings for alike
/// did.
#[derive(Debug)]
struct Record {
    covers: f64,
    alike_covers: f64,
}

/// A reference of `count` sittings, and a new one of so many rounds whose true level is `distance` higher. `between` is the standard
/// deviation between sittings, and `error` the standard error of the new one, both in standard errors of a sitting of the reference.
fn record(count: usize, (between, error, rounds): (f64, f64, u32), confidence: f64) -> Record {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(29);
    let distance = 4.0;
    let (mut covers, mut alike_covers) = (0, 0);
    for _ in 0..STUDIES {
        let mut sitting = |level: f64, own: f64, rounds: u32| {
            let freedom = f64::from(rounds - 1);
            let spread = ChiSquared::new(freedom).expect("there are several rounds");
            let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
            let estimate = level + between * normal() + own * normal();
            Sitting { estimate, standard_error: own * (spread.sample(&mut rng) / freedom).sqrt() }
        };
        let reference: Vec<Sitting> = (0..count).map(|_| sitting(50.0, 1.0, ROUNDS)).collect();
        let new = sitting(50.0 + distance, error, rounds);
        let found = from_reference(&reference, new, rounds, confidence).expect("there are sittings");
        covers += u32::from(found.difference.contains(distance));
        let of_mean =
            reference.iter().map(|one| one.standard_error.powi(2)).sum::<f64>() / (count * count) as f64;
        let alike = 1.96 * (of_mean + new.standard_error.powi(2)).sqrt();
        alike_covers += u32::from((found.difference.estimate - distance).abs() <= alike);
    }
    let percent = |count: u32| 100.0 * f64::from(count) / f64::from(STUDIES);
    let record = Record { covers: percent(covers), alike_covers: percent(alike_covers) };
    eprintln!(
        "{count} sittings, between {between}, error {error}, {rounds} rounds, confidence {confidence}: {record:?}"
    );
    record
}

#[test]
fn intervals_cover_however_much_sittings_differ_and_however_precise_the_new_one_is() {
    for count in [2, 3, 5, 8] {
        for between in [0.0, 1.0, 3.0] {
            for (error, rounds) in [(0.3, 12), (1.0, 12), (3.0, 12), (3.0, 6)] {
                let record = record(count, (between, error, rounds), 0.95);
                assert!(record.covers >= 93.5, "{count} {between} {error} {rounds}: {record:?}");
            }
        }
    }
}

/// Six limits: each interval has a confidence of 1 - 0.05 / 6.
#[test]
fn intervals_of_several_limits_cover_too() {
    for count in [3, 5, 8] {
        for between in [0.0, 1.0, 3.0] {
            for (error, rounds) in [(1.0, 12), (3.0, 6)] {
                let record = record(count, (between, error, rounds), 1.0 - 0.05 / 6.0);
                assert!(record.covers >= 98.5, "{count} {between} {error}: {record:?}");
            }
        }
    }
}

#[test]
fn without_the_variance_between_sittings_intervals_would_miss() {
    let record = record(5, (3.0, 1.0, ROUNDS), 0.95);
    assert!(record.alike_covers < 60.0 && record.covers >= 93.5, "{record:?}");
}
