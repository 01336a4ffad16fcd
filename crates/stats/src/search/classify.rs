//! Whether the trials at one load make it a lower bound or an upper bound, by the rules of MLRsearch (RFC 9971).

use std::time::Duration;

use crate::search::goal::Level;

/// What the trials at a load say about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// The subject holds this load, whatever the missing trials would say.
    Lower,
    /// It does not, whatever the missing trials would say.
    Upper,
    /// Missing trials decide.
    Undecided,
}

/// A trial at one load, for one goal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Vote {
    pub(crate) duration: Duration,
    pub(crate) holds: bool,
    pub(crate) loss_ratio: f64,
}

/// Total durations of trials, by length and outcome. Durations are integers, so sums do not depend on the order.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    full_low: Duration,
    full_high: Duration,
    short_low: Duration,
    short_high: Duration,
}

/// The class of a load on a level.
///
/// Short trials can only speak against a load: those that fail count as far as they exceed the share of failures that the
/// short trials that hold permit. This keeps a load from being accepted because a short trial ended before a queue could grow.
pub(crate) fn classify<'a>(votes: impl IntoIterator<Item = &'a Vote>, level: &Level) -> Class {
    let mut sums = Sums::default();
    for vote in votes {
        let is_full = vote.duration >= level.trial;
        let sum = match (is_full, vote.holds) {
            (true, true) => &mut sums.full_low,
            (true, false) => &mut sums.full_high,
            (false, true) => &mut sums.short_low,
            (false, false) => &mut sums.short_high,
        };
        *sum += vote.duration;
    }
    let ratio = level.exceed_ratio;
    let permitted = sums.short_low.as_secs_f64() * ratio / (1.0 - ratio);
    let excess = (sums.short_high.as_secs_f64() - permitted).max(0.0);
    let low = sums.full_low.as_secs_f64();
    let high = sums.full_high.as_secs_f64() + excess;
    // With nothing missing, the two comparisons are exact opposites, so a complete sum always decides.
    let missing = (level.duration_sum.as_secs_f64() - low - high).max(0.0);
    let whole = low + high + missing;
    if high + missing <= whole * ratio {
        Class::Lower
    } else if high > whole * ratio {
        Class::Upper
    } else {
        Class::Undecided
    }
}

/// The loss ratio that the full trials at a load stay below for all but the exceed ratio of their duration. Missing
/// trials count as lost.
pub(crate) fn conditional_loss<'a>(votes: impl IntoIterator<Item = &'a Vote>, level: &Level) -> f64 {
    let mut full: Vec<&Vote> = votes.into_iter().filter(|vote| vote.duration >= level.trial).collect();
    full.sort_by(|one, other| one.loss_ratio.total_cmp(&other.loss_ratio));
    let sum: Duration = full.iter().map(|vote| vote.duration).sum();
    let mut left = sum.max(level.duration_sum).as_secs_f64() * (1.0 - level.exceed_ratio);
    for vote in full {
        left -= vote.duration.as_secs_f64();
        if left <= 1e-9 {
            return vote.loss_ratio;
        }
    }
    1.0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LEVEL: Level = Level {
        trial: Duration::from_secs(1),
        duration_sum: Duration::from_secs(5),
        exceed_ratio: 0.5,
        width_rungs: 8,
    };

    fn votes(full_low: u64, full_high: u64, short_low: u64, short_high: u64) -> Vec<Vote> {
        let vote = |millis, holds| Vote {
            duration: Duration::from_millis(millis),
            holds,
            loss_ratio: if holds { 0.0 } else { 0.5 },
        };
        [
            vec![vote(1_000, true); full_low as usize],
            vec![vote(1_000, false); full_high as usize],
            vec![vote(500, true); short_low as usize],
            vec![vote(500, false); short_high as usize],
        ]
        .concat()
    }

    fn class(full_low: u64, full_high: u64, short_low: u64, short_high: u64) -> Class {
        classify(&votes(full_low, full_high, short_low, short_high), &LEVEL)
    }

    #[test]
    fn a_majority_of_the_duration_sum_decides_before_the_rest_is_measured() {
        assert_eq!(class(2, 0, 0, 0), Class::Undecided);
        assert_eq!(class(3, 0, 0, 0), Class::Lower);
        assert_eq!(class(0, 3, 0, 0), Class::Upper);
        assert_eq!(class(2, 2, 0, 0), Class::Undecided);
        assert_eq!(class(3, 2, 0, 0), Class::Lower);
        // Half of the time may fail, and not more.
        assert_eq!((class(4, 4, 0, 0), class(4, 5, 0, 0)), (Class::Lower, Class::Upper));
    }

    #[test]
    fn short_trials_speak_only_against_a_load() {
        assert_eq!(class(0, 0, 100, 0), Class::Undecided);
        assert_eq!(class(0, 0, 0, 6), Class::Upper);
        assert_eq!(class(0, 0, 6, 6), Class::Undecided, "as many hold as fail");
        assert_eq!(class(3, 0, 0, 6), Class::Lower, "3 s of 6 s hold");
        assert_eq!(class(3, 0, 0, 7), Class::Upper);
    }

    #[test]
    fn without_an_exceed_ratio_one_failed_trial_decides() {
        let level = Level { exceed_ratio: 0.0, ..LEVEL };
        assert_eq!(classify(&votes(100, 1, 0, 0), &level), Class::Upper);
        assert_eq!(classify(&votes(100, 0, 50, 1), &level), Class::Upper);
        assert_eq!(classify(&votes(5, 0, 0, 0), &level), Class::Lower);
        assert_eq!(classify(&votes(4, 0, 0, 0), &level), Class::Undecided);
    }

    #[test]
    fn the_conditional_loss_is_that_of_the_worst_trial_that_is_needed() {
        let mut three = votes(3, 0, 0, 0);
        for (vote, loss_ratio) in three.iter_mut().zip([0.02, 0.0, 0.01]) {
            vote.loss_ratio = loss_ratio;
        }
        // 2.5 s of the 5 s are needed: the third trial in ascending order.
        let is = |votes: &[Vote], expected: f64| (conditional_loss(votes, &LEVEL) - expected).abs() < 1e-12;
        assert!(is(&three, 0.02));
        assert!(is(&three[..2], 1.0), "missing trials count as lost");
        assert!(is(&votes(5, 0, 0, 9), 0.0), "short trials do not count");
    }

    proptest! {
        #[test]
        fn a_lower_bound_never_has_more_failures_than_successes(
            full_low in 0_u64..30, full_high in 0_u64..30, short_low in 0_u64..30, short_high in 0_u64..30,
            ratio in 0.0_f64..=0.5,
        ) {
            let level = Level { exceed_ratio: ratio, ..LEVEL };
            if classify(&votes(full_low, full_high, short_low, short_high), &level) == Class::Lower {
                prop_assert!(full_high <= full_low);
                prop_assert!(2 * full_high + short_high <= 2 * full_low + short_low);
            }
        }

        #[test]
        fn one_more_trial_that_holds_never_makes_an_upper_bound_of_a_lower_one(
            full_low in 0_u64..30, full_high in 0_u64..30, short_low in 0_u64..30, short_high in 0_u64..30,
            ratio in 0.0_f64..0.9,
        ) {
            let level = Level { exceed_ratio: ratio, ..LEVEL };
            let class = |low, high| classify(&votes(low, high, short_low, short_high), &level);
            match class(full_low, full_high) {
                Class::Lower => prop_assert_eq!(class(full_low + 1, full_high), Class::Lower),
                Class::Upper => prop_assert_eq!(class(full_low, full_high + 1), Class::Upper),
                Class::Undecided => {}
            }
        }

        #[test]
        fn a_complete_duration_sum_always_decides(
            full_low in 0_u64..10, short in 0_u64..10, ratio in 0.0_f64..0.9,
        ) {
            let level = Level { exceed_ratio: ratio, ..LEVEL };
            let full_high = 5_u64.saturating_sub(full_low);
            prop_assert_ne!(classify(&votes(full_low, full_high, short, short), &level), Class::Undecided);
        }
    }
}
