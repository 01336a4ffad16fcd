//! Sequential stopping: when the requested precision is reached, and how many rounds it needs.

use crate::critical::two_sided_t;

/// Confidence of the intervals that [`precise_enough`] evaluates and that are reported when the study stops.
///
/// **Why it is not 0.95.** A study that stops when its intervals are narrow stops more often where the spread of
/// rounds happens to be underestimated, and such intervals are too narrow. A nominal 95 % interval of a single cost
/// covers in 91 to 93 % when the study looks after every round, and in 91 to 95 % at the times of [`looks`]. One of
/// 96 % covers in 93 to 97 % at the time of stopping, for one cost and for twenty that stop together
/// (`tests/stopping_coverage.rs`), so it is reported as a 95 % interval. A study with a fixed number of rounds uses
/// 0.95.
pub const LOOK_CONFIDENCE: f64 = 0.96;

/// Half-width of an interval, as a share of its estimate, at which a study that only has to decide may stop, however wide the interval is
/// otherwise. Such a cost is large compared with any limit for which its interval is still too wide.
///
/// **Source.** The rule of A. Nádas, "An Extension of a Theorem of Chow and Robbins on Sequential Confidence Intervals for the Mean",
/// *Annals of Mathematical Statistics* 40(2), 1969: an interval whose width is in proportion to the mean. It looks at the estimate, but an
/// estimate five half-widths from zero hardly favours large ones (`tests/limit_errors.rs`, `tests/decision_errors.rs`).
pub const OF_COST: f64 = 0.2;

/// Rounds before the first look. With fewer, the spread of rounds is a guess.
pub(crate) const FIRST_LOOK: u32 = 8;

/// Rounds until the next look, as a share of those measured.
const GROWTH: f64 = 0.25;

/// Share of the costs that must be precise enough.
const NEARLY_ALL: f64 = 0.95;

/// Round counts above this exceed any budget.
const OUT_OF_REACH: u32 = 1_000_000;

/// The numbers of rounds after which a study checks whether its costs are precise enough, ascending. The last is the
/// end of its budget.
///
/// **Method.** The first look is after `first` rounds, or after eight if `first` is less; each following one after a
/// quarter more rounds than the one before; the last after `last` rounds.
///
/// **Source.** Checking the interval until it is narrow is the rule of Y. S. Chow and H. Robbins, "On the Asymptotic Theory of Fixed-Width
/// Sequential Confidence Intervals for the Mean", *Annals of Mathematical Statistics* 36(2), 1965. It keeps its confidence in the limit of
/// an infinitely narrow target, and loses some confidence with few rounds and many looks. P. Hall, "Asymptotic Theory of Triple Sampling
/// for Sequential Estimation of a Mean", *Annals of Statistics* 9(6), 1981, shows that a few looks, each at a multiple of the rounds
/// before, lose almost nothing of what looking after each round saves.
///
/// **Why a quarter.** A rule that looks after each round stops up to a quarter sooner, and covers up to one
/// percentage point less.
///
/// **Degenerate cases.** When the budget ends before the first look, its end is the only one. Empty when `last` is
/// zero.
pub fn looks(first: u32, last: u32) -> Vec<u32> {
    let next = |rounds: &u32| Some(rounds.saturating_add((f64::from(*rounds) * GROWTH).ceil() as u32));
    let before_last =
        std::iter::successors(Some(first.max(FIRST_LOOK)), next).take_while(|rounds| *rounds < last);
    before_last.chain((last > 0).then_some(last)).collect()
}

/// Returns true if a study may stop: nearly all of its costs, 95 of 100, have an interval whose half-width is at most `target`, in the
/// unit of `half_widths`. The intervals have [`LOOK_CONFIDENCE`], and the rule is evaluated at one of [`looks`].
///
/// **Why not all.** The cost of a function with two modes from start to start may need ten times as many rounds as
/// all others. Up to 19 costs, all of them must be precise enough.
///
/// **Degenerate cases.** `false` without a cost. A NaN half-width is not precise enough.
pub fn precise_enough(half_widths: &[f64], target: f64) -> bool {
    let reached = half_widths.iter().filter(|half_width| **half_width <= target).count();
    reached > 0 && reached as f64 >= NEARLY_ALL * half_widths.len() as f64
}

/// Scales the half-width of a cost so that one comparison with `target` applies two rules: the result is at most `target` exactly if
/// `half_width` is at most `target`, or at most the share `of_cost` of `cost`. All are in one unit. With 0 for `of_cost`, the result is
/// `half_width`.
pub fn scaled_half_width(half_width: f64, cost: f64, target: f64, of_cost: f64) -> f64 {
    let wider = of_cost * cost.abs() / target;
    if wider > 1.0 { half_width / wider } else { half_width }
}

/// The expected half-width after `rounds` rounds, given `half_width` after `measured` rounds.
///
/// **Method.** A half-width is proportional to Student's `t`, with one degree of freedom less than there are rounds,
/// divided by the square root of the number of rounds. The spread of rounds is assumed to stay the same. With eight
/// rounds it is known to about a quarter, and so is the result.
///
/// **Degenerate cases.** `None` with fewer than two rounds, measured or planned, and when `half_width` is negative or
/// not finite.
pub fn half_width_after(half_width: f64, measured: u32, rounds: u32) -> Option<f64> {
    let factor = |rounds: u32| {
        let freedom = f64::from(rounds.checked_sub(1)?);
        Some(two_sided_t(freedom, LOOK_CONFIDENCE)? / f64::from(rounds).sqrt())
    };
    let is_sound = half_width >= 0.0 && half_width.is_finite();
    Some(half_width * factor(rounds)? / factor(measured)?).filter(|_| is_sound)
}

/// The expected total number of rounds until a cost's half-width is at most `target`, given `half_width` after
/// `measured` rounds. Less than `measured` if it is narrow enough already.
///
/// **Method.** The smallest number of rounds at which [`half_width_after`] is at most `target`, by bisection.
///
/// **Degenerate cases.** `None` where [`half_width_after`] is, when `target` is not positive, and when a million
/// rounds are not enough.
pub fn rounds_needed(half_width: f64, measured: u32, target: f64) -> Option<u32> {
    let is_enough =
        |rounds| half_width_after(half_width, measured, rounds).map(|expected| expected <= target);
    if !(target > 0.0 && is_enough(OUT_OF_REACH)?) {
        return None;
    }
    // One round has no interval. From two rounds on, the expected half-width decreases.
    let (mut too_few, mut enough) = (1, OUT_OF_REACH);
    while enough - too_few > 1 {
        let middle = u32::midpoint(too_few, enough);
        if is_enough(middle)? { enough = middle } else { too_few = middle }
    }
    Some(enough)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_grow_by_a_quarter_and_end_with_the_budget() {
        assert_eq!(looks(8, 40), [8, 10, 13, 17, 22, 28, 35, 40]);
        assert_eq!(looks(2, 10), [8, 10]);
        assert_eq!(looks(20, 40), [20, 25, 32, 40]);
    }

    #[test]
    fn a_budget_that_ends_before_the_first_look_has_one() {
        assert_eq!(looks(8, 8), [8]);
        assert_eq!(looks(8, 3), [3]);
        assert_eq!(looks(8, 0), [0_u32; 0]);
        assert_eq!(looks(u32::MAX - 1, u32::MAX), [u32::MAX - 1, u32::MAX]);
    }

    #[test]
    fn a_large_cost_is_precise_enough_as_a_share_of_itself() {
        for (half_width, cost, expected) in [
            (0.02, 0.0, 0.02),
            (0.02, 0.05, 0.02),
            // A fifth of 0.1 is 0.02, which is narrow enough.
            (0.02, 0.1, 0.01),
            (0.02, -0.1, 0.01),
            (8.0, 40.0, 0.01),
            (8.8, 40.0, 0.011),
        ] {
            let scaled = scaled_half_width(half_width, cost, 0.01, 0.2);
            assert!((scaled - expected).abs() < 1e-12, "{half_width} {cost}: {scaled}");
        }
        for target in [0.01, 0.0] {
            assert!((scaled_half_width(8.0, 40.0, target, 0.0) - 8.0).abs() < 1e-12, "{target}");
        }
    }

    #[test]
    fn nearly_all_is_all_of_few_and_all_but_one_of_twenty() {
        assert!(precise_enough(&[1.0; 19], 1.0));
        let mut costs = vec![1.0; 18];
        costs.push(2.0);
        assert!(!precise_enough(&costs, 1.0));
        costs.push(1.0);
        assert!(precise_enough(&costs, 1.0));
        costs[0] = f64::NAN;
        assert!(!precise_enough(&costs, 1.0));
        assert!(!precise_enough(&[], 1.0));
    }

    #[test]
    fn half_widths_shrink_as_worked_by_hand() {
        // Student's t at 0.98: 2.398441 with 9 degrees of freedom, 2.124742 with 39.
        let expected = 3.0 * (2.124_742 / 40_f64.sqrt()) / (2.398_441 / 10_f64.sqrt());
        assert!((half_width_after(3.0, 10, 40).unwrap() - expected).abs() < 1e-5);
        assert!((half_width_after(3.0, 10, 10).unwrap() - 3.0).abs() < 1e-12);
    }

    #[test]
    fn the_rounds_needed_are_the_fewest_that_reach_the_target() {
        let needed = rounds_needed(3.0, 10, 1.0).unwrap();
        assert!(half_width_after(3.0, 10, needed).unwrap() <= 1.0);
        assert!(half_width_after(3.0, 10, needed - 1).unwrap() > 1.0);
        assert!(rounds_needed(1.0, 20, 3.0).unwrap() < 20);
        assert_eq!(rounds_needed(0.0, 20, 1.0), Some(2));
    }

    #[test]
    fn unreachable_precision_is_not_forecast() {
        for (half_width, measured, target) in [
            (1.0, 10, 0.0),
            (1.0, 10, 1e-6),
            (1.0, 1, 0.5),
            (1.0, 0, 0.5),
            (f64::NAN, 10, 0.5),
            (-1.0, 10, 0.5),
        ] {
            assert_eq!(rounds_needed(half_width, measured, target), None, "{half_width} {measured} {target}");
        }
    }
}
