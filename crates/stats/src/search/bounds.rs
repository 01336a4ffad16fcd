//! The trials of a search by load, and the bounds that follow from them.

use std::collections::BTreeMap;

use crate::search::classify::{Class, Vote, classify};
use crate::search::goal::Level;

/// A load is out of reach when this many more of its trials were limited by the generator than were not. If three trials in
/// ten are spoilt, a load within reach meets that with a probability of (3/7)^6, 0.6 %.
const UNUSABLE_EXCESS: usize = 6;

/// The trials at one load.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct AtLoad {
    /// For each trial, its outcome for each goal.
    votes: Vec<Vec<Vote>>,
    /// Trials that say nothing about the subject, because the generator was the limit.
    unusable: usize,
    /// The highest load that the subject carried in a trial. A spoilt trial carries less.
    carried: f64,
}

impl AtLoad {
    pub(crate) fn add(&mut self, votes: Option<Vec<Vote>>, carried: f64) {
        match votes {
            Some(votes) => self.votes.push(votes),
            None => self.unusable += 1,
        }
        self.carried = self.carried.max(carried);
    }

    /// The outcomes for a goal.
    pub(crate) fn votes(&self, goal: usize) -> impl Iterator<Item = &Vote> {
        self.votes.iter().filter_map(move |votes| votes.get(goal))
    }

    /// Whether the generator cannot produce this load.
    pub(crate) fn is_out_of_reach(&self) -> bool {
        self.unusable >= self.votes.len() + UNUSABLE_EXCESS
    }

    /// The highest load that the subject carried in a trial.
    pub(crate) fn carried(&self) -> f64 {
        self.carried
    }
}

/// All trials of a search, by rung.
pub(crate) type Trials = BTreeMap<u32, AtLoad>;

/// The bounds of a goal on a level, as rungs.
///
/// The upper bound is the lowest load that is one, and the lower bound is the highest below it: if a higher load holds while
/// a lower one does not, the higher one is not relied on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(crate) lower: Option<u32>,
    pub(crate) upper: Option<u32>,
}

impl Bounds {
    pub(crate) fn new(trials: &Trials, goal: usize, level: &Level) -> Self {
        let mut bounds = Self::default();
        for (rung, at_load) in trials {
            if at_load.is_out_of_reach() {
                bounds.upper = Some(*rung);
                break;
            }
            match classify(at_load.votes(goal), level) {
                Class::Lower => bounds.lower = Some(*rung),
                Class::Upper => {
                    bounds.upper = Some(*rung);
                    break;
                }
                Class::Undecided => {}
            }
        }
        bounds
    }

    /// Whether nothing between the bounds is left to measure, on a ladder with this highest rung.
    pub(crate) fn are_close(&self, level: &Level, top: u32) -> bool {
        match (self.lower, self.upper) {
            (Some(lower), Some(upper)) => upper - lower <= level.width_rungs,
            (Some(lower), None) => lower == top,
            (None, Some(upper)) => upper == 0,
            (None, None) => false,
        }
    }

    /// Whether a rung lies strictly between the bounds; a missing bound excludes nothing.
    pub(crate) fn surround(&self, rung: u32) -> bool {
        self.lower.is_none_or(|lower| lower < rung) && self.upper.is_none_or(|upper| rung < upper)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const LEVEL: Level = Level {
        trial: Duration::from_secs(1),
        duration_sum: Duration::from_secs(1),
        exceed_ratio: 0.5,
        width_rungs: 4,
    };

    fn trials(outcomes: &[(u32, bool)]) -> Trials {
        let mut trials = Trials::new();
        for (rung, holds) in outcomes {
            let vote = Vote { duration: LEVEL.trial, holds: *holds, loss_ratio: 0.0 };
            trials.entry(*rung).or_default().add(Some(vec![vote]), 1.0);
        }
        trials
    }

    #[test]
    fn a_load_that_holds_above_one_that_does_not_is_no_lower_bound() {
        let bounds = Bounds::new(&trials(&[(10, true), (20, false), (30, true), (40, false)]), 0, &LEVEL);
        assert_eq!(bounds, Bounds { lower: Some(10), upper: Some(20) });
    }

    #[test]
    fn a_load_is_out_of_reach_when_six_more_trials_are_unusable_than_usable() {
        let mut trials = trials(&[(10, true), (20, true), (20, true)]);
        let upper = |trials: &Trials| Bounds::new(trials, 0, &LEVEL).upper;
        for _ in 0..7 {
            trials.entry(20).or_default().add(None, 1.0);
        }
        assert_eq!(upper(&trials), None, "two were usable, and seven were not");
        trials.entry(20).or_default().add(None, 1.0);
        assert_eq!(upper(&trials), Some(20));
    }

    #[test]
    fn bounds_are_close_by_their_distance_or_at_an_end() {
        let close = |lower, upper| Bounds { lower, upper }.are_close(&LEVEL, 100);
        assert!(close(Some(10), Some(14)) && !close(Some(10), Some(15)));
        assert!(close(Some(100), None) && !close(Some(99), None));
        assert!(close(None, Some(0)) && !close(None, Some(1)) && !close(None, None));
    }
}
