//! The number of further rounds that would decide undecided measures, and their duration.

use crate::numbers::grouped;

/// Most rounds that a study can be asked to have.
pub(crate) const MOST: u32 = 1_000;

/// Durations from which minutes and hours are shown, s.
const MINUTES_FROM_S: f64 = 180.0;
const HOURS_FROM_S: f64 = 10_800.0;

/// The rounds that decide, if a study can have as many.
pub(crate) fn within_reach(needed: Option<u32>) -> Option<u32> {
    needed.filter(|rounds| *rounds <= MOST)
}

/// The time that the missing rounds take, if each takes as long as those that were measured in `wall_seconds`.
pub(crate) fn time(needed: u32, measured: u32, wall_seconds: f64) -> String {
    let more_s = f64::from(needed.saturating_sub(measured)) * wall_seconds / f64::from(measured.max(1));
    if more_s < MINUTES_FROM_S {
        format!("{} s", grouped(more_s, 0))
    } else if more_s < HOURS_FROM_S {
        format!("{} min", grouped(more_s / 60.0, 0))
    } else {
        format!("{} h", grouped(more_s / 3600.0, 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_rounds_than_a_study_can_have_are_out_of_reach() {
        assert_eq!([None, Some(1_000), Some(1_001)].map(within_reach), [None, Some(1_000), None]);
    }

    #[test]
    fn a_time_is_in_the_unit_that_reads_best() {
        let times = [4, 14, 14, 1_000].map(|needed| time(needed, 4, if needed == 14 { 60.0 } else { 40.0 }));
        assert_eq!(times, ["0 s", "150 s", "150 s", "166 min"]);
        assert_eq!(time(1_000, 10, 130.0), "3.6 h");
    }
}
