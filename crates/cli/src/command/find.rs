//! `hoptax find`: finds the highest rate at which a server, or each of several arms of a study, holds objectives.

mod arms;
mod sweep;
mod trials;

use std::ffi::OsStr;
use std::path::Path;
use std::time::{Duration, Instant};

use hoptax_checks::objective::Objective;
use hoptax_load::MAX_RATE;
use hoptax_report::terminal;
use hoptax_result::{FindEnd, FindEvidence, FindResult, FindState, FindTrial, FoundGoal};
use hoptax_search::{
    Ending, Goal, GoalResult, Limits, Measured, Outcome, Planned, Search, SearchError, State, Step,
};

use super::load::{check_account, thresholds, trial_of};
use super::never_halt;
use crate::arguments::{FindArguments, Preset};
use crate::exit::{Code, Failure};
use crate::interrupt::Interrupt;
use crate::{print, state};
use trials::Trials;

/// The highest rate without `--max-rate`, as a multiple of the rate of the closed loop. An open loop on as many connections
/// carries hardly more than a closed one.
const ABOVE_CLOSED_LOOP: f64 = 2.0;
/// The lowest rate without `--min-rate`, as a share of the highest.
const LOWEST_SHARE: f64 = 1e-3;
/// The lowest rate that sends a request in the shortest trial, requests per second.
const LOWEST_RATE: f64 = 1.0;

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
    let limits = thresholds(&arguments.thresholds)?;
    let settings = Settings::of(arguments.preset);
    let limits_processes = arguments.objectives.iter().any(Objective::needs_account);
    check_account(limits_processes, &arguments.traffic)?;
    let mut spec = trial_of(&arguments.traffic)?;
    spec.percentiles = arguments.objectives.iter().filter_map(Objective::percentile).collect();
    spec.limits_us = arguments.objectives.iter().filter_map(Objective::limit_us).collect();
    let interrupt = Interrupt::listen()?;
    let servers = spec.traffic.addresses().map(|address| address.ip());
    let awake = never_halt::awake_for_servers(servers, arguments.traffic.never_halt)?;
    spec.never_halted = awake.is_some();
    let environment = state::environment(spec.never_halted);
    let mut trials = Trials::new(arguments, settings, spec, environment, limits, &interrupt);
    let Some((plan, closed_loop_rate)) = trials.closed_loop()? else { return Ok(Code::Interrupted) };

    let max_rate = arguments.max_rate.unwrap_or((closed_loop_rate * ABOVE_CLOSED_LOOP).min(MAX_RATE));
    let min_rate = arguments.min_rate.unwrap_or((max_rate * LOWEST_SHARE).max(LOWEST_RATE));
    let budget = arguments.budget.unwrap_or(settings.budget);
    let goals = goals(arguments);
    let mut search =
        search(&goals, settings, &trials, [min_rate, closed_loop_rate, max_rate], budget, begun)?;
    let sweep_time = sweep::duration(settings.goal.final_trial, settings.warmup);
    let sweep_time = if arguments.sweep { sweep_time } else { Duration::ZERO };
    print::note(&format!(
        "search from {} to {} requests/s{}: about {} if trials agree, at most {}",
        terminal::rate(min_rate),
        terminal::rate(max_rate),
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
            print::note(&format!(
                "sweep up to {} requests/s: about {}",
                terminal::rate(highest),
                seconds(sweep_time)
            ));
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
        evidence: FindEvidence {
            preset: arguments.preset.as_str().to_owned(),
            final_trial_s: settings.goal.final_trial.as_secs_f64(),
            duration_sum_s: settings.goal.duration_sum.as_secs_f64(),
            exceed_ratio: settings.goal.exceed_ratio,
            width: settings.goal.width,
        },
        min_rate,
        max_rate,
        closed_loop_rate,
        budget_s: budget.as_secs_f64(),
        took_s: begun.elapsed().as_secs_f64(),
        trials: tried.into_iter().map(|(_, trial)| trial).collect(),
        sweep,
        plan,
        environment: trials.into_environment(),
    };
    print::table_or_json(arguments.json.as_deref(), &result, || terminal::find(&result, print::style()))?;
    match failure {
        // An error after an interrupt is a consequence of it.
        Some(error) if ended_by == FindEnd::Failure => Err(error),
        _ => Ok(code(&result)),
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
        print::note(&terminal::find_trial(&trial));
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

/// The search, in the time that is left.
fn search(
    goals: &[Vec<usize>],
    settings: Settings,
    trials: &Trials<'_>,
    [min, start, max]: [f64; 3],
    budget: Duration,
    begun: Instant,
) -> Result<Search, Failure> {
    if min < LOWEST_RATE {
        return Err(Failure::bad_input(format!(
            "--min-rate must be at least {LOWEST_RATE}: the shortest trials last {:?} and need a request",
            settings.goal.first_trial
        )));
    }
    let limits = Limits {
        min,
        max,
        start: start.min(max),
        // The last trial may wait for its last responses.
        budget: budget.saturating_sub(begun.elapsed() + trials.timeout()),
        overhead: settings.warmup,
    };
    Search::new(&vec![settings.goal; goals.len()], limits).map_err(|error| {
        Failure::bad_input(match error {
            SearchError::Range { min, max } => format!(
                "the lowest rate, {min}/s, must be below the highest, {max}/s: set --min-rate and --max-rate"
            ),
            SearchError::Budget { .. } => {
                format!(
                    "--budget leaves no time for one trial: {error}; raise it, or choose a shorter --preset"
                )
            }
            other => other.to_string(),
        })
    })
}

/// What a trial tells the search.
fn measured(trial: &FindTrial, goals: &[Vec<usize>]) -> Measured {
    let outcome = |goal: &Vec<usize>| {
        let objectives = goal.iter().filter_map(|one| trial.objectives.get(*one));
        objectives.fold(Outcome { holds: true, loss_ratio: 0.0 }, |all, one| Outcome {
            holds: all.holds && one.holds,
            loss_ratio: all.loss_ratio.max(one.loss_ratio),
        })
    };
    Measured {
        took: Duration::from_secs_f64(trial.took_s),
        carried: trial.answered_rate,
        outcomes: trial.generator_limits.is_empty().then(|| goals.iter().map(outcome).collect()),
    }
}

fn found(result: &GoalResult, goal: &[usize], tried: &[(Planned, FindTrial)]) -> FoundGoal {
    let is_upper =
        |planned: &Planned| result.upper.is_some_and(|upper| planned.load.to_bits() == upper.to_bits());
    let at_upper: Vec<&FindTrial> = tried
        .iter()
        .filter(|(planned, trial)| is_upper(planned) && trial.generator_limits.is_empty())
        .map(|(_, trial)| trial)
        .collect();
    let failures: Vec<(usize, usize)> = goal
        .iter()
        .map(|objective| {
            let failed = |trial: &&&FindTrial| trial.objectives.get(*objective).is_some_and(|one| !one.holds);
            (*objective, at_upper.iter().filter(failed).count())
        })
        .collect();
    let name = |objective: usize| {
        tried.first().and_then(|(_, trial)| trial.objectives.get(objective)).map(|one| one.objective.clone())
    };
    FoundGoal {
        objectives: goal.iter().filter_map(|one| name(*one)).collect(),
        state: match result.state {
            State::Regular => FindState::Found,
            State::MaximumHeld => FindState::MaximumHeld,
            State::MinimumFailed => FindState::MinimumFailed,
            State::GeneratorLimited => FindState::GeneratorLimited,
            State::Unfinished => FindState::Unfinished,
        },
        rate: result.lower,
        upper_rate: result.upper,
        conditional_throughput: result.conditional_throughput,
        limited_by: limiting(failures).into_iter().filter_map(name).collect(),
    }
}

/// The objective that failed in most trials and those that failed at least half as often, given how often each failed. A chance failure
/// of another is not named.
fn limiting(mut failures: Vec<(usize, usize)>) -> Vec<usize> {
    failures.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let most = failures.first().map_or(0, |(_, count)| *count);
    let is_named = |(_, count): &(usize, usize)| *count > 0 && 2 * count >= most;
    failures.into_iter().filter(is_named).map(|(objective, _)| objective).collect()
}

fn code(result: &FindResult) -> Code {
    let any = |state: FindState| result.goals.iter().any(|goal| goal.state == state);
    if result.ended_by == FindEnd::Interrupt {
        Code::Interrupted
    } else if any(FindState::GeneratorLimited) || any(FindState::Unfinished) {
        Code::Void
    } else if any(FindState::MinimumFailed) {
        Code::ConditionFailed
    } else {
        Code::Success
    }
}

fn seconds(duration: Duration) -> String {
    humantime::format_duration(Duration::from_secs(duration.as_secs_f64().ceil() as u64)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_objectives_that_fail_most_are_named_and_chance_failures_are_not() {
        assert_eq!(limiting(vec![(0, 1), (1, 9)]), [1]);
        assert_eq!(limiting(vec![(0, 2), (1, 2)]), [0, 1]);
        // RFC 2544: one failed trial of three decides.
        assert_eq!(limiting(vec![(0, 1)]), [0]);
        assert_eq!(limiting(vec![(0, 0), (1, 0)]), [0_usize; 0]);
    }
}
