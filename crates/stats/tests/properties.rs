//! Properties that hold for every input, tested on random inputs.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod change_points_properties;
mod dunnett_properties;
mod moderated_properties;
mod moderated_simulation;
mod search_properties;
mod tail_properties;

use hoptax_result::Interval;
use hoptax_stats::{
    Observation, TimesAtRate, hodges_lehmann, knee, mean_over_rounds, median, overlaps, paired_cost,
    quantile, quantile_supported, samples_for_quantile, slowdowns,
};
use proptest::collection::vec;
use proptest::prelude::*;

const NEAR: f64 = 1e-6;

/// Differences in a realistic range, us.
fn differences(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<f64>> {
    vec(-1e3..1e3, count)
}

fn shuffled(count: std::ops::Range<usize>) -> impl Strategy<Value = (Vec<f64>, Vec<f64>)> {
    differences(count).prop_flat_map(|values| (Just(values.clone()), Just(values).prop_shuffle()))
}

fn interval() -> impl Strategy<Value = Interval> {
    (-10..10_i32, 0..5_i32).prop_map(|(low, width)| {
        let (low, width) = (f64::from(low), f64::from(width));
        Interval::new(low + width / 2.0, low, low + width)
    })
}

fn smallest(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

fn largest(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < NEAR
}

/// Observations of at least two rounds of two blocks of four to seven arms, in random order.
fn observations() -> impl Strategy<Value = Vec<Observation>> {
    let block = || (4..8_usize).prop_flat_map(|arms| Just((0..arms).collect::<Vec<_>>()).prop_shuffle());
    let values = vec((block(), block(), vec(1e-3..1e3, 14)), 2..6);
    values.prop_map(|rounds| {
        let mut observations = Vec::new();
        for (round, (first, second, values)) in rounds.into_iter().enumerate() {
            let arms = first.into_iter().map(|arm| (0, arm)).chain(second.into_iter().map(|arm| (1, arm)));
            let observe = |((block, arm), value)| Observation { round, block, arm, value };
            observations.extend(arms.zip(values).map(observe));
        }
        observations
    })
}

proptest! {
    #[test]
    fn slowdowns_are_factors_and_do_not_know_the_unit(observations in observations(), unit in 1e-3..1e3) {
        let found = slowdowns(&observations).expect("four arms are in every round");
        prop_assert_eq!(found.factors.len(), observations.len());
        prop_assert!((0.0..=1.0).contains(&found.weight));
        prop_assert!(found.factors.iter().all(|factor| factor.is_finite() && *factor > 0.0));
        let scaled: Vec<Observation> =
            observations.iter().map(|one| Observation { value: one.value * unit, ..*one }).collect();
        let scaled = slowdowns(&scaled).expect("four arms are in every round");
        for (one, other) in found.factors.iter().zip(&scaled.factors) {
            prop_assert!((one / other - 1.0).abs() < NEAR, "{one} {other}");
        }
    }

    #[test]
    fn hodges_lehmann_moves_and_scales_with_its_input(
        values in differences(1..25), shift in -1e3..1e3_f64, scale in -10.0..10.0,
    ) {
        let moved: Vec<f64> = values.iter().map(|value| value * scale + shift).collect();
        let expected = hodges_lehmann(&values).unwrap() * scale + shift;
        prop_assert!(near(hodges_lehmann(&moved).unwrap(), expected));
    }

    #[test]
    fn hodges_lehmann_lies_within_its_input(values in differences(1..25)) {
        let centre = hodges_lehmann(&values).unwrap();
        prop_assert!(smallest(&values) <= centre && centre <= largest(&values));
    }

    #[test]
    fn hodges_lehmann_knows_no_order((values, shuffled) in shuffled(1..25)) {
        prop_assert_eq!(hodges_lehmann(&values), hodges_lehmann(&shuffled));
    }

    #[test]
    fn hodges_lehmann_finds_a_centre_of_symmetry(offsets in differences(1..12), centre in -1e3..1e3) {
        let symmetric: Vec<f64> =
            offsets.iter().flat_map(|offset| [centre - offset, centre + offset]).collect();
        prop_assert!(near(hodges_lehmann(&symmetric).unwrap(), centre));
    }

    #[test]
    fn one_wild_difference_cannot_take_the_centre_beyond_the_others(
        values in differences(3..25), wild in -1e9..1e9,
    ) {
        let mut disturbed = values.clone();
        disturbed.push(wild);
        let centre = hodges_lehmann(&disturbed).unwrap();
        prop_assert!(smallest(&values) <= centre && centre <= largest(&values));
    }

    #[test]
    fn an_interval_contains_its_estimate(values in differences(2..15), confidence in 0.001..0.9999) {
        let interval = mean_over_rounds(&values, confidence).unwrap();
        prop_assert!(interval.contains(interval.estimate));
        prop_assert!(smallest(&values) - NEAR <= interval.estimate && interval.estimate <= largest(&values) + NEAR);
    }

    #[test]
    fn an_interval_widens_with_confidence(
        values in differences(2..15), lower in 0.01..0.95, more in 0.001..0.049,
    ) {
        prop_assume!(largest(&values) - smallest(&values) > 1e-3);
        let narrow = mean_over_rounds(&values, lower).unwrap();
        let wide = mean_over_rounds(&values, lower + more).unwrap();
        prop_assert!(narrow.half_width() < wide.half_width());
        prop_assert!(wide.low < narrow.low && narrow.high < wide.high);
    }

    #[test]
    fn an_interval_narrows_when_the_same_rounds_are_seen_again(values in differences(2..15)) {
        prop_assume!(largest(&values) - smallest(&values) > 1e-3);
        let once = mean_over_rounds(&values, 0.95).unwrap();
        let twice = mean_over_rounds(&values.repeat(2), 0.95).unwrap();
        prop_assert!(near(once.estimate, twice.estimate));
        prop_assert!(twice.half_width() < once.half_width());
    }

    #[test]
    fn an_interval_moves_and_scales_with_its_rounds(
        values in differences(2..15), shift in -1e3..1e3_f64, scale in 0.1..10.0_f64,
    ) {
        let plain = mean_over_rounds(&values, 0.95).unwrap();
        let moved: Vec<f64> = values.iter().map(|value| value * scale + shift).collect();
        let moved = mean_over_rounds(&moved, 0.95).unwrap();
        // Two rounds far apart have an interval of tens of thousands, so compare relative to its
        // width.
        let tolerance = NEAR * (1.0 + plain.half_width() * scale);
        prop_assert!((moved.low - (plain.low * scale + shift)).abs() < tolerance);
        prop_assert!((moved.high - (plain.high * scale + shift)).abs() < tolerance);
    }

    #[test]
    fn swapping_arm_and_baseline_turns_the_cost_around(rounds in vec(differences(1..8), 2..10)) {
        let cost = paired_cost(&rounds, 0.95).unwrap();
        let swapped: Vec<Vec<f64>> =
            rounds.iter().map(|round| round.iter().map(|difference| -difference).collect()).collect();
        let swapped = paired_cost(&swapped, 0.95).unwrap();
        prop_assert!(near(cost.estimate, -swapped.estimate));
        prop_assert!((cost.low + swapped.high).abs() < NEAR * (1.0 + cost.half_width()));
    }

    #[test]
    fn rounds_without_pairs_change_nothing(rounds in vec(differences(1..8), 2..10), at in 0..10_usize) {
        let mut with_empty = rounds.clone();
        with_empty.insert(at.min(rounds.len()), Vec::new());
        prop_assert_eq!(paired_cost(&rounds, 0.95), paired_cost(&with_empty, 0.95));
    }

    #[test]
    fn quantiles_grow_with_p((values, shuffled) in shuffled(1..25), a in 0.0..=1.0, b in 0.0..=1.0) {
        let (low, high) = if a <= b { (a, b) } else { (b, a) };
        prop_assert!(quantile(&values, low).unwrap() <= quantile(&shuffled, high).unwrap());
        prop_assert_eq!(quantile(&values, 0.0), Some(smallest(&values)));
        prop_assert_eq!(quantile(&values, 1.0), Some(largest(&values)));
    }

    #[test]
    fn at_most_half_of_the_values_lie_on_either_side_of_the_median(values in differences(1..25)) {
        let middle = median(&values).unwrap();
        let below = values.iter().filter(|&&value| value < middle).count();
        let above = values.iter().filter(|&&value| value > middle).count();
        prop_assert!(below * 2 <= values.len() && above * 2 <= values.len());
    }

    #[test]
    fn a_quantile_is_supported_from_its_minimum_on(p in 0.0001..0.9999) {
        let needed = samples_for_quantile(p).unwrap();
        prop_assert!(quantile_supported(needed, p) && !quantile_supported(needed - 1, p));
        let beyond = needed as f64 * p.min(1.0 - p);
        prop_assert!((100.0 - NEAR..101.0).contains(&beyond));
    }

    #[test]
    fn a_knee_is_in_its_range_and_knows_neither_units_nor_the_speed_of_rounds(
        times in vec(vec(1e-3..1e3, 4), 3..12), units in (1e-3..1e3, 1e-3..1e3), speeds in vec(0.5..2.0, 4),
    ) {
        let curve = |rate_unit: f64, time_unit: f64, speeds: &[f64]| -> Vec<TimesAtRate> {
            let of = |times: &Vec<f64>| {
                times.iter().zip(speeds).map(|(time, speed)| time * time_unit * speed).collect()
            };
            (1..)
                .zip(&times)
                .map(|(rate, times)| TimesAtRate { rate: f64::from(rate) * rate_unit, mean_times: of(times) })
                .collect()
        };
        let found = knee(&curve(1.0, 1.0, &[1.0; 4]), 0.95).unwrap();
        prop_assert!(found.first <= found.best && found.best <= found.last && found.last < times.len());
        prop_assert_eq!(knee(&curve(units.0, units.1, &speeds), 0.95), Some(found));
    }

    #[test]
    fn meeting_is_mutual_and_means_a_common_value(a in interval(), b in interval()) {
        prop_assert_eq!(overlaps(&a, &b), overlaps(&b, &a));
        // The ends are integers, so a common range includes an integer.
        let common = (-20..20).map(f64::from).any(|value| a.contains(value) && b.contains(value));
        prop_assert_eq!(overlaps(&a, &b), common);
    }
}
