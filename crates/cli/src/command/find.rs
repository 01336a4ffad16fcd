//! `hoptax find`: finds the highest rate at which a server, or each of several arms of a study, holds objectives.

mod arms;
mod common;
mod sweep;
mod trials;

use std::ffi::OsStr;
use std::path::Path;
use std::time::{Duration, Instant};

use hoptax_report::documents;
use hoptax_report::numbers::rate;
use hoptax_result::{FindEnd, FindResult, FindTrial, FoundGoal};
use hoptax_session::{environment, thresholds};
use hoptax_stats::search::{Ending, Goal, Limits, Planned, Search, Step};

use super::load::{check_account, trial_of};
use super::never_halt;
use crate::arguments::{FindArguments, Preset};
use crate::exit::{Code, Failure};
use crate::interrupt;
use crate::print;
use common::{LOWEST_RATE, code, evidence, found, limits_processes, measured, range_of, recording, refusal};
use trials::Trials;

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
    let begun = Instant::now();
    let limits = thresholds::limits(&arguments.thresholds)?;
    let settings = Settings::of(arguments.preset);
    check_account(limits_processes(&arguments.objectives), &arguments.traffic)?;
    let mut spec = recording(trial_of(&arguments.traffic)?, &arguments.objectives);
    let interrupt = interrupt::listen()?;
    let servers = spec.traffic.addresses().map(|address| address.ip());
    let awake = never_halt::awake_for_servers(servers, arguments.traffic.never_halt)?;
    spec.never_halted = awake.is_some();
    let environment = environment::of_program(spec.never_halted);
    let mut trials = Trials::new(arguments, settings, spec, environment, limits, &interrupt);
    let Some((plan, closed_loop_rate)) = trials.closed_loop()? else { return Ok(Code::Interrupted) };

    let budget = arguments.budget.unwrap_or(settings.budget);
    // The last trial may wait for its last responses.
    let left = budget.saturating_sub(begun.elapsed() + trials.timeout());
    let range = range_of(arguments, settings, closed_loop_rate, left);
    let goals = goals(arguments);
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
    let (tried, mut failure) = run_trials(&mut search, &mut trials, &goals)?;
    let ended_by = match search.next() {
        _ if interrupt.is_requested() => FindEnd::Interrupt,
        _ if failure.is_some() => FindEnd::Failure,
        Step::Done(Ending::Complete) => FindEnd::Complete,
        _ => FindEnd::Budget,
    };
    let found: Vec<FoundGoal> =
        search.results().iter().zip(&goals).map(|(result, goal)| found(result, goal, &tried)).collect();
    let highest = found.iter().filter_map(|goal| goal.rate).max_by(f64::total_cmp);
    let may_sweep = arguments.sweep && matches!(ended_by, FindEnd::Complete | FindEnd::Budget);
    let sweep = match highest.filter(|_| may_sweep) {
        Some(highest) => {
            print::note(&format!("sweep up to {} requests/s: about {}", rate(highest), seconds(sweep_time)));
            let (sweep, ended_early) = sweep::run(&mut trials, highest, settings.goal.final_trial);
            failure = ended_early;
            Some(sweep)
        }
        None => None,
    };
    drop(awake);
    let ended_by = match failure {
        _ if interrupt.is_requested() => FindEnd::Interrupt,
        Some(_) => FindEnd::Failure,
        None => ended_by,
    };
    let result = FindResult {
        format: "hoptax.find/1".to_owned(),
        ended_by,
        goals: found,
        evidence: evidence(arguments.preset, &settings.goal),
        min_rate: range.min,
        max_rate: range.max,
        closed_loop_rate,
        budget_s: budget.as_secs_f64(),
        took_s: begun.elapsed().as_secs_f64(),
        trials: tried.into_iter().map(|(_, trial)| trial).collect(),
        sweep,
        plan,
        environment: trials.into_environment(),
    };
    print::document_or_json(arguments.json.as_deref(), &result, || documents::find(&result))?;
    match failure {
        // An error after an interrupt is a consequence of it.
        Some(error) if ended_by == FindEnd::Failure => Err(error),
        _ => Ok(code(result.ended_by, result.goals.iter().map(|goal| goal.state))),
    }
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
fn goals(arguments: &FindArguments) -> Vec<Vec<usize>> {
    let all = 0..arguments.objectives.len();
    if arguments.each { all.map(|one| vec![one]).collect() } else { vec![all.collect()] }
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
