//! Properties of change points. Each test permutes thousands of series: here, the code that does is optimized.

use hoptax_stats::change_points;
use proptest::prelude::*;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Normal};
use serde::Deserialize;

/// Values around levels, each a number of values.
fn series(levels: &[(f64, usize)], seed: u64) -> Vec<f64> {
    let mut random = SmallRng::seed_from_u64(seed);
    let noise = Normal::new(0.0, 1.0).unwrap();
    let each = levels.iter().flat_map(|(level, count)| std::iter::repeat_n(*level, *count));
    each.map(|level| level + noise.sample(&mut random)).collect()
}

fn places(values: &[f64]) -> Vec<usize> {
    change_points(values, 0.01).into_iter().map(|change| change.at).collect()
}

#[test]
fn a_lasting_change_is_found_where_it_begins() {
    assert_eq!(places(&series(&[(50.0, 20), (55.0, 15)], 1)), [20]);
    let found = places(&series(&[(50.0, 20), (56.0, 12), (50.0, 20)], 2));
    assert_eq!(found, [20, 32]);
}

#[test]
fn a_spike_is_no_change_wherever_it_is_and_however_high() {
    for at in [0, 1, 10, 28, 29] {
        for height in [8.0, 1e6] {
            let mut values = series(&[(50.0, 30)], 3);
            values[at] += height;
            assert_eq!(places(&values), [0usize; 0], "{height} at {at}");
        }
    }
}

#[test]
fn white_noise_has_changes_as_rarely_as_the_significance_says() {
    let of = |significance: f64| {
        (0..200u64)
            .filter(|seed| !change_points(&series(&[(0.0, 30)], 100 + seed), significance).is_empty())
            .count()
    };
    // Of 200 series at 5 %: 10 are expected, and more than 21 or fewer than 2 in one of 1,000 such tests.
    assert!((2..=21).contains(&of(0.05)), "{}", of(0.05));
    assert!(of(0.01) <= 8, "{}", of(0.01));
}

/// A series of Apache Otava's own tests, and the changes that Otava finds there. `bench/change-points` writes the file.
#[derive(Deserialize)]
struct OtavaSeries {
    name: String,
    values: Vec<f64>,
    /// Changes by its permutation test.
    permutation: OtavaChanges,
    /// Changes by the same test with levels of at least three values, as here. Otava also splits single values off.
    permutation_of_levels: OtavaChanges,
}

#[derive(Deserialize)]
struct OtavaChanges {
    every_seed: Vec<usize>,
    some_seed: Vec<usize>,
}

fn otava() -> Vec<OtavaSeries> {
    #[derive(Deserialize)]
    struct File {
        series: Vec<OtavaSeries>,
    }
    serde_json::from_str::<File>(include_str!("otava.json")).unwrap().series
}

#[test]
fn change_points_are_those_of_apache_otava_on_its_own_series() {
    for OtavaSeries { name, values, permutation, permutation_of_levels } in otava() {
        let ours = places(&values);
        for theirs in [&permutation, &permutation_of_levels] {
            assert!(theirs.every_seed.iter().all(|at| ours.contains(at)), "{name}: {ours:?}");
        }
        let some_seed = permutation_of_levels.some_seed;
        assert!(ours.iter().all(|at| some_seed.contains(at)), "{name}: {ours:?}, {some_seed:?}");
    }
}

#[test]
fn few_equal_or_unusable_values_have_no_changes() {
    assert!(change_points(&[], 0.01).is_empty());
    assert!(change_points(&[1.0, 1.0, 9.0, 9.0, 9.0], 0.01).is_empty());
    assert!(change_points(&[7.0; 50], 0.01).is_empty());
    let mut values = series(&[(0.0, 20), (9.0, 20)], 4);
    values[3] = f64::NAN;
    assert!(change_points(&values, 0.01).is_empty());
}

#[test]
fn equal_series_have_equal_results_and_a_chance_is_never_zero() {
    let values = series(&[(0.0, 20), (5.0, 20)], 5);
    let found = change_points(&values, 0.01);
    assert_eq!(found, change_points(&values, 0.01));
    assert!(found.iter().all(|change| (0.001..=0.01).contains(&change.chance)), "{found:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A change does not depend on the unit.
    #[test]
    fn the_unit_does_not_matter(seed: u64, exponent in -10i32..10) {
        let step = SmallRng::seed_from_u64(seed).random_range(0.0..6.0);
        let values = series(&[(10.0, 12), (10.0 + step, 12)], seed);
        let scaled: Vec<f64> = values.iter().map(|value| value * 2f64.powi(exponent)).collect();
        prop_assert_eq!(places(&values), places(&scaled));
    }
}
