//! What a search looks for, and the levels of increasing certainty on which it gets there.

use std::time::Duration;

/// Number of levels before the final one.
const PRECEDING_LEVELS: u32 = 2;

/// A goal of a search: how much evidence makes a load a bound, and how close the two bounds must be.
///
/// The goal loss ratio of RFC 9971 is not part of it: an objective of HTTP is more than a share of lost packets, so the caller
/// states whether a trial holds it ([`crate::search::Outcome`]).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goal {
    /// Duration of a full trial. Shorter trials count less.
    pub final_trial: Duration,
    /// Duration of the first and shortest trials.
    pub first_trial: Duration,
    /// Total duration of the trials that decide about a load.
    pub duration_sum: Duration,
    /// Share of that duration for which trials may fail at a load that still is a lower bound, at least 0 and below 1.
    pub exceed_ratio: f64,
    /// Difference between the bounds at the end, as a share of the upper bound, above 0 and below 1.
    pub width: f64,
}

impl Goal {
    /// A result within 2 % from trials of one second; it holds while fewer than one in five trials is spoilt.
    pub const QUICK: Self = Self {
        final_trial: Duration::from_secs(1),
        first_trial: Duration::from_secs(1),
        duration_sum: Duration::from_secs(11),
        exceed_ratio: 0.5,
        width: 0.02,
    };

    /// A result within 1 % from more and longer trials; it holds while three in ten of them are spoilt.
    ///
    /// Forty-one trials keep the majority from being a matter of luck. Spoilt trials count against loads near the limit
    /// together with trials that fail by their own variation; trials of eight seconds vary little enough.
    pub const CAREFUL: Self = Self {
        final_trial: Duration::from_secs(8),
        first_trial: Duration::from_secs(8),
        duration_sum: Duration::from_secs(328),
        exceed_ratio: 0.5,
        width: 0.01,
    };

    /// Throughput as RFC 2544 defines it: a single trial of 60 s decides, and a load with a failed trial is too high.
    pub const RFC2544: Self = Self {
        final_trial: Duration::from_mins(1),
        first_trial: Duration::from_secs(1),
        duration_sum: Duration::from_mins(1),
        exceed_ratio: 0.0,
        width: 0.01,
    };

    /// What is wrong with the goal, if anything.
    pub(crate) fn problem(&self) -> Option<&'static str> {
        let is_share = |share: f64| (0.0..1.0).contains(&share);
        if self.first_trial.is_zero() || self.first_trial > self.final_trial {
            Some("the first trial must last, and at most as long as the final trial")
        } else if self.final_trial > self.duration_sum {
            Some("the duration sum must be at least the final trial")
        } else if !is_share(self.exceed_ratio) {
            Some("the exceed ratio must be at least 0 and below 1")
        } else if !is_share(self.width) || self.width <= 0.0 {
            Some("the width must be above 0 and below 1")
        } else {
            None
        }
    }

    /// The levels of the search, the cheapest first and the goal itself last. The duration sum grows by a constant factor,
    /// and the width halves.
    pub(crate) fn levels(&self, width_rungs: u32) -> Vec<Level> {
        let preceding = if self.first_trial < self.duration_sum { PRECEDING_LEVELS } else { 0 };
        let growth = self.duration_sum.as_secs_f64() / self.first_trial.as_secs_f64();
        (0..=preceding)
            .map(|number| {
                let duration_sum = if number == preceding {
                    self.duration_sum
                } else {
                    let factor = growth.powf(f64::from(number) / f64::from(preceding));
                    // Whole milliseconds, as in plans and reports.
                    Duration::from_millis(self.first_trial.mul_f64(factor).as_millis() as u64)
                        .max(self.first_trial)
                };
                Level {
                    trial: self.final_trial.min(duration_sum),
                    duration_sum,
                    exceed_ratio: self.exceed_ratio,
                    width_rungs: width_rungs << (preceding - number),
                }
            })
            .collect()
    }
}

/// A goal with less evidence and wider bounds, on the way to the goal itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Level {
    /// Duration of its trials; trials that are at least as long count in full.
    pub(crate) trial: Duration,
    pub(crate) duration_sum: Duration,
    pub(crate) exceed_ratio: f64,
    /// Permitted difference between the bounds, rungs of the ladder.
    pub(crate) width_rungs: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_grow_to_the_goal_by_a_constant_factor() {
        let goal = Goal { duration_sum: Duration::from_secs(16), ..Goal::QUICK };
        let levels = goal.levels(8);
        let of = |level: &Level| (level.trial.as_millis(), level.duration_sum.as_millis(), level.width_rungs);
        assert_eq!(
            levels.iter().map(of).collect::<Vec<_>>(),
            [(1_000, 1_000, 32), (1_000, 4_000, 16), (1_000, 16_000, 8)]
        );
        let levels = Goal::RFC2544.levels(8);
        assert_eq!(
            levels.iter().map(of).collect::<Vec<_>>(),
            [(1_000, 1_000, 32), (7_745, 7_745, 16), (60_000, 60_000, 8)]
        );
    }

    #[test]
    fn a_goal_of_one_trial_has_one_level() {
        let one = Duration::from_secs(1);
        let goal = Goal { final_trial: one, first_trial: one, duration_sum: one, ..Goal::QUICK };
        assert_eq!(goal.levels(8).len(), 1);
    }
}
