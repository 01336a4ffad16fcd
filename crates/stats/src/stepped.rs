//! The mean of a time that is observed in steps, with an interval over rounds.

use hoptax_result::Interval;

use crate::mean_over_rounds;

/// Upper limit, at 95 %, of the probability of an event that did not happen in `n` independent rounds, times `n`: `-ln 0.05`.
const MISSED: f64 = 3.0;

/// The mean over rounds with its `confidence` interval, for values that are multiples of `step`, in the same unit.
///
/// **Method.** [`mean_over_rounds`], with a half-width of at least `3 step / n` for `n` rounds.
///
/// **Why.** If all rounds took the same step, Student's interval has no width. A round in which the value is another step may
/// still have a probability of up to `3 / n` (the rule of three: J. A. Hanley and A. Lippman-Hand, "If nothing goes wrong, is
/// everything all right?", JAMA 249, 1983, 1743-1745), and then the mean is that far away. `tests/timeline_coverage.rs`
/// simulates it.
///
/// **Degenerate cases.** As for [`mean_over_rounds`].
pub fn mean_of_steps(rounds: &[f64], step: f64, confidence: f64) -> Option<Interval> {
    let Interval { estimate, low, high, .. } = mean_over_rounds(rounds, confidence)?;
    let least = MISSED * step / rounds.len() as f64;
    Some(Interval::new(estimate, low.min(estimate - least), high.max(estimate + least)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_that_agree_leave_room_for_a_step() {
        let interval = mean_of_steps(&[4.0; 6], 1.0, 0.95).unwrap();
        assert_eq!(interval, Interval::new(4.0, 3.5, 4.5));
    }

    #[test]
    fn rounds_that_differ_have_students_interval() {
        let rounds = [2.0, 8.0, 5.0, 11.0];
        assert_eq!(mean_of_steps(&rounds, 0.1, 0.95), mean_over_rounds(&rounds, 0.95));
        assert_eq!(mean_of_steps(&[1.0], 0.1, 0.95), None);
    }
}
