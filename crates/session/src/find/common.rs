//! What the searches of a server and of arms of a study have in common.

use std::fmt;
use std::time::Duration;

use hoptax_checks::objective::Objective;
use hoptax_load::MAX_RATE;
use hoptax_load::trial::TrialSpec;
use hoptax_result::{EndedBy, FindEvidence, FindState, FindTrial, FoundGoal, LoadResult};
use hoptax_stats::search::{Goal, GoalResult, Limits, Measured, Outcome, Planned, SearchError, State};

use super::options::{LOWEST_RATE, Options, Preset};
use crate::failure::Failure;
use crate::interrupt::Interrupt;

/// The highest rate without `--max-rate`, as a multiple of the rate of the closed loop. An open loop on as many connections
/// carries hardly more than a closed one.
pub(super) const ABOVE_CLOSED_LOOP: f64 = 2.0;
/// The lowest rate without `--min-rate`, as a share of the highest.
pub(super) const LOWEST_SHARE: f64 = 1e-3;

/// A trial of a search.
#[derive(Debug)]
pub(super) struct Tried {
    pub(super) planned: Planned,
    pub(super) trial: FindTrial,
}

/// Whether objectives limit processes, so that trials must account for some.
pub(super) fn limits_processes(objectives: &[Objective]) -> bool {
    objectives.iter().any(Objective::needs_account)
}

/// A trial that records what the objectives need.
pub(super) fn recording(spec: TrialSpec, objectives: &[Objective]) -> TrialSpec {
    TrialSpec {
        percentiles: objectives.iter().filter_map(Objective::percentile).collect(),
        limits_us: objectives.iter().filter_map(Objective::limit_us).collect(),
        ..spec
    }
}

/// What loads before a search tell about where to search, requests per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Near {
    /// Where to begin.
    pub(super) start: f64,
    /// The highest rate without `--max-rate`.
    pub(super) most: f64,
}

impl Near {
    /// What the rate of a closed loop tells.
    pub(super) fn closed_loop(rate: f64) -> Self {
        Self { start: rate, most: rate * ABOVE_CLOSED_LOOP }
    }
}

/// The range of a search for which there is this time.
pub(super) fn range_of(options: &Options<'_>, near: Near, budget: Duration) -> Limits {
    let max = options.max_rate.unwrap_or(near.most.min(MAX_RATE));
    let min = options.min_rate.unwrap_or((max * LOWEST_SHARE).max(LOWEST_RATE));
    Limits { min, max, start: near.start.max(min).min(max), budget, overhead: options.settings().warmup }
}

/// The error of a search that cannot begin; `no_time` says for what the budget leaves none.
pub(super) fn refusal(error: &SearchError, no_time: &str) -> Failure {
    Failure::bad_input(match error {
        SearchError::Range { min, max } => format!(
            "the lowest rate, {min}/s, must be below the highest, {max}/s: set --min-rate and --max-rate"
        ),
        SearchError::Budget { .. } => {
            format!("{no_time}: {error}; raise it, or choose a shorter --preset")
        }
        other => other.to_string(),
    })
}

/// The result of a load; None if it was interrupted.
pub(super) fn unless_interrupted(
    result: Result<LoadResult, impl fmt::Display>,
    interrupt: &Interrupt,
) -> Result<Option<LoadResult>, Failure> {
    // An error after an interrupt is a consequence of it.
    if interrupt.is_requested() {
        return Ok(None);
    }
    let result = result.map_err(Failure::environment)?;
    Ok(Some(result).filter(|result| result.ended_by != EndedBy::Interrupt))
}

/// The objectives of each goal, as indices: one goal for all objectives, or one for each.
pub(super) fn goals(objectives: usize, each: bool) -> Vec<Vec<usize>> {
    if each { (0..objectives).map(|one| vec![one]).collect() } else { vec![(0..objectives).collect()] }
}

/// What a trial tells the search.
pub(super) fn measured(trial: &FindTrial, goals: &[Vec<usize>]) -> Measured {
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

/// What a search found for a goal, given by the indices of its objectives.
pub(super) fn found(result: &GoalResult, goal: &[usize], tried: &[Tried]) -> FoundGoal {
    let is_upper =
        |planned: &Planned| result.upper.is_some_and(|upper| planned.load.to_bits() == upper.to_bits());
    let at_upper: Vec<&FindTrial> = tried
        .iter()
        .filter(|tried| is_upper(&tried.planned) && tried.trial.generator_limits.is_empty())
        .map(|tried| &tried.trial)
        .collect();
    let failures: Vec<(usize, usize)> = goal
        .iter()
        .map(|objective| {
            let failed = |trial: &&&FindTrial| trial.objectives.get(*objective).is_some_and(|one| !one.holds);
            (*objective, at_upper.iter().filter(failed).count())
        })
        .collect();
    let name = |objective: usize| {
        tried.first().and_then(|tried| tried.trial.objectives.get(objective)).map(|one| one.objective.clone())
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

/// What decides about a rate.
pub(super) fn evidence(preset: Preset, goal: &Goal) -> FindEvidence {
    FindEvidence {
        preset: preset.as_str().to_owned(),
        final_trial_s: goal.final_trial.as_secs_f64(),
        duration_sum_s: goal.duration_sum.as_secs_f64(),
        exceed_ratio: goal.exceed_ratio,
        width: goal.width,
    }
}

/// A duration in whole seconds, as text.
pub(super) fn seconds(duration: Duration) -> String {
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
