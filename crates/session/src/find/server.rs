//! Finds the highest rate at which a server holds objectives.

use std::time::Duration;

use hoptax_checks::objective::Objective;
use hoptax_load::Arrivals;
use hoptax_load::trial::{self, TrialSpec};
use hoptax_report::live;
use hoptax_report::numbers::rate;
use hoptax_result::{Environment, FindBody, FindEnd, FindResult, FindState, FindTrial, FoundGoal, Sweep};
use hoptax_stats::search::{Ending, Limits, Search, Step};

use super::common::{
    self, Near, Tried, criteria, evidence, forecast, found, known_rate, names, progress, range_of, refusal,
    seconds, trial_text,
};
use super::options::{Options, Settings, Time};
use super::trials::{CLOSED_LOOP, SendLoad, Trials, answered_rate};
use super::{Found, fastest, named, sweep};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::load::Load;
use crate::update::{Say, Update};
use crate::{awake, environment};

/// The problem if the closed loop and the wait for the last responses use up the budget.
const NO_TIME: &str =
    "--budget leaves no time for a trial after the closed loop, with --timeout for the last responses";

/// What is searched for on a server.
#[derive(Clone, Debug)]
pub struct Aim {
    /// The arrival process of trials.
    pub arrivals: Arrivals,
    /// The rate to find.
    pub goal: Goal,
    /// True to search for the highest rate of each objective, not only for the rate at which all hold.
    pub each: bool,
    /// True to measure response times up to the rate afterwards.
    pub sweep: bool,
}

impl Default for Aim {
    fn default() -> Self {
        Self { arrivals: Arrivals::Poisson, goal: Goal::default(), each: false, sweep: false }
    }
}

/// The rate that a search is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Goal {
    /// The highest at which the objectives hold.
    #[default]
    Objectives,
    /// The highest at which response times stay in their fastest mode, and the objectives, if any, hold.
    FastestMode,
}

/// A server to search on, and what is searched for.
#[derive(Clone, Debug)]
pub(super) struct Server {
    /// The closed loop before the search. All trials share its requests, connections and seed.
    pub(super) spec: TrialSpec,
    pub(super) aim: Aim,
}

/// Searches on the server of a load.
///
/// # Errors
/// When the load or the aim is not valid, when the search cannot begin, and when it is interrupted before anything is known.
pub fn on_server(
    load: &Load,
    aim: Aim,
    options: &Options<'_>,
    interrupt: &Interrupt,
    say: Say<'_>,
) -> Result<Found<FindResult>, Failure> {
    named::check_urls(&load.requests.urls)?;
    if options.objectives.is_empty() && aim.goal != Goal::FastestMode {
        return Err(Failure::bad_input("name an objective that must hold, such as `--slo 'p99<5ms'`"));
    }
    load.check_account(common::limits_processes(options.objectives))?;
    let mut spec = load.unscheduled(say)?;
    interrupt.check()?;
    let servers = spec.traffic.addresses().map(|address| address.ip());
    let awake = awake::for_servers(servers, options.never_halt, say)?;
    spec.never_halted = awake.is_some();
    let environment = environment::current(spec.never_halted);
    let of_machine = environment.clone();
    let server = Server { spec, aim };
    let send_load = move |spec: &TrialSpec| {
        let sent = trial::run(spec, of_machine.clone(), interrupt.flag(), None);
        sent.map_err(|error| load.tls.failed(&error))
    };
    search(server, options, environment, Box::new(send_load), interrupt, say)
}

/// Searches on a server; `send_load` sends a load to it from this machine.
pub(super) fn search(
    server: Server,
    options: &Options<'_>,
    environment: Environment,
    send_load: SendLoad<'_>,
    interrupt: &Interrupt,
    say: Say<'_>,
) -> Result<Found<FindResult>, Failure> {
    common::check_range(options)?;
    let settings = options.settings();
    let time = Time::begin(options.budget.unwrap_or(settings.budget));
    let Server { spec, aim: Aim { arrivals, goal, each, sweep } } = server;
    let mut trials = Trials::new(spec, arrivals, options, interrupt, send_load);
    let length = if goal == Goal::FastestMode { fastest::LENGTH } else { CLOSED_LOOP };
    let first = trials.closed_loop(length)?.ok_or_else(Failure::interrupted)?;
    let (plan, closed_loop_rate) = (first.plan.clone(), answered_rate(&first));
    let mut near = Some(Near::closed_loop(closed_loop_rate));
    let mut fastest_mode = None;
    if goal == Goal::FastestMode {
        let shown = fastest::look(&mut trials, first, options.max_rate)?.ok_or_else(Failure::interrupted)?;
        near = shown.aim.map(|(objective, near)| {
            trials.aim_at(objective);
            near
        });
        fastest_mode = Some(shown.mode);
    }

    // The last trial may wait for its last responses.
    let left = time.left_before(trials.spec.timeout);
    let range = range_of(options, near.unwrap_or(Near::closed_loop(closed_loop_rate)), left);
    let searched = match near {
        Some(_) => OnRange { range, settings, each, sweep, time, say }.search(&mut trials, interrupt)?,
        None => Searched::default(),
    };
    let body = FindBody {
        ended_by: searched.ended_by(interrupt),
        fastest_mode,
        goals: searched.found,
        evidence: evidence(options.preset, settings.width),
        arrivals: trials.arrivals.to_string(),
        min_rate: range.min,
        max_rate: range.max,
        closed_loop_rate,
        budget_s: time.budget.as_secs_f64(),
        deciding_budget_s: searched
            .deciding_budget
            .map(|needed| time.budget.saturating_sub(left).saturating_add(needed).as_secs_f64()),
        took_s: time.elapsed().as_secs_f64(),
        trials: searched.trials,
        sweep: searched.sweep,
        plan,
    };
    drop(trials);
    let result = FindResult::new(environment, body);
    // An error after an interrupt is a consequence of it.
    let failure = searched.failure.filter(|_| result.ended_by == FindEnd::Failure);
    Ok(Found { result, failure })
}

/// Results of a search and of the sweep after it.
#[derive(Debug, Default)]
struct Searched {
    found: Vec<FoundGoal>,
    trials: Vec<FindTrial>,
    sweep: Option<Sweep>,
    /// True if the next trial did not fit into the budget.
    is_out_of_time: bool,
    /// The budget with which the search would reach a decision; None unless this one ended undecided.
    deciding_budget: Option<Duration>,
    /// Reason why a trial could not run; None if all ran.
    failure: Option<Failure>,
}

impl Searched {
    fn ended_by(&self, interrupt: &Interrupt) -> FindEnd {
        if interrupt.is_requested() {
            FindEnd::Interrupt
        } else if self.failure.is_some() {
            FindEnd::Failure
        } else if self.is_out_of_time {
            FindEnd::Budget
        } else {
            FindEnd::Complete
        }
    }
}

/// A search in a range of rates.
struct OnRange<'a> {
    range: Limits,
    settings: Settings,
    each: bool,
    sweep: bool,
    time: Time,
    say: Say<'a>,
}

impl OnRange<'_> {
    /// Searches, and then sweeps up to the found rate if a sweep is wanted.
    fn search(&self, trials: &mut Trials<'_>, interrupt: &Interrupt) -> Result<Searched, Failure> {
        let Self { range, settings, time, say, .. } = self;
        let note = |text: &str| say(Update::Note(text));
        let goals = common::goals(trials.objectives.len(), self.each);
        let objectives = trials.objectives.clone();
        let mut search = self.begin(&objectives, &goals, trials.spec.timeout)?;
        let expected = time.elapsed() + search.expected_duration();
        let sweep_time = sweep::duration(settings.sweep_trial, settings.warmup);
        let sweep_time = if self.sweep { sweep_time } else { Duration::ZERO };
        note(&format!(
            "search from {} to {} requests/s, {} arrivals{}: {}",
            rate(range.min),
            rate(range.max),
            trials.arrivals,
            if self.sweep { ", then a sweep" } else { "" },
            forecast(expected + sweep_time, time.budget + sweep_time)
        ));
        let of_goals = goals.iter().map(|goal| names(goal, &objectives).join(" and ")).collect();
        let shown = Shown { of_goals, range: *range, time: *time, expected, sweep_time };
        let (tried, mut failure) = run_trials(&mut search, trials, &shown, *say)?;
        let is_out_of_time = !matches!(search.next(), Step::Done(Ending::Complete));
        let results = search.results();
        let knows_too_little = results.iter().any(|result| result.state == FindState::Unfinished);
        let deciding_budget = search.deciding_budget().filter(|_| knows_too_little);
        let of_goals = results.iter().zip(&goals);
        let found: Vec<FoundGoal> = of_goals.map(|(result, goal)| found(result, goal, &objectives)).collect();
        let highest = found.iter().filter_map(|goal| goal.rate).max_by(f64::total_cmp);
        let may_sweep = self.sweep && failure.is_none() && !interrupt.is_requested();
        let mut sweep = None;
        if let Some(highest) = highest.filter(|_| may_sweep) {
            let about = format!("sweep up to {} requests/s: about {}", rate(highest), seconds(sweep_time));
            note(&about);
            say(Update::Search(&shown.state(&search, tried.len(), about)));
            let swept = sweep::run(trials, highest, settings.warmup, settings.sweep_trial, *say);
            (sweep, failure) = (Some(swept.result), swept.failure);
        }
        Ok(Searched { found, trials: tried, sweep, is_out_of_time, deciding_budget, failure })
    }

    /// Begins the search; the last trial may wait for `last_responses`.
    fn begin(
        &self,
        objectives: &[Objective],
        goals: &[Vec<usize>],
        last_responses: Duration,
    ) -> Result<Search, Failure> {
        let least = |trial: Duration| self.time.elapsed() + last_responses + trial;
        Search::new(&criteria(objectives), goals, self.range).map_err(|error| refusal(&error, NO_TIME, least))
    }
}

/// Parts of the live view that stay the same during a search.
struct Shown {
    /// The objectives of each goal.
    of_goals: Vec<String>,
    range: Limits,
    time: Time,
    /// Expected time of the search, without the sweep.
    expected: Duration,
    sweep_time: Duration,
}

impl Shown {
    /// The state of the search after this many trials, for the live view; `now` describes the step in progress.
    fn state(&self, search: &Search, trials: usize, now: String) -> live::Search {
        let results = search.results();
        let known =
            self.of_goals.iter().zip(&results).map(|(of, result)| known_rate(of, result, &self.range));
        live::Search {
            trials: trials as u64,
            now,
            known: known.collect(),
            elapsed_s: self.time.elapsed().as_secs_f64(),
            expected_s: (self.expected + self.sweep_time).as_secs_f64(),
            most_s: (self.time.budget + self.sweep_time).as_secs_f64(),
        }
    }
}

/// Runs the trials of a search. If a trial after the first cannot run, returns the trials before it with the reason: a server may end under
/// overload, and the trials before that are the result.
///
/// # Errors
/// When the first trial cannot run.
fn run_trials(
    search: &mut Search,
    trials: &mut Trials<'_>,
    shown: &Shown,
    say: Say<'_>,
) -> Result<(Vec<FindTrial>, Option<Failure>), Failure> {
    let mut tried = Vec::new();
    while let Step::Trial(planned) = search.next() {
        say(Update::Search(&shown.state(search, tried.len(), trial_text(&planned))));
        let Tried { trial, measured } = match trials.run(&planned) {
            Ok(Some(one)) => one,
            Ok(None) => break,
            Err(error) if tried.is_empty() => return Err(error),
            Err(error) => return Ok((tried, Some(error))),
        };
        search.record(&planned, measured);
        say(Update::Trial(&trial));
        say(Update::Note(&progress(&trial, search)));
        tried.push(trial);
    }
    Ok((tried, None))
}
