//! The search as a state machine: which trial is next, and what the trials so far say.

use std::cmp::Reverse;
use std::time::Duration;

use thiserror::Error;

use crate::search::bounds::{AtLoad, Bounds, Trials};
use crate::search::choice::{View, choose};
use crate::search::classify::{Vote, conditional_loss};
use crate::search::goal::{Goal, Level};
use crate::search::ladder::Ladder;

/// Capacities for which [`Search::expected_duration`] plays the search through.
const CAPACITIES: u32 = 64;

/// Where and for how long a search may go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// The lowest load, above 0.
    pub min: f64,
    /// The highest load, above the lowest.
    pub max: f64,
    /// Where to begin: the load at which the subject is expected to fail first.
    pub start: f64,
    /// Time limit of the whole search.
    pub budget: Duration,
    /// What a trial usually takes in addition to its duration, such as its warm-up.
    pub overhead: Duration,
}

impl Limits {
    /// A search from `min` to `max` that begins at `max` and may take an hour.
    pub fn new(min: f64, max: f64) -> Self {
        Self { min, max, start: max, budget: Duration::from_hours(1), overhead: Duration::ZERO }
    }
}

/// Why a search cannot begin.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum SearchError {
    /// There is nothing to search.
    #[error("a search needs a goal")]
    NoGoal,
    /// A goal contradicts itself.
    #[error("goal {number}: {problem}")]
    Goal {
        /// Its number, from 1.
        number: usize,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The range is empty or not positive.
    #[error("the lowest load, {min}, must be above 0 and below the highest, {max}")]
    Range {
        /// The lowest load.
        min: f64,
        /// The highest load.
        max: f64,
    },
    /// Not even the first trial fits in.
    #[error("the budget of {budget:?} is shorter than one trial, {trial:?}")]
    Budget {
        /// The budget.
        budget: Duration,
        /// The duration of a full trial and its overhead.
        trial: Duration,
    },
}

/// A trial that the search asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Planned {
    /// The load to offer.
    pub load: f64,
    /// For how long.
    pub duration: Duration,
    rung: u32,
}

/// What a trial showed.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The time that it took, with everything around it. It counts towards the budget only.
    pub took: Duration,
    /// The load that the subject carried, in time or not. It only guides the search.
    pub carried: f64,
    /// The outcome for each goal, in their order; None if the generator was the limit, so that the trial says nothing about
    /// the subject.
    pub outcomes: Option<Vec<Outcome>>,
}

/// The outcome of a trial for a goal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// Whether the subject held the objectives of the goal.
    pub holds: bool,
    /// Share of the offered load that was lost or of no use, 0 to 1.
    pub loss_ratio: f64,
}

impl Outcome {
    /// The outcome for a goal that permits this loss ratio, the goal loss ratio of RFC 9971.
    pub fn of_loss(loss_ratio: f64, permitted: f64) -> Self {
        Self { holds: loss_ratio <= permitted, loss_ratio }
    }
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// Run this trial and record it.
    Trial(Planned),
    /// Read the results.
    Done(Ending),
}

/// Why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Every goal has its result.
    Complete,
    /// The next trial does not fit into the budget.
    OutOfTime,
}

/// How far the search got for a goal. RFC 9971 calls results irregular that are not [`State::Regular`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The bounds are as close as the goal asks.
    Regular,
    /// The highest load is a lower bound: the subject may carry more.
    MaximumHeld,
    /// The lowest load is an upper bound: the subject carries less.
    MinimumFailed,
    /// The generator cannot produce the upper load: the subject may carry more than the lower one.
    GeneratorLimited,
    /// Time ran out first.
    Unfinished,
}

/// The result for a goal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GoalResult {
    /// How far the search got.
    pub state: State,
    /// The relevant lower bound: the highest load that holds below the upper bound.
    pub lower: Option<f64>,
    /// The relevant upper bound: the lowest load that does not hold; with [`State::GeneratorLimited`], the lowest that the
    /// generator cannot produce.
    pub upper: Option<f64>,
    /// The conditional throughput: the lower bound without what is lost in its worst trial that the result needs.
    pub conditional_throughput: Option<f64>,
}

/// A search for the highest loads that meet several goals; every trial counts for each of them.
#[derive(Clone, Debug)]
pub struct Search {
    goals: Vec<Vec<Level>>,
    limits: Limits,
    ladder: Ladder,
    trials: Trials,
    spent: Duration,
}

impl Search {
    /// A search without trials.
    ///
    /// # Errors
    /// When a goal or the limits contradict themselves.
    pub fn new(goals: &[Goal], limits: Limits) -> Result<Self, SearchError> {
        for (number, goal) in (1..).zip(goals) {
            if let Some(problem) = goal.problem() {
                return Err(SearchError::Goal { number, problem });
            }
        }
        let narrowest = goals.iter().map(|goal| goal.width).reduce(f64::min).ok_or(SearchError::NoGoal)?;
        let Limits { min, max, budget, overhead, .. } = limits;
        if !(min > 0.0 && max > min && max.is_finite()) {
            return Err(SearchError::Range { min, max });
        }
        let longest = goals.iter().map(|goal| goal.final_trial).max().unwrap_or_default();
        if budget < longest + overhead {
            return Err(SearchError::Budget { budget, trial: longest + overhead });
        }
        let ladder = Ladder::new(min, max, narrowest);
        let goals = goals.iter().map(|goal| goal.levels(ladder.rungs(goal.width))).collect();
        Ok(Self { goals, limits, ladder, trials: Trials::new(), spent: Duration::ZERO })
    }

    /// The next trial, or the end. It is the same until a trial is recorded.
    ///
    /// Among the goals, the cheapest level comes first, and then the lowest load.
    pub fn next(&self) -> Step {
        let start = self.ladder.at_most(self.limits.start);
        let choices = self.goals.iter().enumerate().filter_map(|(goal, levels)| {
            let view = View { trials: &self.trials, ladder: &self.ladder, start, goal, levels };
            let choice = choose(&view)?;
            Some((choice, Reverse(levels.get(choice.level)?.trial)))
        });
        let Some((choice, Reverse(duration))) = choices.min() else { return Step::Done(Ending::Complete) };
        if self.spent + duration + self.limits.overhead > self.limits.budget {
            return Step::Done(Ending::OutOfTime);
        }
        Step::Trial(Planned { load: self.ladder.load(choice.rung), duration, rung: choice.rung })
    }

    /// Records a trial.
    ///
    /// # Panics
    /// When the number of outcomes is not the number of goals.
    pub fn record(&mut self, planned: &Planned, measured: Measured) {
        let Measured { took, carried, outcomes } = measured;
        if let Some(outcomes) = &outcomes {
            assert_eq!(outcomes.len(), self.goals.len(), "one outcome for each goal");
        }
        let vote =
            |one: Outcome| Vote { duration: planned.duration, holds: one.holds, loss_ratio: one.loss_ratio };
        let votes = outcomes.map(|outcomes| outcomes.into_iter().map(vote).collect());
        self.trials.entry(planned.rung).or_default().add(votes, carried);
        self.spent += took;
    }

    /// Time that the recorded trials took.
    pub fn spent(&self) -> Duration {
        self.spent
    }

    /// The results of the goals, in their order, by the trials so far.
    pub fn results(&self) -> Vec<GoalResult> {
        self.goals
            .iter()
            .enumerate()
            .filter_map(|(goal, levels)| Some(self.result(goal, levels.last()?)))
            .collect()
    }

    fn result(&self, goal: usize, level: &Level) -> GoalResult {
        let bounds = Bounds::new(&self.trials, goal, level);
        let load = |rung: Option<u32>| rung.map(|rung| self.ladder.load(rung));
        let is_out_of_reach =
            bounds.upper.and_then(|rung| self.trials.get(&rung)).is_some_and(AtLoad::is_out_of_reach);
        let state = if !bounds.are_close(level, self.ladder.top()) {
            State::Unfinished
        } else if is_out_of_reach {
            State::GeneratorLimited
        } else if bounds.upper.is_none() {
            State::MaximumHeld
        } else if bounds.lower.is_none() {
            State::MinimumFailed
        } else {
            State::Regular
        };
        let conditional_throughput = bounds.lower.and_then(|rung| {
            let loss = conditional_loss(self.trials.get(&rung)?.votes(goal), level);
            Some(self.ladder.load(rung) * (1.0 - loss))
        });
        // What the generator cannot produce bounds the search, and says nothing about the subject.
        let upper = bounds.upper.filter(|_| state == State::GeneratorLimited || !is_out_of_reach);
        GoalResult { state, lower: load(bounds.lower), upper: load(upper), conditional_throughput }
    }

    /// How long this search takes, from its beginning, if trials at one load always agree and loads above a capacity never
    /// hold: the longest over capacities throughout the range. Trials that disagree take longer, up to the budget.
    pub fn expected_duration(&self) -> Duration {
        let limits = Limits { budget: Duration::MAX / 2, ..self.limits };
        let at = |part: u32| {
            self.limits.min
                * (self.limits.max / self.limits.min).powf(f64::from(part) / f64::from(CAPACITIES))
        };
        let capacities = (0..=CAPACITIES).map(|part| at(part) * 1.000_001).chain([0.0]);
        let longest = capacities.map(|capacity| {
            let mut search = Self { limits, trials: Trials::new(), spent: Duration::ZERO, ..self.clone() };
            while let Step::Trial(planned) = search.next() {
                let holds = planned.load <= capacity;
                let outcome = Outcome { holds, loss_ratio: if holds { 0.0 } else { 1.0 } };
                // The load that an overloaded subject carries would help; a subject need not show it.
                let outcomes = Some(vec![outcome; search.goals.len()]);
                let took = planned.duration + limits.overhead;
                search.record(&planned, Measured { took, carried: planned.load, outcomes });
            }
            search.spent
        });
        longest.max().unwrap_or_default().min(self.limits.budget)
    }
}
