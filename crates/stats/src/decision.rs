//! Decision about two subjects: they differ, are equivalent, or have not been measured precisely enough to say.

use hoptax_result::{Decision, Interval};

use crate::chance::standard_error;
use crate::critical::two_sided_t;

/// Half-width of an interval, as a share of the margin, at which [`decide`] always decides.
pub const DECISIVE: f64 = 0.5;

/// Decides about a difference with the interval `difference`, which has `freedom` degrees of freedom. `confidence` is that of the
/// interval, and `margin` is the largest difference that does not matter, in the unit of the interval.
///
/// **Method.** *Equivalent* if two one-sided tests reject both that the difference is below `-margin` and that it is
/// above `margin`, each at the level `1 - confidence`. That is the case if the interval of confidence
/// `2 confidence - 1` lies within the margins: the 90 % interval for a confidence of 95 %. Otherwise *different* if
/// the interval itself excludes zero, and *undecided* if it does not. A difference that is certain but smaller than
/// the margin is equivalent.
///
/// An interval whose half-width is at most [`DECISIVE`] times the margin always decides: with an estimate within half of the margin, the
/// narrower interval ends before the margin; with a larger estimate, the interval excludes zero. A study may therefore measure until its
/// interval is that narrow. A wider interval also decides if its half-width is at most [`crate::OF_COST`] of its estimate, because the
/// estimate is then more than two margins. The rules look at the width, and hardly at the estimate, so stopping by them favours neither
/// decision (see [`crate::LOOK_CONFIDENCE`]).
///
/// **Error rates.** `tests/decision_errors.rs` simulates them, with a fixed number of rounds and with stopping. With
/// stopping, equal subjects are called different in 1 to 2 %, subjects that differ by the margin equivalent in at
/// most 5 %, and subjects that differ by one and a half margins different in more than 99 %. These rates hold for intervals that cover the
/// true difference as often as their confidence says.
///
/// **Source.** D. J. Schuirmann, "A Comparison of the Two One-Sided Tests Procedure and the Power Approach for
/// Assessing the Equivalence of Average Bioavailability", *Journal of Pharmacokinetics and Biopharmaceutics* 15(6),
/// 1987.
///
/// **Degenerate cases.** `None` without degrees of freedom, an interval without a width, a confidence that is not
/// between one half and one, or a margin that is not positive.
pub fn decide(difference: &Interval, freedom: f64, confidence: f64, margin: f64) -> Option<Decision> {
    if !(margin > 0.0 && margin.is_finite()) {
        return None;
    }
    let error = standard_error(difference, freedom, confidence)?;
    let reach = error * two_sided_t(freedom, 2.0 * confidence - 1.0)?;
    Some(if difference.estimate.abs() + reach <= margin {
        Decision::Equivalent
    } else if difference.low > 0.0 || difference.high < 0.0 {
        Decision::Different
    } else {
        Decision::Undecided
    })
}

/// Decides as [`decide`] does when only the interval of the difference is known, for example between two runs that share no rounds.
///
/// **Method.** *Equivalent* if the whole interval lies within the margins; otherwise *different* if it excludes zero, and *undecided* if it
/// does not. [`decide`] asks the narrower interval of two one-sided tests whether a difference is equivalent, which requires the degrees of
/// freedom. An interval that is symmetric around its estimate is wider than that one, so this function calls fewer differences equivalent,
/// and none that [`decide`] would not.
///
/// **Error rates.** `tests/decision_errors.rs` simulates pairs of runs with 3 to 100 rounds each: equal ones are called different in at
/// most 5.5 %, and those that differ by the margin equivalent in at most 3.5 %. These rates hold for intervals that cover the
/// true difference as often as their confidence says.
///
/// **Degenerate cases.** `None` for an interval without a width or with an end that is not finite, and for a margin that is not positive.
pub fn decide_by_interval(difference: &Interval, margin: f64) -> Option<Decision> {
    let Interval { low, high, .. } = *difference;
    let has_width = low.is_finite() && high.is_finite() && low < high;
    let has_margin = margin > 0.0 && margin.is_finite();
    if !(has_width && has_margin) {
        return None;
    }
    Some(if -margin <= low && high <= margin {
        Decision::Equivalent
    } else if low > 0.0 || high < 0.0 {
        Decision::Different
    } else {
        Decision::Undecided
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::sequential::OF_COST;

    #[test]
    fn decisions_are_those_of_the_two_tests() {
        // Student's t with 9 degrees of freedom: 2.262157 at 0.95, 1.833113 at 0.90.
        let narrower = 1.833_113 / 2.262_157;
        for (estimate, half_width, expected) in [
            (0.0, 1.0, Decision::Equivalent),
            (0.0, 2.0 / narrower - 1e-4, Decision::Equivalent),
            (0.0, 2.0 / narrower + 1e-4, Decision::Undecided),
            (1.5, 1.0, Decision::Different),
            (-1.5, 1.0, Decision::Different),
            (1.0, 0.9, Decision::Equivalent),
            (1.5, 1.6, Decision::Undecided),
            (3.0, 2.9, Decision::Different),
        ] {
            let decision = decide(&Interval::around(estimate, half_width), 9.0, 0.95, 2.0);
            assert_eq!(decision, Some(expected), "{estimate} +-{half_width}");
        }
    }

    #[test]
    fn a_normal_interval_is_decided_about_by_normal_tests() {
        // R: qnorm(0.95) / qnorm(0.975).
        let narrower = 1.644_854 / 1.959_964;
        let decided = |half_width: f64| decide(&Interval::around(0.0, half_width), f64::INFINITY, 0.95, 2.0);
        assert_eq!(decided(2.0 / narrower - 1e-4), Some(Decision::Equivalent));
        assert_eq!(decided(2.0 / narrower + 1e-4), Some(Decision::Undecided));
    }

    #[test]
    fn degenerate_input_decides_nothing() {
        assert_eq!(decide(&Interval::around(1.0, 0.5), 0.0, 0.95, 1.0), None);
        assert_eq!(decide(&Interval::around(1.0, 0.0), 9.0, 0.95, 1.0), None);
        assert_eq!(decide(&Interval::around(1.0, 0.5), 9.0, 0.4, 1.0), None);
        for margin in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(decide(&Interval::around(1.0, 0.5), 9.0, 0.95, margin), None, "{margin}");
        }
    }

    #[test]
    fn an_interval_alone_decides_by_its_ends() {
        let decided = |low, high| decide_by_interval(&Interval::new(0.0, low, high), 2.0);
        assert_eq!(decided(-2.0, 2.0), Some(Decision::Equivalent));
        assert_eq!(decided(0.5, 1.5), Some(Decision::Equivalent), "certain, and too small to matter");
        assert_eq!(decided(-2.1, 1.0), Some(Decision::Undecided));
        assert_eq!(decided(0.1, 2.1), Some(Decision::Different));
        assert_eq!(decided(-2.1, -0.1), Some(Decision::Different));
        for (low, high) in [(1.0, 1.0), (2.0, 1.0), (f64::NAN, 1.0), (1.0, f64::INFINITY)] {
            assert_eq!(decided(low, high), None, "{low} to {high}");
        }
        for margin in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(decide_by_interval(&Interval::around(1.0, 0.5), margin), None, "{margin}");
        }
    }

    proptest! {
        #[test]
        fn what_an_interval_alone_calls_equivalent_two_tests_do_too(
            estimate in -10.0..10.0_f64, width in 0.01..10.0_f64, margin in 0.01..15.0_f64, freedom in 1.0..200.0_f64,
        ) {
            let difference = Interval::around(estimate, width);
            let (alone, tested) = (decide_by_interval(&difference, margin), decide(&difference, freedom, 0.95, margin));
            prop_assert!(alone == tested || tested == Some(Decision::Equivalent), "{alone:?} {tested:?}");
        }

        #[test]
        fn a_decisive_interval_always_decides(
            estimate in -10.0..10.0_f64, width in 0.001..=1.0_f64, margin in 0.01..5.0_f64, freedom in 1.0..200.0_f64,
        ) {
            let narrow_enough = (DECISIVE * margin).max(OF_COST * estimate.abs());
            let difference = Interval::around(estimate, narrow_enough * width);
            for confidence in [0.95, 0.96] {
                let decision = decide(&difference, freedom, confidence, margin);
                prop_assert_ne!(decision, Some(Decision::Undecided));
                prop_assert!(decision.is_some());
            }
        }

        #[test]
        fn sign_and_unit_do_not_matter(
            estimate in -10.0..10.0_f64, half_width in 0.01..10.0_f64, margin in 0.01..5.0_f64, unit in 0.1..100.0_f64,
        ) {
            let decision = decide(&Interval::around(estimate, half_width), 7.0, 0.95, margin);
            prop_assert_eq!(decide(&Interval::around(-estimate, half_width), 7.0, 0.95, margin), decision);
            let scaled = decide(&Interval::around(unit * estimate, unit * half_width), 7.0, 0.95, unit * margin);
            prop_assert_eq!(scaled, decision);
        }
    }
}
