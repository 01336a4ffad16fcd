//! Parts that the searches of a server and of arms of a study share.

use std::fmt;
use std::time::Duration;

use hoptax_checks::objective::Objective;
use hoptax_load::MAX_RATE;
use hoptax_load::options::{ABOVE_CLOSED_LOOP, LOWEST_RATE, LOWEST_SHARE};
use hoptax_load::trial::TrialSpec;
use hoptax_report::numbers::rate;
use hoptax_report::{documents, live};
use hoptax_result::{EndedBy, FindEvidence, FindTrial, FoundGoal, LoadResult, grouped};
use hoptax_stats::search::{
    CONFIDENCE, Criterion, GoalResult, Limits, Measured, Planned, Search, SearchError,
};

use super::options::{Options, Preset};
use crate::failure::Failure;
use crate::interrupt::Interrupt;

/// Rate of the first trial, as a share of the rate of the closed loop.
pub(super) const BELOW_CLOSED_LOOP: f64 = 0.8;

/// A trial of a search.
#[derive(Debug)]
pub(super) struct Tried {
    pub(super) trial: FindTrial,
    /// The trial as input of the search: no samples if the generator limited it, otherwise one sample per objective, in their order.
    pub(super) measured: Measured,
}

/// True if an objective limits CPU time or memory. Trials must then account for processes.
pub(super) fn limits_processes(objectives: &[Objective]) -> bool {
    objectives.iter().any(Objective::needs_account)
}

/// Returns a trial that records the numbers that the objectives need.
pub(super) fn recording(spec: TrialSpec, objectives: &[Objective]) -> TrialSpec {
    TrialSpec {
        percentiles: objectives.iter().filter_map(Objective::percentile).collect(),
        limits_us: objectives.iter().filter_map(Objective::limit_us).collect(),
        ..spec
    }
}

/// Range to search, estimated from loads before the search, requests per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Near {
    /// Rate of the first trial.
    pub(super) start: f64,
    /// Highest rate of the search if `--max-rate` is not given.
    pub(super) most: f64,
}

impl Near {
    /// Estimates the range from the rate of a closed loop. With independent arrivals, objectives usually fail below that rate.
    pub(super) fn closed_loop(rate: f64) -> Self {
        Self { start: rate * BELOW_CLOSED_LOOP, most: rate * ABOVE_CLOSED_LOOP }
    }
}

/// The range and the settings of a search with this budget.
pub(super) fn range_of(options: &Options<'_>, near: Near, budget: Duration) -> Limits {
    let (min, max) = ends_of(options, near.most);
    let super::options::Settings { width, warmup, .. } = options.settings();
    Limits { min, max, start: near.start.max(min).min(max), width, budget, warmup }
}

/// The lowest and the highest rate, of which `most` is the highest without `--max-rate`.
fn ends_of(options: &Options<'_>, most: f64) -> (f64, f64) {
    let max = options.max_rate.unwrap_or(most.min(MAX_RATE));
    (options.min_rate.unwrap_or((max * LOWEST_SHARE).max(LOWEST_RATE)), max)
}

/// Refuses a range in which no search can begin, before anything is sent.
pub(super) fn check_range(options: &Options<'_>) -> Result<(), Failure> {
    let (min, max) = ends_of(options, MAX_RATE);
    if min < LOWEST_RATE {
        return Err(Failure::bad_input(format!(
            "--min-rate must be at least {LOWEST_RATE}: the shortest trials last a second and need a request"
        )));
    }
    let is_empty = SearchError::Range { min, max };
    if min < max { Ok(()) } else { Err(refusal(&is_empty, "", |trial| trial)) }
}

/// The error of a search that cannot begin. `no_time` describes a budget that is too short; `least` returns the least budget, from the
/// length of the shortest trial.
pub(super) fn refusal(
    error: &SearchError,
    no_time: &str,
    least: impl FnOnce(Duration) -> Duration,
) -> Failure {
    Failure::bad_input(match error {
        SearchError::Range { min, max } => format!(
            "the lowest rate, {}/s, must be below the highest, {}/s: set `--min-rate` and `--max-rate`",
            rate(*min),
            rate(*max)
        ),
        SearchError::Budget { budget, trial } => format!(
            "{no_time}: {} s are needed, and {} s are left; raise it to `--budget {}s`",
            grouped(trial.as_secs_f64(), 1),
            grouped(budget.as_secs_f64(), 1),
            // The steps before the search may take longer next time.
            least(*trial).as_secs() + 2
        ),
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

/// Returns the criterion of each objective, for the search.
pub(super) fn criteria(objectives: &[Objective]) -> Vec<Criterion> {
    objectives.iter().map(Objective::criterion).collect()
}

/// Returns the result of the search for one goal; `goal` has the indices of its objectives.
pub(super) fn found(result: &GoalResult, goal: &[usize], objectives: &[Objective]) -> FoundGoal {
    FoundGoal {
        objectives: names(goal, objectives),
        state: result.state,
        estimate: result.estimate,
        rate: result.lower,
        upper_rate: result.upper,
        limited_by: names(&result.limited_by, objectives),
    }
}

/// The objectives with these indices, as text.
pub(super) fn names(numbers: &[usize], objectives: &[Objective]) -> Vec<String> {
    numbers.iter().filter_map(|one| objectives.get(*one)).map(ToString::to_string).collect()
}

/// A trial that begins, as text.
pub(super) fn trial_text(planned: &Planned) -> String {
    let (warmup_s, recorded_s) = (planned.warmup.as_secs_f64(), planned.duration.as_secs_f64());
    format!(
        "trial at {}/s for {recorded_s} s after {warmup_s} s",
        rate(planned.load),
        recorded_s = grouped(recorded_s, 1),
        warmup_s = grouped(warmup_s, 1)
    )
}

/// A line about a completed trial, with the bounds of the search after it: those of the first goal of which any is known.
pub(super) fn progress(trial: &FindTrial, search: &Search) -> String {
    let line = documents::find_trial(trial);
    match search.results().iter().find_map(known) {
        Some(known) => format!("{line}; {known}"),
        None => line,
    }
}

/// Returns the current bounds of the rate, as text; None if neither is known.
fn known(result: &GoalResult) -> Option<String> {
    Some(match (result.lower, result.upper) {
        (Some(lower), Some(upper)) => format!("so far {} to {}/s", rate(lower), rate(upper)),
        (Some(lower), None) => format!("so far at least {}/s", rate(lower)),
        (None, Some(upper)) => format!("so far less than {}/s", rate(upper)),
        (None, None) => return None,
    })
}

/// The current bounds of a rate, for the live view. `of` names the rate.
pub(super) fn known_rate(of: &str, result: &GoalResult, range: &Limits) -> live::KnownRate {
    live::KnownRate {
        of: of.to_owned(),
        holds: result.lower,
        fails: result.upper,
        min: range.min,
        max: range.max,
    }
}

/// Returns the requested width of an interval, with its confidence.
pub(super) fn evidence(preset: Preset, width: f64) -> FindEvidence {
    FindEvidence { preset: preset.as_str().to_owned(), width, confidence: CONFIDENCE }
}

/// The expected time of a search and its limit, as text: the limit alone if both read the same.
pub(super) fn forecast(expected: Duration, most: Duration) -> String {
    match (seconds(expected), seconds(most)) {
        (expected, most) if expected == most => format!("at most {most}"),
        (expected, most) => format!("about {expected}, at most {most}"),
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
    fn a_forecast_whose_ends_read_the_same_is_one_time() {
        let of = |expected_s: f64, most_s: f64| {
            forecast(Duration::from_secs_f64(expected_s), Duration::from_secs_f64(most_s))
        };
        assert_eq!(of(41.2, 600.0), "about 42s, at most 10m");
        assert_eq!(of(599.3, 600.0), "at most 10m");
        assert_eq!(of(600.0, 600.0), "at most 10m");
    }
}
