//! How the studies of a bill share its budget: tries, both studies, and what comes between them are within it.

use std::time::{Duration, Instant};

use super::variants::study_file::{FEWEST_BLOCKS, MOST_BLOCKS, SLICE};
use crate::estimate::{PROXY_S, SLICE_OVERHEAD_S};

/// Share of the time left that the first study gets if a second one may follow. The second has fewer arms, but as many slices of each:
/// with about as many rounds it decides about as well.
const FIRST_SHARE: f64 = 0.55;

/// Rounds that a budget is to have time for. The variation between restarts is estimated from rounds: with as many slices in all, an
/// interval of two rounds is four times as wide as one of four (Student's t: 12.7 and 3.2), and nearly three times where variances
/// are moderated, which narrows the former to 0.6 of that and the latter to 0.9 (`stats::moderated`).
const ROUNDS: f64 = 4.0;
/// Share of the budget that rounds get: the first also measures capacities.
const OF_ROUNDS: f64 = 0.8;

/// Slices of each of `arms` arms per round, so that a study of this length has enough rounds.
pub(super) fn blocks(length: Duration, arms: usize) -> u32 {
    let round_s = length.as_secs_f64() * OF_ROUNDS / ROUNDS;
    let slices_s = round_s / arms as f64 - PROXY_S;
    let blocks = slices_s / (SLICE.as_secs_f64() + SLICE_OVERHEAD_S);
    (blocks as u32).clamp(FEWEST_BLOCKS, MOST_BLOCKS)
}

/// The time that the first study takes.
pub(super) fn of_first(ends: Instant, now: Instant, may_have_second: bool) -> Duration {
    let left = ends.saturating_duration_since(now);
    if may_have_second { left.mul_f64(FIRST_SHARE) } else { left }
}

/// Whether the time left suffices for `more` rounds, after a study of `rounds` rounds that began at `began`.
pub(super) fn suffices(ends: Instant, began: Instant, now: Instant, rounds: u32, more: u32) -> bool {
    let of_round = now.saturating_duration_since(began) / rounds.max(1);
    ends.saturating_duration_since(now) >= of_round * more
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_studies_share_the_time_and_one_alone_has_all() {
        let now = Instant::now();
        let ends = now + Duration::from_mins(1);
        assert_eq!(of_first(ends, now, false), Duration::from_mins(1));
        assert_eq!(of_first(ends, now, true), Duration::from_secs(33));
        assert_eq!(of_first(now, ends, true), Duration::ZERO);
    }

    #[test]
    fn a_short_budget_has_shorter_rounds() {
        let of = |seconds, arms| blocks(Duration::from_secs(seconds), arms);
        // 14 arms: 2.9 s to start, and 0.83 s for each slice of all.
        assert_eq!(of(33, 14), FEWEST_BLOCKS);
        assert_eq!(of(45, 14), 7);
        assert_eq!(of(120, 14), MOST_BLOCKS);
        assert_eq!(of(33, 5), MOST_BLOCKS);
        assert_eq!(of(0, 100), FEWEST_BLOCKS);
    }

    #[test]
    fn more_rounds_need_the_time_that_as_many_took() {
        let began = Instant::now();
        // Four rounds took 32 s.
        let now = began + Duration::from_secs(32);
        let are_possible = |left_s, more| suffices(now + Duration::from_secs(left_s), began, now, 4, more);
        assert!(are_possible(16, 2) && !are_possible(15, 2));
        assert!(are_possible(8, 1) && !are_possible(7, 1));
        assert!(!suffices(began, began, now, 4, 1));
    }
}
