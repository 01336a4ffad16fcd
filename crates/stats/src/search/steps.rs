//! The search as a state machine: the next trial, and the result of the trials so far.

use std::time::Duration;

use hoptax_result::FindState;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use thiserror::Error;

use crate::search::bounds::{Ends, Known, KnownEnds};
use crate::search::choice::{View, choose};
use crate::search::evidence::{ERROR, LoadEvidence, MOST_VALUES, Sample, Share, Trials};
use crate::search::fit::CONFIDENCE;
use crate::search::goal::{Criterion, SHORTEST};
use crate::search::ladder::Ladder;

/// A trial takes at most this share of the budget, so that the search has enough trials for a result.
const LONGEST: f64 = 0.1;
/// The probability of deciding wrongly about the highest load once the time is over: half of that of a result. The decisions after each
/// trial, each with [`ERROR`], spend the other half: together they err more often than one of them, though not as often as their sum,
/// because they count the same requests again. With trials that permit 0.3 to 0.6 lost requests each, 40 decisions err with a probability
/// of 1.2 to 1.9 %, and up to 80 of them and the last one together with at most 3.9 %.
const LAST_ERROR: f64 = (1.0 - CONFIDENCE) / 2.0;
/// Longest warm-up, as a share of the longest trial, unless [`Limits::warmup`] is longer.
const WARMUP: f64 = 0.5;
/// Capacities for which [`Search::expected_duration`] simulates the search, as shares of the start.
const CAPACITIES: [f64; 3] = [0.98, 0.9, 0.75];
/// Windows of a simulated trial.
const WINDOWS: f64 = 100.0;
/// Expected change of the logarithm of the odds of a late request with the logarithm of the load. This is the value for the p99 of an M/D/1
/// queue at 78 % of its capacity.
const EXPECTED_SLOPE: f64 = 16.0;

/// Range of loads and time limits of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// The lowest load, above 0.
    pub min: f64,
    /// The highest load, above the lowest.
    pub max: f64,
    /// Load of the first trial: the one at which the subject is expected to fail first.
    pub start: f64,
    /// Difference of the two ends of a result, as a share of the upper one, above 0 and below 1.
    pub width: f64,
    /// Time limit of the whole search.
    pub budget: Duration,
    /// Least warm-up before each trial, while connections and caches become warm.
    pub warmup: Duration,
}

impl Limits {
    /// A search from `min` to `max` that begins at `max`, ends within 3 % and may take an hour.
    pub fn new(min: f64, max: f64) -> Self {
        Self { min, max, start: max, width: 0.03, budget: Duration::from_hours(1), warmup: Duration::ZERO }
    }
}

/// Reason why a search cannot begin.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum SearchError {
    /// There is nothing to search.
    #[error("a search needs a goal")]
    NoGoal,
    /// A criterion contradicts itself.
    #[error("criterion {number}: {problem}")]
    Criterion {
        /// Its number, from 1.
        number: usize,
        /// Its fault, as the end of a sentence.
        problem: &'static str,
    },
    /// The width is no share.
    #[error("the width must be above 0 and below 1")]
    Width,
    /// The range is empty or not positive.
    #[error("the lowest load, {min}, must be above 0 and below the highest, {max}")]
    Range {
        /// The lowest load.
        min: f64,
        /// The highest load.
        max: f64,
    },
    /// The budget is too short even for the first trial.
    #[error("the budget of {budget:?} is shorter than one trial, {trial:?}")]
    Budget {
        /// The budget.
        budget: Duration,
        /// The duration of the shortest trial and its warm-up.
        trial: Duration,
    },
}

/// A trial that the search asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Planned {
    /// The load to offer.
    pub load: f64,
    /// How long to offer it before the trial counts: until the queue has settled.
    pub warmup: Duration,
    /// How long it counts.
    pub duration: Duration,
    rung: u32,
}

/// Measurement of a trial.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The time that it took, including start and end. It counts towards the budget only.
    pub took: Duration,
    /// The sample for each criterion; None if the generator was the limit, so that the trial shows nothing about the subject.
    pub samples: Option<Vec<Sample>>,
}

/// Next step of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// Run this trial and record it.
    Trial(Planned),
    /// Read the results.
    Done(Ending),
}

/// Reason why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Every goal has its result.
    Complete,
    /// The next trial does not fit into the budget.
    OutOfTime,
}

/// Returns true if more trials would narrow the result of a search in this state.
fn is_open(state: FindState) -> bool {
    matches!(state, FindState::Bounded | FindState::Unfinished)
}

/// The result for a goal.
#[derive(Clone, Debug, PartialEq)]
pub struct GoalResult {
    /// State of the search.
    pub state: FindState,
    /// The load up to which the goal holds.
    pub lower: Option<f64>,
    /// The load from which it fails; with [`FindState::GeneratorLimited`], the lowest that the generator cannot produce.
    pub upper: Option<f64>,
    /// Load at which it most likely begins to fail.
    pub estimate: Option<f64>,
    /// The criteria that begin to fail there.
    pub limited_by: Vec<usize>,
}

/// A search for the highest loads that meet several goals; every trial counts for each of them.
#[derive(Clone, Debug)]
pub struct Search {
    criteria: Vec<Criterion>,
    /// The criteria of each goal.
    goals: Vec<Vec<usize>>,
    limits: Limits,
    ladder: Ladder,
    trials: Trials,
    spent: Duration,
}

impl Search {
    /// A search without trials. Each goal is given by the indices of its criteria, which must hold together.
    ///
    /// # Errors
    /// When a criterion or the limits contradict themselves.
    pub fn new(criteria: &[Criterion], goals: &[Vec<usize>], limits: Limits) -> Result<Self, SearchError> {
        if goals.is_empty() || goals.iter().any(Vec::is_empty) {
            return Err(SearchError::NoGoal);
        }
        for (number, criterion) in (1..).zip(criteria) {
            if let Some(problem) = criterion.problem() {
                return Err(SearchError::Criterion { number, problem });
            }
        }
        let Limits { min, max, width, budget, warmup, .. } = limits;
        if !(width > 0.0 && width < 1.0) {
            return Err(SearchError::Width);
        }
        if !(min > 0.0 && max > min && max.is_finite()) {
            return Err(SearchError::Range { min, max });
        }
        if budget < SHORTEST + warmup {
            return Err(SearchError::Budget { budget, trial: SHORTEST + warmup });
        }
        let ladder = Ladder::new(min, max, width);
        let (criteria, goals) = (criteria.to_vec(), goals.to_vec());
        Ok(Self { criteria, goals, limits, ladder, trials: Trials::new(), spent: Duration::ZERO })
    }

    /// The next trial, or the end. It is the same until a trial is recorded. Among the goals, that with the lowest load comes first.
    pub fn next(&self) -> Step {
        self.step(&self.known(ERROR))
    }

    fn step(&self, known: &[KnownEnds]) -> Step {
        let Some(rung) = self.lowest_choice(known) else { return Step::Done(Ending::Complete) };
        let planned = self.planned(rung);
        if self.spent + planned.warmup + planned.duration > self.limits.budget {
            return Step::Done(Ending::OutOfTime);
        }
        Step::Trial(planned)
    }

    /// The load of the next trial; None if every goal has its result.
    fn lowest_choice(&self, known: &[KnownEnds]) -> Option<u32> {
        let open = self.goals.iter().filter(|goal| is_open(self.result(goal, known).state));
        open.map(|goal| self.choice(goal, known)).min()
    }

    /// Records a trial.
    ///
    /// # Panics
    /// When the number of samples is not that of the criteria.
    pub fn record(&mut self, planned: &Planned, measured: Measured) {
        if let Some(samples) = &measured.samples {
            assert_eq!(samples.len(), self.criteria.len(), "one sample for each criterion");
        }
        self.trials.entry(planned.rung).or_default().add(planned.duration, measured.samples);
        self.spent += measured.took;
    }

    /// Time that the recorded trials took.
    pub fn spent(&self) -> Duration {
        self.spent
    }

    /// The results of the goals, in their order, by the trials so far.
    ///
    /// If the time is over and a goal was tried at the highest load only, there is one last decision: all of these trials together decide
    /// if it holds there. Its error is half of that of a result, since the decisions after each trial spend the other half.
    pub fn results(&self) -> Vec<GoalResult> {
        let known = self.known(ERROR);
        let is_over = self.step(&known) == Step::Done(Ending::OutOfTime);
        let at_end = is_over.then(|| self.known(LAST_ERROR));
        let of_goal = |goal: &Vec<usize>| {
            let result = self.result(goal, &known);
            let last = at_end.as_ref().filter(|_| result.state == FindState::Unfinished);
            let last = last.map(|known| self.result(goal, known));
            last.filter(|last| last.state == FindState::MaximumHeld).unwrap_or(result)
        };
        self.goals.iter().map(of_goal).collect()
    }

    /// The budget of a search that would show that the load to try next holds, if no request is late or lost there; None if every goal has
    /// its result.
    pub fn deciding_budget(&self) -> Option<Duration> {
        let planned = self.planned(self.lowest_choice(&self.known(ERROR))?);
        let recorded = self.criteria.iter().map(|criterion| shown_after(criterion, planned.load)).max()?;
        // With a longer budget, trials are as long or longer, and their warm-ups the same share of them or a smaller one.
        let with_warmup = 1.0 + planned.warmup.as_secs_f64() / planned.duration.as_secs_f64();
        // A trial takes at most a share of the budget, and the last one records more than is needed.
        let rest = (1.0 - LONGEST * with_warmup).max(LONGEST);
        Duration::try_from_secs_f64(recorded.saturating_add(SHORTEST).as_secs_f64() * with_warmup / rest).ok()
    }

    /// Durations of a trial at a load and of its warm-up: the longest that any criterion needs.
    fn planned(&self, rung: u32) -> Planned {
        let Limits { width, budget, warmup, .. } = self.limits;
        let load = self.ladder.load(rung);
        let longest = budget.mul_f64(LONGEST).max(SHORTEST);
        let most =
            |of: &dyn Fn(&Criterion) -> Duration| self.criteria.iter().map(of).max().unwrap_or_default();
        let warmup = most(&|criterion| criterion.memory(width)).min(longest.mul_f64(WARMUP)).max(warmup);
        let duration = most(&|criterion| criterion.trial(load, width)).min(longest).max(SHORTEST);
        // Whole milliseconds, as in reports.
        let whole = |duration: Duration| Duration::from_millis(duration.as_millis() as u64);
        Planned { load, warmup: whole(warmup), duration: whole(duration), rung }
    }

    /// The knowledge about each criterion. `error` is the probability of deciding wrongly about a load where the criterion just holds.
    fn known(&self, error: f64) -> Vec<KnownEnds> {
        let of = |(number, criterion): (usize, &Criterion)| {
            let evidence = (self.limits.width, error);
            let known = Known::new(&self.trials, number, criterion, &self.ladder, evidence);
            let ends = known.ends(&self.ladder);
            KnownEnds { known, ends }
        };
        self.criteria.iter().enumerate().map(of).collect()
    }

    /// The lowest load that the generator cannot produce.
    fn reach(&self) -> Option<u32> {
        self.trials.iter().find(|(_, at)| LoadEvidence::is_out_of_reach(at)).map(|(rung, _)| *rung)
    }

    fn choice(&self, goal: &[usize], known: &[KnownEnds]) -> u32 {
        let known: Vec<&KnownEnds> = goal.iter().filter_map(|number| known.get(*number)).collect();
        choose(&View {
            ladder: &self.ladder,
            start: self.ladder.at_most(self.limits.start),
            width: self.limits.width,
            reach: self.reach(),
            high: Ends::first(known.iter().map(|one| one.ends)).high,
            known,
        })
    }

    fn result(&self, goal: &[usize], known: &[KnownEnds]) -> GoalResult {
        let of_goal = || goal.iter().filter_map(|number| Some((*number, known.get(*number)?)));
        let ends = Ends::first(of_goal().map(|(_, one)| one.ends));
        let reach = self.reach().map(|rung| self.ladder.load(rung));
        let is_reach = reach.is_some_and(|reach| ends.high.is_none_or(|high| reach < high));
        let bounded = if is_reach { Ends { high: reach, ..ends } } else { ends };
        let is = |rung: u32, holds: bool| {
            of_goal().all(|(_, one)| holds && one.known.lower == Some(rung))
                || of_goal().any(|(_, one)| !holds && one.known.upper == Some(rung))
        };
        let state = if is(0, false) {
            FindState::MinimumFailed
        } else if is(self.ladder.top(), true) {
            FindState::MaximumHeld
        } else if is_reach && (bounded.are_close(self.limits.width) || reach == Some(self.ladder.load(0))) {
            FindState::GeneratorLimited
        } else if !is_reach && ends.are_close(self.limits.width) {
            FindState::Found
        } else if !is_reach && ends.low.is_some() && ends.high.is_some() {
            FindState::Bounded
        } else {
            FindState::Unfinished
        };
        // The limit of the generator bounds the search, and shows nothing about the subject.
        let upper = if state == FindState::GeneratorLimited { reach } else { ends.high };
        let fails_there =
            |ends: &Ends| ends.high.is_some_and(|high| upper.is_some_and(|upper| high <= upper));
        GoalResult {
            state,
            lower: ends.low,
            upper,
            estimate: ends.estimate.filter(|_| matches!(state, FindState::Found | FindState::Bounded)),
            limited_by: of_goal()
                .filter(|(_, one)| !is_reach && fails_there(&one.ends))
                .map(|(number, _)| number)
                .collect(),
        }
    }

    /// The approximate duration of the whole search, if the highest load that meets the goals is not far below the start.
    pub fn expected_duration(&self) -> Duration {
        let played = |capacity: f64| {
            let mut search = Self { trials: Trials::new(), spent: Duration::ZERO, ..self.clone() };
            let mut random = SmallRng::seed_from_u64(1);
            while let Step::Trial(planned) = search.next() {
                let sample = |criterion| expected(criterion, &planned, capacity, &mut random);
                let samples = Some(self.criteria.iter().map(sample).collect());
                search.record(&planned, Measured { took: planned.warmup + planned.duration, samples });
            }
            search.spent
        };
        let capacities = CAPACITIES.map(|part| (self.limits.start * part).max(self.limits.min * 1.01));
        capacities.into_iter().map(played).max().unwrap_or_default()
    }
}

/// The recorded time at a load after which trials without a late or lost request show that a criterion holds.
fn shown_after(criterion: &Criterion, load: f64) -> Duration {
    let Some(permitted) = criterion.permitted() else { return SHORTEST * MOST_VALUES as u32 };
    let requests = -ERROR.ln() * criterion.dispersion(load) / permitted;
    Duration::try_from_secs_f64(requests / load).unwrap_or(Duration::MAX)
}

/// A typical sample of a subject with this capacity: late requests come in groups of the size that is assumed before it is known.
fn expected(criterion: &Criterion, planned: &Planned, capacity: f64, random: &mut SmallRng) -> Sample {
    let requests = planned.load * planned.duration.as_secs_f64();
    let part = match *criterion {
        Criterion::Late { permitted, .. } => {
            (permitted * (planned.load / capacity).powf(EXPECTED_SLOPE)).min(1.0)
        }
        Criterion::Lost { .. } => (1.0 - capacity / planned.load).max(0.0),
        Criterion::Value => return Sample::Value(Some(planned.load - capacity)),
    };
    let size = criterion.dispersion(planned.load);
    let window = |_| Share {
        lost: drawn(part * requests / (WINDOWS * size), random) * size,
        planned: requests / WINDOWS,
    };
    let windows: Vec<Share> = (0..WINDOWS as usize).map(window).collect();
    Sample::Share { all: Share::sum(&windows), windows }
}

/// Draws a number of events from the Poisson distribution with this mean.
fn drawn(mean: f64, random: &mut SmallRng) -> f64 {
    let mut gap = || -(1.0 - random.random::<f64>()).ln();
    let (mut at, mut count) = (gap(), 0.0);
    // With a large mean, chance does not matter.
    if mean > 1_000.0 {
        return mean;
    }
    while at < mean {
        (at, count) = (at + gap(), count + 1.0);
    }
    count
}
