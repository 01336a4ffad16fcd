//! Runs the trials of a search: each is a load at a constant rate.
//!
//! The caller provides the function that sends a load. Tests provide a server in memory with virtual time.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use hoptax_checks::judge_load;
use hoptax_checks::objective::{Objective, generator_limits, unaccounted};
use hoptax_checks::thresholds;
use hoptax_host::clock::{self, now_ns};
use hoptax_load::trial::TrialSpec;
use hoptax_load::{Arrivals, Pace};
use hoptax_result::{FindTrial, LoadResult, TriedObjective, grouped};
use hoptax_stats::search::{Measured, Planned, Sample};

use super::common::{Tried, limits_processes, recording, unless_interrupted};
use super::options::Options;
use crate::failure::Failure;
use crate::interrupt::Interrupt;

/// Length of the closed loop before the search.
pub(super) const CLOSED_LOOP: Duration = Duration::from_secs(1);

/// Sends a load to the server, until it ends or the search is interrupted.
pub(super) type SendLoad<'a> = Box<dyn FnMut(&TrialSpec) -> Result<LoadResult, Failure> + 'a>;

/// Runs trials on a server.
pub(super) struct Trials<'a> {
    send_load: SendLoad<'a>,
    /// Objectives that each trial is tried against.
    pub(super) objectives: Vec<Objective>,
    /// The template of all trials, which differ only in rate and duration.
    pub(super) spec: TrialSpec,
    /// The arrival process of all trials.
    pub(super) arrivals: Arrivals,
    /// Time for which the server settles after a failed trial.
    settle: Duration,
    limits: &'a thresholds::Limits,
    interrupt: &'a Interrupt,
    /// Number of loads so far. Each has its own seed.
    number: u64,
    /// True after a failed trial: the server may still be busy with its requests.
    must_settle: bool,
}

impl<'a> Trials<'a> {
    /// Trials like `spec`, each with its own rate and duration.
    pub(super) fn new(
        spec: TrialSpec,
        arrivals: Arrivals,
        options: &Options<'a>,
        interrupt: &'a Interrupt,
        send_load: SendLoad<'a>,
    ) -> Self {
        let (settings, objectives) = (options.settings(), options.objectives.to_vec());
        let spec = recording(TrialSpec { warmup: settings.warmup, ..spec }, &objectives);
        Self {
            send_load,
            objectives,
            spec,
            arrivals,
            settle: settings.settle,
            limits: options.limits,
            interrupt,
            number: 0,
            must_settle: false,
        }
    }

    /// Adds an objective, which later trials try first.
    pub(super) fn aim_at(&mut self, objective: Objective) {
        self.objectives.insert(0, objective);
        self.spec = recording(self.spec.clone(), &self.objectives);
    }

    /// Runs a closed loop, without judging it; None if it was interrupted.
    pub(super) fn closed_loop(&mut self, duration: Duration) -> Result<Option<LoadResult>, Failure> {
        let spec = TrialSpec { duration, ..self.spec.clone() };
        let Some(result) = self.load(&spec)? else { return Ok(None) };
        if result.book.answered == 0 {
            return Err(Failure::environment(format!("{}; is the URL correct?", silence(&result, duration))));
        }
        // The server may still be busy after full load.
        self.must_settle = true;
        Ok(Some(result))
    }

    /// Runs a trial; None if it was interrupted.
    pub(super) fn run(&mut self, planned: &Planned) -> Result<Option<Tried>, Failure> {
        let begun = Instant::now();
        let result = self.at_rate(planned.load, planned.warmup, planned.duration)?;
        let judged = |result| judged(result, planned, begun.elapsed(), &self.objectives, self.limits);
        Ok(result.map(judged))
    }

    /// Runs a load at a rate and judges it. Returns it with the failed checks of the generator; None if it was interrupted.
    pub(super) fn judged_at_rate(
        &mut self,
        rate: f64,
        warmup: Duration,
        duration: Duration,
    ) -> Result<Option<(LoadResult, Vec<String>)>, Failure> {
        let Some(mut result) = self.at_rate(rate, warmup, duration)? else { return Ok(None) };
        let generator_limits = self.judge(&mut result);
        Ok(Some((result, generator_limits)))
    }

    /// Judges a load, and returns the failed checks of the generator.
    pub(super) fn judge(&self, result: &mut LoadResult) -> Vec<String> {
        judge_load(result, self.limits);
        generator_limits(result)
    }

    /// Waits until the server has settled, and runs a load at a rate without judging it; None if it was interrupted.
    fn at_rate(
        &mut self,
        rate: f64,
        warmup: Duration,
        duration: Duration,
    ) -> Result<Option<LoadResult>, Failure> {
        if self.must_settle {
            self.settle();
        }
        let spec = TrialSpec {
            open: Some((Pace::Constant(rate), self.arrivals.clone())),
            warmup,
            duration,
            seed: self.spec.seed.wrapping_add(self.number),
            ..self.spec.clone()
        };
        let result = self.load(&spec).map_err(|error| {
            Failure::environment(format!(
                "the trial at {rate} requests/s could not run: {error}",
                rate = grouped(rate, 0)
            ))
        })?;
        if let Some(result) = &result {
            self.must_settle = !hold(&try_all(&self.objectives, result));
        }
        Ok(result)
    }

    /// Runs a load; None if it was interrupted.
    fn load(&mut self, spec: &TrialSpec) -> Result<Option<LoadResult>, Failure> {
        if self.interrupt.is_requested() {
            return Ok(None);
        }
        self.number += 1;
        unless_interrupted((self.send_load)(spec), self.interrupt)
    }

    /// Waits until the server has emptied its queues.
    fn settle(&self) {
        let until_ns = now_ns().saturating_add(self.settle.as_nanos() as u64);
        clock::sleep_until(until_ns, || self.interrupt.is_requested());
    }
}

/// Responses per second.
pub(super) fn answered_rate(result: &LoadResult) -> f64 {
    result.book.answered as f64 / result.recorded_s.max(f64::MIN_POSITIVE)
}

/// Turns a load into a trial of a search. Tries the objectives before checks withhold numbers.
pub(super) fn judged(
    mut result: LoadResult,
    planned: &Planned,
    took: Duration,
    objectives: &[Objective],
    limits: &thresholds::Limits,
) -> Tried {
    let tried = try_all(objectives, &result);
    let samples: Vec<Sample> = objectives.iter().map(|objective| objective.sample(&result)).collect();
    let (planned_requests, answered, answered_rate) =
        (result.book.planned, result.book.answered, answered_rate(&result));
    judge_load(&mut result, limits);
    let unknown = unaccounted(&result).filter(|_| limits_processes(objectives));
    // An objective that holds despite the limits of the generator counts. The limits matter only for objectives that fail.
    let failed = objectives.iter().zip(&tried).filter(|(_, tried)| !tried.holds);
    let mut limits_of_failed: Vec<String> =
        failed.flat_map(|(objective, _)| objective.generator_limits(&result)).collect();
    if !hold(&tried) {
        limits_of_failed.extend(unknown);
    }
    if planned_requests == 0 {
        limits_of_failed.push("no-request: the arrivals left no request to the recorded time".to_owned());
    }
    let mut seen = HashSet::new();
    limits_of_failed.retain(|one| seen.insert(one.clone()));
    let measured = Measured { took, samples: limits_of_failed.is_empty().then_some(samples) };
    let trial = FindTrial {
        rate: planned.load,
        warmup_s: planned.warmup.as_secs_f64(),
        duration_s: planned.duration.as_secs_f64(),
        took_s: took.as_secs_f64(),
        planned: planned_requests,
        answered,
        answered_rate,
        objectives: tried,
        generator_limits: limits_of_failed,
        account: result.body.account,
    };
    Tried { trial, measured }
}

/// The message for a closed loop that got no response, with the failures that it saw.
pub(super) fn silence(result: &LoadResult, length: Duration) -> String {
    let failures = result.reasons.listed(&result.failures, Vec::new(), |count| count.to_string());
    let why = if failures.is_empty() {
        ": no request failed, but no response came, as from a server of another protocol".to_owned()
    } else {
        format!(" ({failures})")
    };
    format!("`{}` answered no request within {length:?}{why}", result.plan.url)
}

/// Tries each objective on a load that has not been judged.
pub(super) fn try_all(objectives: &[Objective], result: &LoadResult) -> Vec<TriedObjective> {
    objectives.iter().map(|objective| tried(objective, result)).collect()
}

/// True if all objectives held.
pub(super) fn hold(objectives: &[TriedObjective]) -> bool {
    objectives.iter().all(|one| one.holds)
}

fn tried(objective: &Objective, result: &LoadResult) -> TriedObjective {
    let held = objective.judge(result);
    TriedObjective {
        objective: objective.to_string(),
        holds: held.holds,
        value: held.value,
        unit: held.unit.to_owned(),
        limit: Some(objective.limit()),
        loss_ratio: held.loss_ratio,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_names_the_failures_or_says_that_none_explains_it() {
        let mut result = hoptax_result::sample::load();
        result.failures.clear();
        let silent = silence(&result, CLOSED_LOOP);
        let why = "within 1s: no request failed, but no response came, as from a server of another protocol";
        assert!(silent.ends_with(why), "{silent}");
        result.failures.insert("reset".to_owned(), 3);
        let failed = silence(&result, CLOSED_LOOP);
        assert!(failed.contains("within 1s (3 reset"), "{failed}");
    }
}
