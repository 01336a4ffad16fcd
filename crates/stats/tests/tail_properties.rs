//! Properties that hold for any input of the quantiles over rounds, the shares of slow responses, the sittings
//! and the stopping rule.

use hoptax_result::CountedTime;
use hoptax_stats::{
    RoundTimes, Sitting, half_width_after, looks, precise_enough, quantile_cost, quantile_level,
    quantile_share, random_effects, rounds_needed, share_cost, slow_share,
};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

type Times = Vec<CountedTime>;

/// The times of one side of a round: at least 200 responses.
fn times() -> impl Strategy<Value = Times> {
    btree_map(1_000..100_000_u64, 1..500_u64, 1..12).prop_map(|counts| {
        let mut times: Times = counts.into_iter().map(|(ns, count)| CountedTime { ns, count }).collect();
        times[0].count += 200;
        times
    })
}

/// At least as many rounds of a study, of arm and other.
fn study(least_rounds: usize) -> impl Strategy<Value = Vec<(Times, Times)>> {
    vec((times(), times()), least_rounds..8)
}

fn rounds(study: &[(Times, Times)]) -> Vec<RoundTimes<'_>> {
    study.iter().map(|(arm, other)| RoundTimes { arm, other }).collect()
}

fn swapped(study: &[(Times, Times)]) -> Vec<RoundTimes<'_>> {
    study.iter().map(|(arm, other)| RoundTimes { arm: other, other: arm }).collect()
}

fn sittings() -> impl Strategy<Value = Vec<Sitting>> {
    let sitting = (-1e3..1e3_f64, 1e-3..1e2_f64)
        .prop_map(|(estimate, standard_error)| Sitting { estimate, standard_error });
    vec(sitting, 2..7)
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * (1.0 + a.abs().max(b.abs()))
}

proptest! {
    #[test]
    fn a_side_compared_with_itself_costs_nothing(study in study(3)) {
        let same: Vec<RoundTimes> = study.iter().map(|(arm, _)| RoundTimes { arm, other: arm }).collect();
        let cost = quantile_cost(&same, 0.5, 0.95).unwrap();
        prop_assert_eq!((cost.estimate, cost.low, cost.high), (0.0, 0.0, 0.0));
    }

    #[test]
    fn swapping_the_sides_turns_the_cost_around(study in study(2), threshold_ns in 1_000..100_000_u64) {
        let (cost, turned) =
            (quantile_cost(&rounds(&study), 0.5, 0.95), quantile_cost(&swapped(&study), 0.5, 0.95));
        prop_assert_eq!([cost.is_some(), turned.is_some()], [study.len() >= 3; 2]);
        if let (Some(cost), Some(turned)) = (cost, turned) {
            prop_assert!(near(cost.estimate, -turned.estimate) && near(cost.low, -turned.high));
        }
        let (share, turned) =
            (share_cost(&rounds(&study), threshold_ns, 0.95), share_cost(&swapped(&study), threshold_ns, 0.95));
        prop_assert_eq!(share.is_some(), turned.is_some());
        if let (Some(share), Some(turned)) = (share, turned) {
            prop_assert!(near(share.estimate, -turned.estimate) && near(share.low, -turned.high));
        }
    }

    #[test]
    fn the_cost_is_the_difference_of_the_levels(study in study(3)) {
        let arm: Vec<&[CountedTime]> = study.iter().map(|(arm, _)| arm.as_slice()).collect();
        let other: Vec<&[CountedTime]> = study.iter().map(|(_, other)| other.as_slice()).collect();
        let level = |side| quantile_level(side, 0.5, 0.95).unwrap().estimate;
        let cost = quantile_cost(&rounds(&study), 0.5, 0.95).unwrap();
        prop_assert!(near(cost.estimate, level(&arm) - level(&other)));
    }

    #[test]
    fn the_share_is_the_cost_of_the_level_of_the_other_side_in_any_unit(study in study(3), unit in 2..5_u64) {
        let other: Vec<&[CountedTime]> = study.iter().map(|(_, other)| other.as_slice()).collect();
        let level = quantile_level(&other, 0.5, 0.95).unwrap().estimate;
        let cost = quantile_cost(&rounds(&study), 0.5, 0.95).unwrap();
        let share = quantile_share(&rounds(&study), 0.5, 0.95).unwrap();
        prop_assert!(near(share.estimate, cost.estimate / level));
        let in_unit = |times: &Times| -> Times {
            times.iter().map(|time| CountedTime { ns: unit * time.ns, ..*time }).collect()
        };
        let scaled: Vec<(Times, Times)> =
            study.iter().map(|(arm, other)| (in_unit(arm), in_unit(other))).collect();
        let again = quantile_share(&rounds(&scaled), 0.5, 0.95).unwrap();
        prop_assert!(near(share.low, again.low) && near(share.high, again.high), "{share:?} {again:?}");
    }

    #[test]
    fn levels_lie_within_what_was_recorded_and_rise_with_the_quantile(study in study(2)) {
        let arm: Vec<&[CountedTime]> = study.iter().map(|(arm, _)| arm.as_slice()).collect();
        let all = || study.iter().flat_map(|(arm, _)| arm).map(|time| time.ns as f64);
        let (smallest, largest) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
        let mut before = smallest;
        for p in [0.3, 0.5, 0.6] {
            let Some(level) = quantile_level(&arm, p, 0.95) else { continue };
            prop_assert!(before <= level.estimate && level.estimate <= largest, "{} {:?}", p, level);
            before = level.estimate;
        }
    }

    #[test]
    fn more_of_the_same_responses_change_nothing(study in study(3), times in 2..50_u64) {
        let more: Vec<(Times, Times)> = study
            .iter()
            .map(|(arm, other)| {
                (arm.iter().map(|time| CountedTime { count: time.count * times, ..*time }).collect(), other.clone())
            })
            .collect();
        let (cost, other) =
            (quantile_cost(&rounds(&study), 0.5, 0.95).unwrap(), quantile_cost(&rounds(&more), 0.5, 0.95).unwrap());
        prop_assert!((cost.estimate - other.estimate).abs() < 1e-3 && (cost.low - other.low).abs() < 1e-1);
    }

    #[test]
    fn the_order_of_rounds_does_not_matter(study in study(3)) {
        let mut turned = rounds(&study);
        turned.reverse();
        let (cost, other) =
            (quantile_cost(&rounds(&study), 0.5, 0.95).unwrap(), quantile_cost(&turned, 0.5, 0.95).unwrap());
        prop_assert!((cost.estimate - other.estimate).abs() < 1e-3 && (cost.low - other.low).abs() < 1e-1);
    }

    #[test]
    fn a_share_is_a_share_and_falls_with_the_threshold(times in times(), a in 0..110_000_u64, b in 0..110_000_u64) {
        let (low, high) = (a.min(b), a.max(b));
        let (more, fewer) = (slow_share(&times, low).unwrap(), slow_share(&times, high).unwrap());
        prop_assert!(0.0 <= fewer && fewer <= more && more <= 1.0);
    }

    #[test]
    fn a_machines_cost_lies_among_its_sittings(sittings in sittings()) {
        let found = random_effects(&sittings, 0.95).unwrap();
        let estimates = || sittings.iter().map(|one| one.estimate);
        let (smallest, largest) =
            (estimates().fold(f64::INFINITY, f64::min), estimates().fold(f64::NEG_INFINITY, f64::max));
        prop_assert!(smallest - 1e-9 <= found.cost.estimate && found.cost.estimate <= largest + 1e-9);
        prop_assert!(found.between_sittings >= 0.0 && found.between_sittings <= largest - smallest);
        prop_assert!(found.another_sitting.half_width() >= found.cost.half_width());
    }

    #[test]
    fn no_standard_error_of_a_sitting_moves_the_cost(sittings in sittings(), of_first in 0.0..1e2_f64) {
        let mut others = sittings.clone();
        others[0].standard_error = of_first;
        let cost = |sittings: &[Sitting]| random_effects(sittings, 0.95).unwrap().cost.estimate;
        let mean = sittings.iter().map(|one| one.estimate).sum::<f64>() / sittings.len() as f64;
        prop_assert!(near(cost(&sittings), mean) && near(cost(&others), mean));
    }

    #[test]
    fn a_machines_interval_is_never_narrower_than_if_sittings_were_alike(sittings in sittings()) {
        let found = random_effects(&sittings, 0.95).unwrap();
        let squares: f64 = sittings.iter().map(|one| one.standard_error.powi(2)).sum();
        prop_assert!(found.cost.half_width() >= 1.959_963 * squares.sqrt() / sittings.len() as f64);
    }

    #[test]
    fn sittings_move_and_scale_with_their_unit(sittings in sittings(), shift in -1e3..1e3_f64, scale in 0.1..10.0_f64) {
        let plain = random_effects(&sittings, 0.95).unwrap();
        let moved: Vec<Sitting> = sittings
            .iter()
            .map(|one| Sitting {
                estimate: one.estimate * scale + shift,
                standard_error: one.standard_error * scale,
            })
            .collect();
        let moved = random_effects(&moved, 0.95).unwrap();
        let tolerance = 1e-3 * (1.0 + plain.cost.half_width() * scale);
        prop_assert!((moved.cost.low - (plain.cost.low * scale + shift)).abs() < tolerance);
        prop_assert!((moved.another_sitting.high - (plain.another_sitting.high * scale + shift)).abs() < tolerance);
    }

    #[test]
    fn looks_rise_to_the_end_of_the_budget(first in 0..500_u32, last in 1..5_000_u32) {
        let looks = looks(first, last);
        prop_assert!(looks.windows(2).all(|pair| pair[0] < pair[1]));
        prop_assert_eq!(looks.last(), Some(&last));
    }

    #[test]
    fn a_narrower_target_takes_more_rounds(
        half_width in 0.1..2.0_f64, measured in 2..200_u32, target in 0.2..5.0_f64, narrower in 0.3..1.0_f64,
    ) {
        let rounds = |target| rounds_needed(half_width, measured, target).unwrap();
        prop_assert!(rounds(target * narrower) >= rounds(target));
        prop_assert!(half_width_after(half_width, measured, rounds(target)).unwrap() <= target);
    }

    #[test]
    fn precise_costs_stay_precise_for_a_wider_target(
        half_widths in vec(0.1..10.0_f64, 1..40), target in 0.1..10.0_f64, wider in 0.0..5.0_f64,
    ) {
        prop_assert!(!precise_enough(&half_widths, target) || precise_enough(&half_widths, target + wider));
    }
}
