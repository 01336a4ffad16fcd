//! The number of rounds that would decide undecided measures, and their duration.

use crate::numbers::duration;

/// Maximum number of rounds of a study.
pub(crate) const MOST: u32 = 1_000;

/// The number of rounds needed for a decision, if a study can have this many.
pub(crate) fn within_reach(needed: Option<u32>) -> Option<u32> {
    needed.filter(|rounds| *rounds <= MOST)
}

/// The time for the missing rounds, if each takes as long as the `measured` ones, which took `wall_seconds`.
pub(crate) fn time(needed: u32, measured: u32, wall_seconds: f64) -> String {
    let more_s = f64::from(needed.saturating_sub(measured)) * wall_seconds / f64::from(measured.max(1));
    duration(more_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_rounds_than_a_study_can_have_are_out_of_reach() {
        assert_eq!([None, Some(1_000), Some(1_001)].map(within_reach), [None, Some(1_000), None]);
    }

    #[test]
    fn the_missing_rounds_take_as_long_as_those_that_were_measured() {
        assert_eq!([4, 14, 1_000].map(|needed| time(needed, 4, 40.0)), ["0 s", "2 min", "2.8 h"]);
        assert_eq!(time(5, 0, 40.0), "3 min", "no round was measured");
    }
}
