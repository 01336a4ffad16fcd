//! `hoptax find`: finds the highest rate at which a server, or each of several arms of a study, holds objectives.

mod arms;
mod common;
mod fastest;
mod sweep;
mod trials;

use std::ffi::OsStr;
use std::path::Path;
use std::time::{Duration, Instant};

use hoptax_report::documents;
use hoptax_report::numbers::rate;
use hoptax_result::{FastestMode, FindBody, FindEnd, FindResult, FindState, FindTrial, FoundGoal, Sweep};
use hoptax_session::{Interrupt, environment, thresholds};
use hoptax_stats::search::{Ending, Goal, Limits, Planned, Search, Step};

use super::load::{check_account, trial_of};
use super::never_halt;
use crate::arguments::{FindArguments, FindGoal, Preset};
use crate::exit::{Code, Failure};
use crate::interrupt;
use crate::print;
use common::{LOWEST_RATE, Near, code, evidence, found, limits_processes, measured, range_of, refusal};
use trials::{CLOSED_LOOP, Trials, answered_rate};

/// The trials of a search, in order.
type Tried = Vec<(Planned, FindTrial)>;

/// What a preset stands for.
#[derive(Clone, Copy, Debug)]
struct Settings {
    goal: Goal,
    /// Time before the record of each trial.
    warmup: Duration,
    /// Time after a trial that failed, in which the server empties its queues.
    settle: Duration,
    budget: Duration,
}

impl Settings {
    fn of(preset: Preset) -> Self {
        match preset {
            Preset::Quick => Self {
                goal: Goal::QUICK,
                warmup: Duration::from_millis(300),
                settle: Duration::from_millis(200),
                budget: Duration::from_mins(5),
            },
            Preset::Careful => Self {
                goal: Goal::CAREFUL,
                warmup: Duration::from_secs(1),
                settle: Duration::from_secs(1),
                budget: Duration::from_mins(90),
            },
            // RFC 2544, section 23: two seconds for the last frames, and five for the device to settle.
            Preset::Rfc2544 => Self {
                goal: Goal::RFC2544,
                warmup: Duration::from_secs(1),
                settle: Duration::from_secs(7),
                budget: Duration::from_hours(3),
            },
        }
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &FindArguments) -> Result<Code, Failure> {
    if let Some(chosen) = &arguments.arms {
        return arms::run(arguments, &chosen.0);
    }
    refuse_study(arguments)?;
    let is_for_mode = arguments.goal == FindGoal::FastestMode;
    if arguments.objectives.is_empty() && !is_for_mode {
        return Err(Failure::bad_input("name an objective that must hold, as `--slo 'p99<5ms'`"));
    }
    let begun = Instant::now();
    let limits = thresholds::limits(&arguments.thresholds)?;
    let settings = Settings::of(arguments.preset);
    check_account(limits_processes(&arguments.objectives), &arguments.traffic)?;
    let mut spec = trial_of(&arguments.traffic)?;
    let interrupt = interrupt::listen()?;
    let servers = spec.traffic.addresses().map(|address| address.ip());
    let awake = never_halt::awake_for_servers(servers, arguments.traffic.never_halt)?;
    spec.never_halted = awake.is_some();
    let environment = environment::here(spec.never_halted);
    let mut trials = Trials::new(arguments, settings, spec, environment, limits, &interrupt);
    let length = if is_for_mode { fastest::LENGTH } else { CLOSED_LOOP };
    let Some(first) = trials.closed_loop(length)? else { return Ok(Code::Interrupted) };
    let (plan, closed_loop_rate) = (first.plan.clone(), answered_rate(&first));
    let mut near = Some(Near::closed_loop(closed_loop_rate));
    let mut fastest_mode = None;
    if is_for_mode {
        let Some(shown) = fastest::look(&mut trials, first)? else { return Ok(Code::Interrupted) };
        near = shown.aim.map(|(objective, near)| {
            trials.aim_at(objective);
            near
        });
        fastest_mode = Some(shown.mode);
    }

    let budget = arguments.budget.unwrap_or(settings.budget);
    // The last trial may wait for its last responses.
    let left = budget.saturating_sub(begun.elapsed() + trials.timeout());
    let range = range_of(arguments, settings, near.unwrap_or(Near::closed_loop(closed_loop_rate)), left);
    let searched = match near {
        Some(_) => search_in(range, arguments, &mut trials, &interrupt, (begun, budget))?,
        None => Searched::default(),
    };
    drop(awake);
    let body = FindBody {
        ended_by: searched.ended_by(&interrupt),
        fastest_mode,
        goals: searched.found,
        evidence: evidence(arguments.preset, &settings.goal),
        min_rate: range.min,
        max_rate: range.max,
        closed_loop_rate,
        budget_s: budget.as_secs_f64(),
        took_s: begun.elapsed().as_secs_f64(),
        trials: searched.tried.into_iter().map(|(_, trial)| trial).collect(),
        sweep: searched.sweep,
        plan,
    };
    let result = FindResult::new(trials.into_environment(), body);
    print::document_or_json(arguments.json.as_deref(), &result, || documents::find(&result))?;
    match searched.failure {
        // An error after an interrupt is a consequence of it.
        Some(error) if result.ended_by == FindEnd::Failure => Err(error),
        _ => Ok(code_of(&result)),
    }
}

/// The exit code of a result. A fastest mode that the generator did not let be seen is as unknown as a rate that it did not produce.
fn code_of(result: &FindResult) -> Code {
    let unknown = result.fastest_mode.as_ref().and_then(FastestMode::unknown);
    let states = result.goals.iter().map(|goal| goal.state);
    code(result.ended_by, states.chain(unknown.map(|_| FindState::GeneratorLimited)))
}

/// What a search, and the sweep after it, came to.
#[derive(Debug, Default)]
struct Searched {
    found: Vec<FoundGoal>,
    tried: Tried,
    sweep: Option<Sweep>,
    /// Whether the next trial did not fit into the budget.
    is_out_of_time: bool,
    /// Why a trial could not run.
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

/// Searches a range, within a budget since the beginning, and sweeps up to the rate that it finds if that is wanted.
fn search_in(
    range: Limits,
    arguments: &FindArguments,
    trials: &mut Trials<'_>,
    interrupt: &Interrupt,
    (begun, budget): (Instant, Duration),
) -> Result<Searched, Failure> {
    let settings = Settings::of(arguments.preset);
    let goals = goals(trials.objectives().len(), arguments.each);
    let mut search = search(&goals, settings, range)?;
    let sweep_time = sweep::duration(settings.goal.final_trial, settings.warmup);
    let sweep_time = if arguments.sweep { sweep_time } else { Duration::ZERO };
    print::note(&format!(
        "search from {} to {} requests/s{}: about {} if trials agree, at most {}",
        rate(range.min),
        rate(range.max),
        if arguments.sweep { ", then a sweep" } else { "" },
        seconds(begun.elapsed() + search.expected_duration() + sweep_time),
        seconds(budget + sweep_time)
    ));
    let (tried, mut failure) = run_trials(&mut search, trials, &goals)?;
    let is_out_of_time = !matches!(search.next(), Step::Done(Ending::Complete));
    let found: Vec<FoundGoal> =
        search.results().iter().zip(&goals).map(|(result, goal)| found(result, goal, &tried)).collect();
    let highest = found.iter().filter_map(|goal| goal.rate).max_by(f64::total_cmp);
    let may_sweep = arguments.sweep && failure.is_none() && !interrupt.is_requested();
    let mut sweep = None;
    if let Some(highest) = highest.filter(|_| may_sweep) {
        print::note(&format!("sweep up to {} requests/s: about {}", rate(highest), seconds(sweep_time)));
        let (swept, ended_early) = sweep::run(trials, highest, settings.goal.final_trial);
        (sweep, failure) = (Some(swept), ended_early);
    }
    Ok(Searched { found, tried, sweep, is_out_of_time, failure })
}

/// Runs the trials of a search, and returns them with the reason why the last one could not run, if it could not: a server may end under
/// overload, and what is known by then is the result.
///
/// # Errors
/// When the first trial cannot run.
fn run_trials(
    search: &mut Search,
    trials: &mut Trials<'_>,
    goals: &[Vec<usize>],
) -> Result<(Tried, Option<Failure>), Failure> {
    let mut tried = Tried::new();
    while let Step::Trial(planned) = search.next() {
        let trial = match trials.run(&planned) {
            Ok(Some(trial)) => trial,
            Ok(None) => break,
            Err(error) if tried.is_empty() => return Err(error),
            Err(error) => return Ok((tried, Some(error))),
        };
        print::note(&documents::find_trial(&trial));
        search.record(&planned, measured(&trial, goals));
        tried.push((planned, trial));
    }
    Ok((tried, None))
}

/// Refuses a study file without `--arms`.
fn refuse_study(arguments: &FindArguments) -> Result<(), Failure> {
    let is_study =
        |url: &&str| matches!(Path::new(url).extension().and_then(OsStr::to_str), Some("yaml" | "yml"));
    let urls = arguments.traffic.urls.iter().map(|url| &**url);
    match urls.filter(|url| !url.contains("://")).find(is_study) {
        Some(study) => Err(Failure::bad_input(format!(
            "`{study}` is a study file: name the arms to search, as `--arms baseline,lua`"
        ))),
        None => Ok(()),
    }
}

/// The objectives of each goal, as indices: one goal for all objectives, or one for each.
fn goals(objectives: usize, each: bool) -> Vec<Vec<usize>> {
    if each { (0..objectives).map(|one| vec![one]).collect() } else { vec![(0..objectives).collect()] }
}

/// The search in a range.
fn search(goals: &[Vec<usize>], settings: Settings, range: Limits) -> Result<Search, Failure> {
    if range.min < LOWEST_RATE {
        return Err(Failure::bad_input(format!(
            "--min-rate must be at least {LOWEST_RATE}: the shortest trials last {:?} and need a request",
            settings.goal.first_trial
        )));
    }
    Search::new(&vec![settings.goal; goals.len()], range)
        .map_err(|error| refusal(&error, "--budget leaves no time for one trial"))
}

fn seconds(duration: Duration) -> String {
    humantime::format_duration(Duration::from_secs(duration.as_secs_f64().ceil() as u64)).to_string()
}
