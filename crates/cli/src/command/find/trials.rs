//! Runs the trials of a search: each is a load at a constant rate.

use std::thread;
use std::time::{Duration, Instant};

use hoptax_checks::judge_load;
use hoptax_checks::objective::{Objective, generator_limits};
use hoptax_checks::thresholds;
use hoptax_load::Pace;
use hoptax_load::trial::{self, TrialSpec};
use hoptax_result::{EndedBy, Environment, FindTrial, LoadPlan, LoadResult, TriedObjective};
use hoptax_search::Planned;

use super::Settings;
use crate::arguments::FindArguments;
use crate::exit::Failure;
use crate::interrupt::Interrupt;

/// Length of the closed loop before the search.
const CLOSED_LOOP: Duration = Duration::from_secs(1);
/// Length of the sleeps between which an interrupt is noticed.
const NAP: Duration = Duration::from_millis(100);

/// Runs trials on a server.
pub(super) struct Trials<'a> {
    arguments: &'a FindArguments,
    settings: Settings,
    spec: TrialSpec,
    environment: Environment,
    limits: thresholds::Limits,
    interrupt: &'a Interrupt,
    /// Number of loads so far. Each has its own seed.
    number: u64,
    /// Whether the last trial failed, so that the server may still be busy with it.
    must_settle: bool,
}

impl<'a> Trials<'a> {
    /// Trials like `spec`, each with its own rate and duration.
    pub(super) fn new(
        arguments: &'a FindArguments,
        settings: Settings,
        spec: TrialSpec,
        environment: Environment,
        limits: thresholds::Limits,
        interrupt: &'a Interrupt,
    ) -> Self {
        let spec = TrialSpec { warmup: settings.warmup, ..spec };
        Self { arguments, settings, spec, environment, limits, interrupt, number: 0, must_settle: false }
    }

    /// How long a trial may wait for its last responses.
    pub(super) fn timeout(&self) -> Duration {
        self.spec.timeout
    }

    /// A closed loop, and its responses per second; None if it was interrupted.
    pub(super) fn closed_loop(&mut self) -> Result<Option<(LoadPlan, f64)>, Failure> {
        let spec = TrialSpec { duration: CLOSED_LOOP, ..self.spec.clone() };
        let Some(result) = self.load(&spec)? else { return Ok(None) };
        if result.book.answered == 0 {
            let failures: Vec<&str> = result.failures.keys().map(String::as_str).collect();
            return Err(Failure::environment(format!(
                "`{}` answered no request within {CLOSED_LOOP:?} ({}); is the URL correct?",
                result.plan.url,
                if failures.is_empty() { "no failure".to_owned() } else { failures.join(", ") }
            )));
        }
        // Under full load, the server may still be busy.
        self.must_settle = true;
        let rate = answered_rate(&result);
        Ok(Some((result.plan, rate)))
    }

    /// Runs a trial; None if it was interrupted.
    pub(super) fn run(&mut self, planned: &Planned) -> Result<Option<FindTrial>, Failure> {
        let begun = Instant::now();
        if self.must_settle {
            self.settle();
        }
        let spec = TrialSpec {
            open: Some((Pace::Constant(planned.load), self.arguments.arrivals.clone())),
            duration: planned.duration,
            seed: self.arguments.traffic.seed.wrapping_add(self.number),
            ..self.spec.clone()
        };
        let Some(mut result) = self.load(&spec).map_err(|error| {
            Failure::environment(format!(
                "the trial at {:.0} requests/s could not run: {error}",
                planned.load
            ))
        })?
        else {
            return Ok(None);
        };
        let objectives: Vec<TriedObjective> =
            self.arguments.objectives.iter().map(|objective| tried(objective, &result)).collect();
        let (planned_requests, answered, answered_rate) =
            (result.book.planned, result.book.answered, answered_rate(&result));
        judge_load(&mut result, &self.limits);
        let holds = objectives.iter().all(|one| one.holds);
        self.must_settle = !holds;
        Ok(Some(FindTrial {
            rate: planned.load,
            duration_s: planned.duration.as_secs_f64(),
            took_s: begun.elapsed().as_secs_f64(),
            planned: planned_requests,
            answered,
            answered_rate,
            objectives,
            // If the server held everything in spite of the generator, the trial counts.
            generator_limits: if holds { Vec::new() } else { generator_limits(&result) },
        }))
    }

    /// The machine.
    pub(super) fn into_environment(self) -> Environment {
        self.environment
    }

    /// Runs a load; None if it was interrupted.
    fn load(&mut self, spec: &TrialSpec) -> Result<Option<LoadResult>, Failure> {
        if self.interrupt.is_requested() {
            return Ok(None);
        }
        self.number += 1;
        let result = trial::run(spec, self.environment.clone(), self.interrupt.flag(), None);
        if self.interrupt.is_requested() {
            return Ok(None);
        }
        let result = result.map_err(Failure::environment)?;
        Ok(Some(result).filter(|result| result.ended_by != EndedBy::Interrupt))
    }

    /// Waits until the server has emptied its queues.
    fn settle(&self) {
        let until = Instant::now() + self.settings.settle;
        while !self.interrupt.is_requested() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            thread::sleep(left.min(NAP));
        }
    }
}

fn answered_rate(result: &LoadResult) -> f64 {
    result.book.answered as f64 / result.recorded_s.max(f64::MIN_POSITIVE)
}

fn tried(objective: &Objective, result: &LoadResult) -> TriedObjective {
    let held = objective.judge(result);
    TriedObjective {
        objective: objective.to_string(),
        holds: held.holds,
        value: held.value,
        unit: held.unit.to_owned(),
        loss_ratio: held.loss_ratio,
    }
}
