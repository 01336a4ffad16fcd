//! How the studies of a bill share its budget: tries, both studies, and what comes between them are within it.

use std::time::{Duration, Instant};

/// Share of the time left that the first study gets if a second one may follow. The second has fewer arms, but as many slices of each:
/// with about as many rounds it decides about as well.
const FIRST_SHARE: f64 = 0.55;

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
