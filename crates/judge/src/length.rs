//! The length of a study: a number of rounds, a time budget, or a target precision.
//!
//! With a time budget, a study takes as many complete rounds as fit. With a target precision, it checks the widths of its intervals after
//! some of the rounds, and ends when nearly all costs have that precision. [`hoptax_stats::looks`] and [`hoptax_stats::LOOK_CONFIDENCE`]
//! document the rule and why its intervals use a higher confidence. If the study is resumed, a look at the end of its rounds or of a budget
//! counts like the others.

use hoptax_result::SequentialPlan;
use hoptax_stats::{LOOK_CONFIDENCE, looks, precise_enough, rounds_needed};
use serde::{Deserialize, Serialize};

use crate::precision::{Precision, of_nearly_all};

/// Minimum number of rounds for an interval. A study takes at least these, whatever its budget.
pub const FEWEST_ROUNDS: u32 = 2;

/// The conditions that end a study; the first one met applies.
#[derive(Clone, Debug, PartialEq)]
pub struct Length {
    /// Largest number of rounds.
    pub rounds: u32,
    /// Time budget for all rounds together, seconds.
    pub budget_s: Option<f64>,
    /// Target precision of nearly all costs in CPU time.
    pub until: Option<Until>,
}

/// A target precision.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Until {
    /// The half-width of intervals at which the study may end.
    #[serde(flatten)]
    pub precision: Precision,
    /// Number of rounds after which it was first requested: 0 if the study began with it. There were no earlier looks.
    pub since_rounds: u32,
}

/// The progress of a study: when its rounds ended and when it looked.
#[derive(Clone, Debug)]
pub struct Course {
    length: Length,
    /// End of each round, in seconds since the study began, without pauses between sessions.
    ended_s: Vec<f64>,
    /// Number of rounds when it was started or resumed.
    begun_after: usize,
    /// Numbers of rounds after which it looks.
    schedule: Vec<u32>,
    /// Numbers of rounds after which it looked.
    looked: Vec<u32>,
    reached: bool,
    /// Number of rounds needed, as estimated at the last look.
    needed: Option<u32>,
}

impl Course {
    /// The course of a study of this length with earlier rounds, which ended at `ended_s`, and earlier looks, ascending.
    pub fn new(length: Length, ended_s: Vec<f64>, earlier_looks: &[u32]) -> Self {
        let measured = ended_s.len() as u32;
        let mut looked: Vec<u32> =
            earlier_looks.iter().copied().filter(|rounds| *rounds <= measured).collect();
        let schedule = schedule(&length, &looked);
        // A study that was killed did not record all of its looks.
        looked.extend(schedule.iter().filter(|rounds| **rounds < measured));
        looked.sort_unstable();
        looked.dedup();
        Self { length, begun_after: ended_s.len(), ended_s, schedule, looked, reached: false, needed: None }
    }

    /// Records that a round ended this many seconds after the study began.
    pub fn round_ended(&mut self, elapsed_s: f64) {
        self.ended_s.push(elapsed_s);
    }

    /// Returns true if another round begins. `half_widths` returns the current half-widths of all costs in CPU time for a precision, as
    /// [`crate::precision::half_widths`] does. It is called only when the study looks.
    pub fn should_continue(
        &mut self,
        elapsed_s: f64,
        half_widths: impl FnOnce(&Precision) -> Vec<f64>,
    ) -> bool {
        let rounds = self.rounds();
        let is_spent = rounds >= self.length.rounds || !self.another_fits(elapsed_s);
        let Some(until) = self.length.until else { return !is_spent };
        if rounds == 0 || !(is_spent || self.schedule.contains(&rounds)) {
            return !is_spent;
        }
        let target_share = until.precision.target_share;
        let half_widths = half_widths(&until.precision);
        // A resumed study may look at the same rounds again.
        if self.looked.last() != Some(&rounds) {
            self.looked.push(rounds);
        }
        self.reached = precise_enough(&half_widths, target_share);
        self.needed = of_nearly_all(&half_widths)
            .and_then(|half_width| rounds_needed(half_width, rounds, target_share));
        !(is_spent || self.reached)
    }

    /// Returns true if a round as long as the longest so far would end within the budget.
    fn another_fits(&self, elapsed_s: f64) -> bool {
        let Some(budget_s) = self.length.budget_s else { return true };
        let Some(round_s) = self.longest_round_s() else { return true };
        self.rounds() < FEWEST_ROUNDS || elapsed_s + round_s <= budget_s
    }

    /// The longest round so far, seconds. The first round of a session also checks all configurations, and counts only
    /// if there is no other.
    fn longest_round_s(&self) -> Option<f64> {
        let starts = std::iter::once(&0.0).chain(&self.ended_s);
        let rounds = self.ended_s.iter().zip(starts).map(|(end, start)| end - start).enumerate();
        let (first, others): (Vec<_>, Vec<_>) =
            rounds.partition(|(number, _)| *number == 0 || *number == self.begun_after);
        let longest = |rounds: Vec<(usize, f64)>| rounds.into_iter().map(|(_, s)| s).reduce(f64::max);
        longest(others).or_else(|| longest(first))
    }

    /// Number of complete rounds.
    pub fn rounds(&self) -> u32 {
        self.ended_s.len() as u32
    }

    /// Expected total number of rounds. None while there is nothing to estimate it from.
    pub fn expected_rounds(&self) -> Option<u32> {
        let rounds = self.rounds();
        let elapsed_s = self.ended_s.last().copied().unwrap_or(0.0);
        let fitting = self.length.budget_s.zip(self.longest_round_s()).map(|(budget_s, round_s)| {
            rounds.saturating_add(((budget_s - elapsed_s).max(0.0) / round_s) as u32).max(FEWEST_ROUNDS)
        });
        // A study ends at a look.
        let enough = self.needed.map(|needed| {
            let mut later = self.schedule.iter().copied().filter(|look| *look > rounds);
            later.clone().find(|look| *look >= needed).or(later.next_back()).unwrap_or(rounds)
        });
        let is_bounded = self.length.budget_s.is_none() && self.length.until.is_none();
        let known = is_bounded.then_some(self.length.rounds);
        [fitting, enough, known].into_iter().flatten().min().map(|all| all.min(self.length.rounds))
    }

    /// The sequential stopping rule and its looks; none without a target precision.
    pub fn sequential(&self) -> Option<SequentialPlan> {
        self.length.until.map(|until| SequentialPlan {
            target_share: until.precision.target_share,
            of_cost_share: until.precision.of_cost_share,
            reached: self.reached,
            looks: self.looked.clone(),
            quantile_confidence: LOOK_CONFIDENCE,
        })
    }

    /// Numbers of rounds after which it looked, ascending, for [`Course::new`] when it is resumed.
    pub fn looked(&self) -> &[u32] {
        &self.looked
    }

    /// Time budget, seconds.
    pub fn budget_s(&self) -> Option<f64> {
        self.length.budget_s
    }
}

/// The numbers of rounds after which a study looks, given those after which it has looked. They stay the same however often it is resumed.
/// Each comes after a quarter more rounds than the one before, also if that was a look at the end of an earlier budget: closer looks would
/// make the intervals too narrow.
fn schedule(length: &Length, looked: &[u32]) -> Vec<u32> {
    let Some(until) = length.until else { return Vec::new() };
    let after = |first: u32| looks(first, length.rounds).into_iter();
    let mut schedule: Vec<u32> = after(0).filter(|rounds| *rounds >= until.since_rounds).collect();
    for look in looked {
        schedule.retain(|rounds| rounds < look);
        schedule.push(*look);
        schedule.extend(after(*look).filter(|rounds| rounds > look && *rounds >= until.since_rounds));
    }
    schedule
}

#[cfg(test)]
mod tests {
    use super::*;

    fn until(target_share: f64, since_rounds: u32) -> Until {
        Until { precision: Precision { target_share, of_cost_share: 0.0 }, since_rounds }
    }

    fn length(rounds: u32, budget_s: Option<f64>, target_share: Option<f64>) -> Length {
        let until = target_share.map(|target_share| until(target_share, 0));
        Length { rounds, budget_s, until }
    }

    /// Runs a study with the given durations of rounds and half-widths by number of rounds.
    fn run(length: Length, round_s: impl Fn(u32) -> f64, half_width: impl Fn(u32) -> f64) -> Course {
        let (mut course, mut elapsed_s) = (Course::new(length, Vec::new(), &[]), 0.0);
        loop {
            let rounds = course.rounds();
            if !course.should_continue(elapsed_s, |_| vec![half_width(rounds); 3]) {
                return course;
            }
            elapsed_s += round_s(rounds);
            course.round_ended(elapsed_s);
        }
    }

    fn never(_: u32) -> f64 {
        unreachable!("nobody looks at the widths")
    }

    #[test]
    fn a_fixed_number_of_rounds_has_no_looks() {
        let course = run(length(5, None, None), |_| 10.0, never);
        assert_eq!((course.rounds(), course.sequential()), (5, None));
    }

    #[test]
    fn a_budget_includes_as_many_complete_rounds_as_fit() {
        assert_eq!(run(length(1000, Some(100.0), None), |_| 10.0, never).rounds(), 10);
        assert_eq!(run(length(1000, Some(99.0), None), |_| 10.0, never).rounds(), 9);
        assert_eq!(run(length(4, Some(100.0), None), |_| 10.0, never).rounds(), 4);
    }

    #[test]
    fn a_budget_that_is_too_short_still_runs_two_rounds() {
        assert_eq!(run(length(1000, Some(1.0), None), |_| 10.0, never).rounds(), 2);
    }

    #[test]
    fn a_round_that_is_unlikely_to_fit_is_not_started() {
        // The longest round so far predicts the next one; the first round does not, since it checks configurations.
        let long = |number: u32| if number == 3 { 30.0 } else { 10.0 };
        assert_eq!(run(length(1000, Some(85.0), None), long, never).rounds(), 4);
        let slow_start = |number: u32| if number == 0 { 40.0 } else { 10.0 };
        assert_eq!(run(length(1000, Some(85.0), None), slow_start, never).rounds(), 5);
    }

    #[test]
    fn a_precision_ends_the_study_at_a_look_and_not_before_the_first() {
        let course = run(length(1000, None, Some(0.01)), |_| 10.0, |rounds| 0.03 / f64::from(rounds).sqrt());
        let sequential = course.sequential().unwrap();
        assert_eq!((course.rounds(), sequential.reached), (10, true));
        assert_eq!(sequential.looks, [8, 10]);
        assert!((sequential.quantile_confidence - LOOK_CONFIDENCE).abs() < 1e-12);
        let at_once = run(length(1000, None, Some(0.01)), |_| 10.0, |_| 0.001);
        assert_eq!((at_once.rounds(), at_once.sequential().unwrap().looks), (8, vec![8]));
    }

    #[test]
    fn the_end_of_rounds_or_budget_is_the_last_look() {
        let course = run(length(12, None, Some(0.01)), |_| 10.0, |_| 1.0);
        assert_eq!(course.sequential().unwrap().looks, [8, 10, 12]);
        let course = run(length(1000, Some(110.0), Some(0.01)), |_| 10.0, |_| 1.0);
        let sequential = course.sequential().unwrap();
        assert_eq!((course.rounds(), sequential.looks, sequential.reached), (11, vec![8, 10, 11], false));
        let short = run(length(1000, Some(30.0), Some(0.01)), |_| 10.0, |_| 0.001);
        assert_eq!(short.sequential().unwrap().looks, [3]);
    }

    #[test]
    fn a_resumed_study_checks_widths_after_the_same_rounds() {
        let ended = |rounds: u32| (1..=rounds).map(|round| f64::from(round) * 10.0).collect();
        let of = |since| Length { rounds: 40, budget_s: None, until: Some(until(0.01, since)) };
        assert!(Course::new(of(0), ended(9), &[]).should_continue(90.0, |_| Vec::new()));
        let mut ended_there = Course::new(of(0), ended(10), &[]);
        assert!(!ended_there.should_continue(100.0, |_| vec![0.001]));
        assert_eq!(ended_there.sequential().unwrap().looks, [8, 10]);
        // There were no looks while it was a study of twelve rounds.
        let mut asked_later = Course::new(of(12), ended(12), &[]);
        assert!(asked_later.should_continue(120.0, |_| unreachable!("no look after twelve rounds")));
        asked_later.round_ended(130.0);
        assert!(!asked_later.should_continue(130.0, |_| vec![0.001]));
        assert_eq!(asked_later.sequential().unwrap().looks, [13]);
    }

    #[test]
    fn a_look_at_the_end_of_a_budget_counts_when_the_study_is_resumed() {
        let first = run(length(1000, Some(110.0), Some(0.01)), |_| 10.0, |_| 1.0);
        assert_eq!(first.looked(), [8, 10, 11]);
        let resume = |ended_s: Vec<f64>, budget_s: f64, looked: &[u32]| {
            let mut course = Course::new(length(1000, Some(budget_s), Some(0.01)), ended_s, looked);
            while course.should_continue(f64::from(course.rounds()) * 10.0, |_| vec![1.0]) {
                course.round_ended(f64::from(course.rounds() + 1) * 10.0);
            }
            course
        };
        // From then on, each look comes after a quarter more rounds: 14 and 18 instead of 13 and 17.
        let second = resume(first.ended_s.clone(), 200.0, first.looked());
        assert_eq!((second.rounds(), second.sequential().unwrap().looks), (20, vec![8, 10, 11, 14, 18, 20]));
        // A session that was killed after 16 rounds recorded no look of its own.
        let third = resume(second.ended_s[..16].to_vec(), 200.0, first.looked());
        assert_eq!(third.looked(), second.looked());
        // The look before the first regular one counts as well.
        let short = run(length(1000, Some(30.0), Some(0.01)), |_| 10.0, |_| 1.0);
        assert_eq!(resume(short.ended_s.clone(), 100.0, short.looked()).looked(), [3, 8, 10]);
        // So do the looks of a study that continued with a fixed number of rounds, in which there were none.
        let fixed = Course::new(length(20, None, None), second.ended_s.clone(), first.looked());
        assert_eq!((fixed.looked(), fixed.sequential()), (first.looked(), None));
        let asked_again = Length { rounds: 1000, budget_s: Some(300.0), until: Some(until(0.01, 20)) };
        let asked_again = Course::new(asked_again, second.ended_s.clone(), fixed.looked());
        assert_eq!(asked_again.looked(), first.looked());
        assert_eq!(asked_again.schedule[..4], [8, 10, 11, 23]);
    }

    #[test]
    fn a_resumed_study_ends_where_its_last_look_was_precise_enough() {
        let ended_s: Vec<f64> = (1..=11_u32).map(|round| f64::from(round) * 10.0).collect();
        let more = length(1000, Some(200.0), Some(0.01));
        let mut resumed = Course::new(more, ended_s, &[8, 10, 11]);
        assert!(!resumed.should_continue(110.0, |_| vec![0.001]));
        assert_eq!(resumed.sequential().unwrap().looks, [8, 10, 11]);
    }

    #[test]
    fn the_number_of_rounds_is_reported_as_soon_as_it_is_known() {
        assert_eq!(Course::new(length(16, None, None), Vec::new(), &[]).expected_rounds(), Some(16));
        let mut budget = Course::new(length(1000, Some(100.0), None), Vec::new(), &[]);
        assert_eq!(budget.expected_rounds(), None);
        budget.round_ended(20.0);
        budget.round_ended(30.0);
        assert_eq!(budget.expected_rounds(), Some(9));
        let mut until = Course::new(length(1000, None, Some(0.01)), vec![1.0; 8], &[]);
        assert_eq!(until.expected_rounds(), None);
        assert!(until.should_continue(8.0, |_| vec![0.012]));
        assert_eq!(until.expected_rounds(), Some(13));
    }
}
