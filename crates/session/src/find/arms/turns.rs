//! Runs the trials of searches on several arms, which take turns.

use std::time::{Duration, Instant};

use hoptax_load::trial::TrialSpec;
use hoptax_load::{MAX_RATE, Pace};
use hoptax_plan::plan::{Draws, Plan};
use hoptax_report::{documents, live};
use hoptax_result::{ArmTrial, Environment, FindEnd, FoundArm, LoadResult};
use hoptax_run::runner::Live;
use hoptax_stats::search::{
    Ending, GoalResult, Limits, Measured, Planned, Repetition, Search, SearchError, Step,
};

use super::super::common::{
    self, Near, Tried, criteria, found, known_rate, limits_processes, range_of, recording, refusal,
    unless_interrupted,
};
use super::super::options::{Options, Settings, Time};
use super::super::trials::{CLOSED_LOOP, answered_rate, hold, judged, silence, try_all};
use super::{ROUNDS, arrivals};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::update::{Say, Update};

/// Problem if the time limit is too short for a search.
const NO_TIME: &str = "half of --budget is for the searches, which is too short for one trial of each arm";
/// The share of the time limit that the searches may use; the rest is for the rounds.
const SHARE_OF_SEARCHES: f64 = 0.5;
/// Time limit for the last responses of the last trial.
const LAST_RESPONSES: Duration = Duration::from_secs(5);

/// Results of the searches and of the rounds.
pub(super) struct Searched {
    pub(super) ended_by: FindEnd,
    pub(super) arms: Vec<FoundArm>,
    pub(super) trials: Vec<ArmTrial>,
}

/// Searches on the arms of a plan.
pub(super) struct Turns<'a> {
    plan: &'a Plan,
    options: &'a Options<'a>,
    settings: Settings,
    environment: &'a Environment,
    time: Time,
    interrupt: &'a Interrupt,
    say: Say<'a>,
    /// Expected time of all searches and rounds.
    expected: Duration,
    /// Number of loads so far. Each has its own seed.
    number: u64,
    searches: Vec<ArmSearch>,
    /// Rate of each arm in each complete round.
    rounds: Vec<Vec<Option<f64>>>,
    trials: Vec<ArmTrial>,
}

/// The search on an arm.
struct ArmSearch {
    searching: Searching,
    limits: Limits,
    closed_loop_rate: f64,
}

/// A search that takes turns with others.
enum Searching {
    Whole(Search),
    Short(Repetition),
}

impl Searching {
    fn next(&self) -> Step {
        match self {
            Self::Whole(search) => search.next(),
            Self::Short(repetition) => repetition.next(),
        }
    }

    fn record(&mut self, planned: &Planned, measured: Measured) {
        match self {
            Self::Whole(search) => search.record(planned, measured),
            Self::Short(repetition) => repetition.record(planned, measured),
        }
    }
}

impl ArmSearch {
    fn result(&self) -> Option<GoalResult> {
        match &self.searching {
            Searching::Whole(search) => search.results().into_iter().next(),
            Searching::Short(_) => None,
        }
    }

    /// The rate that was found.
    fn near(&self) -> Option<f64> {
        self.result()?.estimate
    }
}

impl<'a> Turns<'a> {
    /// Prepares searches on the arms of `plan`. `time` is their budget; `expected` is the time that they take if their trials agree.
    pub(super) fn new(
        plan: &'a Plan,
        options: &'a Options<'a>,
        environment: &'a Environment,
        (time, expected): (Time, Duration),
        interrupt: &'a Interrupt,
        say: Say<'a>,
    ) -> Self {
        Self {
            plan,
            options,
            settings: options.settings(),
            environment,
            time,
            interrupt,
            say,
            expected,
            number: 0,
            searches: Vec::new(),
            rounds: Vec::new(),
            trials: Vec::new(),
        }
    }

    /// Searches on each arm, and then in rounds.
    pub(super) fn run(&mut self, live: &mut Live<'_>) -> Result<FindEnd, Failure> {
        let mut draws = Draws::in_round(self.plan, 0);
        live.restart(0, self.interrupt.flag()).map_err(Failure::environment)?;
        if !self.begin(live, &mut draws)? {
            return Ok(FindEnd::Interrupt);
        }
        let mut searches = std::mem::take(&mut self.searches);
        let mut all: Vec<Option<&mut ArmSearch>> = searches.iter_mut().map(Some).collect();
        let turns = self.take_turns(live, None, &mut draws, &mut all);
        self.searches = searches;
        let ended_by = match turns? {
            FindEnd::Interrupt => return Ok(FindEnd::Interrupt),
            ended_by => ended_by,
        };
        let near: Vec<Option<f64>> = self.searches.iter().map(ArmSearch::near).collect();
        let is_first_known = near.first().is_some_and(Option::is_some);
        let known = near.iter().flatten().count();
        let of_rounds =
            if is_first_known && known > 1 { self.rounds(live, &near)? } else { FindEnd::Complete };
        if of_rounds != FindEnd::Interrupt {
            live.end().map_err(Failure::environment)?;
        }
        Ok(if of_rounds == FindEnd::Complete { ended_by } else { of_rounds })
    }

    /// Returns the results; None if no search has begun.
    pub(super) fn finish(self, ended_by: FindEnd) -> Option<Searched> {
        let goal: Vec<usize> = (0..self.options.objectives.len()).collect();
        let arms = self.plan.arms.iter().zip(&self.searches).enumerate();
        let arms: Vec<FoundArm> = arms
            .filter_map(|(number, (arm, search))| {
                let result = search.result()?;
                let of_round = |round: &Vec<Option<f64>>| round.get(number).copied().flatten();
                Some(FoundArm {
                    arm: arm.id.clone(),
                    found: found(&result, &goal, self.options.objectives),
                    min_rate: search.limits.min,
                    max_rate: search.limits.max,
                    closed_loop_rate: search.closed_loop_rate,
                    round_rates: self.rounds.iter().map(of_round).collect(),
                    ratio: None,
                    no_ratio: None,
                })
            })
            .collect();
        (!arms.is_empty()).then_some(Searched { ended_by, arms, trials: self.trials })
    }

    /// Runs a closed loop on each arm, and begins its search there; false if it was interrupted.
    fn begin(&mut self, live: &mut Live<'_>, draws: &mut Draws) -> Result<bool, Failure> {
        let mut rates = vec![0.0; self.plan.arms.len()];
        for arm in draws.order(self.plan.arms.len()) {
            let Some(result) = self.load(live, arm, None, self.settings.warmup, CLOSED_LOOP)? else {
                return Ok(false);
            };
            if result.book.answered == 0 {
                let message = format!("arm `{}`: {}", self.name_of(arm), silence(&result, CLOSED_LOOP));
                return Err(Failure::environment(message));
            }
            if let Some(rate) = rates.get_mut(arm) {
                *rate = answered_rate(&result);
            }
        }
        let left = self.time.left_of(SHARE_OF_SEARCHES);
        let (elapsed, arms) = (self.time.elapsed(), rates.len().max(1) as u32);
        let least = |trial: Duration| (elapsed + trial * arms).div_f64(SHARE_OF_SEARCHES);
        let budget = left / arms;
        for rate in rates {
            let limits = range_of(self.options, Near::closed_loop(rate), budget);
            let objectives = self.options.objectives;
            let goals = common::goals(objectives.len(), false);
            let search = Search::new(&criteria(objectives), &goals, limits)
                .map_err(|error| refusal(&error, NO_TIME, least))?;
            let searching = Searching::Whole(search);
            self.searches.push(ArmSearch { searching, limits, closed_loop_rate: rate });
        }
        Ok(true)
    }

    /// Repeats short searches near the rates found so far, each time with restarted processes.
    fn rounds(&mut self, live: &mut Live<'_>, near: &[Option<f64>]) -> Result<FindEnd, Failure> {
        let mut longest = Duration::ZERO;
        let max = self.options.max_rate.unwrap_or(MAX_RATE);
        for round in 1..=ROUNDS {
            let begun = Instant::now();
            let left = self.time.left_before(LAST_RESPONSES);
            if left < longest {
                return Ok(FindEnd::Budget);
            }
            let mut draws = Draws::in_round(self.plan, round);
            live.restart(round, self.interrupt.flag()).map_err(Failure::environment)?;
            let budget = left / near.iter().flatten().count().max(1) as u32;
            let Settings { width, warmup, .. } = self.settings;
            let criteria = criteria(self.options.objectives);
            let mut searches = Vec::with_capacity(near.len());
            for near in near {
                let part = draws.part();
                let begin = |near: f64| -> Result<ArmSearch, SearchError> {
                    let limits = Limits { width, budget, warmup, ..Limits::new(near, max) };
                    let repetition = Repetition::new(&criteria, near, max, part, limits)?;
                    let searching = Searching::Short(repetition);
                    Ok(ArmSearch { searching, limits, closed_loop_rate: near })
                };
                match near.map(begin).transpose() {
                    Ok(search) => searches.push(search),
                    Err(SearchError::Budget { .. }) => return Ok(FindEnd::Budget),
                    Err(error) => return Err(refusal(&error, NO_TIME, |trial| trial)),
                }
            }
            let mut all: Vec<Option<&mut ArmSearch>> = searches.iter_mut().map(Option::as_mut).collect();
            match self.take_turns(live, Some(round), &mut draws, &mut all)? {
                FindEnd::Complete => {}
                ended_by => return Ok(ended_by),
            }
            let rate = |search: &Option<ArmSearch>| match &search.as_ref()?.searching {
                Searching::Short(repetition) => repetition.load(),
                Searching::Whole(_) => None,
            };
            self.rounds.push(searches.iter().map(rate).collect());
            longest = longest.max(begun.elapsed());
        }
        Ok(FindEnd::Complete)
    }

    /// Runs trials of the searches, one of each in turn, in random order, until all are done.
    fn take_turns(
        &mut self,
        live: &mut Live<'_>,
        round: Option<u32>,
        draws: &mut Draws,
        searches: &mut [Option<&mut ArmSearch>],
    ) -> Result<FindEnd, Failure> {
        let width = self.plan.arms.iter().map(|arm| arm.id.len()).max().unwrap_or(0);
        let place = round.map_or_else(|| "search ".to_owned(), |round| format!("round {round}"));
        let is_open = |search: &Option<&mut ArmSearch>| {
            search.as_ref().is_some_and(|search| matches!(search.searching.next(), Step::Trial(_)))
        };
        while searches.iter().any(is_open) {
            for arm in draws.order(searches.len()) {
                let next = searches.get(arm).and_then(Option::as_ref).map(|search| search.searching.next());
                let Some(Step::Trial(planned)) = next else { continue };
                let name = self.name_of(arm);
                let now = format!("{} {name}: {}", place.trim_end(), common::trial_text(&planned));
                (self.say)(Update::Search(&self.state(searches, now)));
                let Some(tried) = self.trial(live, arm, &planned)? else { return Ok(FindEnd::Interrupt) };
                let shown = documents::find_trial(&tried.trial);
                (self.say)(Update::Note(&format!("{place}  {name:<width$}  {shown}")));
                if let Some(search) = searches.get_mut(arm).and_then(Option::as_mut) {
                    search.searching.record(&planned, tried.measured);
                }
                self.trials.push(ArmTrial { arm: name.to_owned(), round, trial: tried.trial });
            }
        }
        let is_late = |search: &Option<&mut ArmSearch>| {
            search.as_ref().is_some_and(|search| search.searching.next() == Step::Done(Ending::OutOfTime))
        };
        Ok(if searches.iter().any(is_late) { FindEnd::Budget } else { FindEnd::Complete })
    }

    /// The state of the searches for the live view; `now` describes the step in progress. During rounds, it shows the rates that the whole
    /// searches found.
    fn state(&self, searches: &[Option<&mut ArmSearch>], now: String) -> live::Search {
        let known = |(arm, search): (usize, &ArmSearch)| {
            Some(known_rate(self.name_of(arm), &search.result()?, &search.limits))
        };
        // A search that is still running is among `searches`, and not yet in `self.searches`.
        let running =
            searches.iter().enumerate().filter_map(|(arm, search)| Some((arm, &**search.as_ref()?)));
        let whole = self.searches.iter().enumerate();
        live::Search {
            trials: self.trials.len() as u64,
            now,
            known: running.chain(whole).filter_map(known).collect(),
            elapsed_s: self.time.elapsed().as_secs_f64(),
            expected_s: self.expected.as_secs_f64(),
            most_s: self.time.budget.as_secs_f64(),
        }
    }

    /// Runs a trial on an arm; None if it was interrupted.
    fn trial(
        &mut self,
        live: &mut Live<'_>,
        arm: usize,
        planned: &Planned,
    ) -> Result<Option<Tried>, Failure> {
        let begun = Instant::now();
        let result = self.load(live, arm, Some(planned.load), planned.warmup, planned.duration)?;
        let Options { objectives, limits, .. } = self.options;
        Ok(result.map(|result| judged(result, planned, begun.elapsed(), objectives, limits)))
    }

    /// Runs a load on an arm, a closed loop without a rate; None if it was interrupted.
    fn load(
        &mut self,
        live: &mut Live<'_>,
        arm: usize,
        rate: Option<f64>,
        warmup: Duration,
        duration: Duration,
    ) -> Result<Option<LoadResult>, Failure> {
        if self.interrupt.is_requested() {
            return Ok(None);
        }
        let objectives = self.options.objectives;
        let arrivals = arrivals(self.plan);
        let spec = |spec: TrialSpec| {
            let spec = recording(spec, objectives);
            TrialSpec {
                open: rate.map(|rate| (Pace::Constant(rate), arrivals)),
                duration,
                warmup,
                seed: self.plan.seed.wrapping_add(self.number),
                account: spec.account.filter(|_| limits_processes(objectives)),
                ..spec
            }
        };
        // The arm may still be busy after a closed loop or a failed trial.
        let settle = |result: &LoadResult| {
            let is_busy = rate.is_none() || !hold(&try_all(objectives, result));
            if is_busy { self.settings.settle } else { Duration::ZERO }
        };
        let result = live.load(arm, spec, settle, self.environment.clone(), self.interrupt.flag());
        self.number += 1;
        unless_interrupted(result.map(|(result, _)| result), self.interrupt)
    }

    fn name_of(&self, arm: usize) -> &'a str {
        self.plan.arms.get(arm).map_or("", |arm| arm.id.as_str())
    }
}
