//! The arms of a plan as running processes, for loads that the caller chooses instead of slices of the plan.
//!
//! All arms are up at once, as in a round, and those without load are stopped: see [`Freezer`].

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hoptax_host::freeze::Freezer;
use hoptax_host::link::Link;
use hoptax_load::trial::TrialSpec;
use hoptax_plan::plan::Plan;
use hoptax_result::{Answer, Environment, LoadResult};

use super::ends::Ends;
use super::error::{in_arm, missing};
use super::subject::Connections;
use super::subjects::Subjects;
use super::trials::{run_trial, trial_on};
use super::{RunError, Setting, at_callers_end};

/// The processes of the arms of a plan for a search ([`Plan::searched`]).
pub struct Live<'a> {
    plan: &'a Plan,
    setting: &'a Setting<'a>,
    link: Option<&'a Link>,
    /// First answers of given configurations, by arm.
    answers: BTreeMap<usize, Answer>,
    // Before the processes, which it resumes when it is dropped.
    freezer: Freezer,
    subjects: Subjects<'a>,
}

/// Calls `work` on the thread and at the end of the link from which the load is sent. No process runs before
/// [`Live::restart`], and none after `work`.
///
/// # Errors
/// When the link cannot be created or the thread cannot be pinned.
pub fn with_live<T>(
    plan: &Plan,
    setting: &Setting<'_>,
    work: impl FnOnce(&mut Live<'_>) -> T,
) -> Result<T, RunError> {
    at_callers_end(plan, setting, |link| {
        let mut live = Live {
            plan,
            setting,
            link,
            answers: BTreeMap::new(),
            freezer: Freezer::default(),
            subjects: Subjects::default(),
        };
        Ok(work(&mut live))
    })
}

impl Live<'_> {
    /// Ends all processes, and starts them again, in the random order of round `round`.
    ///
    /// # Errors
    /// When a process cannot be started, stopped or ended.
    pub fn restart(&mut self, round: u32, stop: &AtomicBool) -> Result<(), RunError> {
        self.end()?;
        let answers = &mut self.answers;
        self.subjects = Subjects::bring_up(self.plan, self.setting, self.link, round, answers, stop)?;
        Ok(self.freezer.freeze(&self.subjects.proxies())?)
    }

    /// Runs a trial on the arm with this index while all others are stopped. `trial` completes a closed loop on the requests and
    /// connections of the arm, with an account of its proxies; `settle` states how long the proxies run afterwards, to empty their queues.
    ///
    /// # Errors
    /// When the trial cannot be run, or a process of the arm has ended.
    pub fn load(
        &mut self,
        arm: usize,
        trial: impl FnOnce(TrialSpec) -> TrialSpec,
        settle: impl FnOnce(&LoadResult) -> Duration,
        environment: Environment,
        stop: &AtomicBool,
    ) -> Result<LoadResult, RunError> {
        // Each arm of a search has one copy.
        let planned =
            self.plan.subjects().nth(arm).ok_or_else(|| missing(&format!("number {arm}"), "such arm"))?;
        let subject = &self.subjects.running(planned)?.subject;
        let connections = subject.connections.first().and_then(Option::as_ref);
        let spec = connections.and_then(Connections::spec);
        let spec = spec.ok_or_else(|| missing(&planned.arm.id, "connection for trials"))?;
        let spec = trial(TrialSpec {
            connections: spec.connections,
            pooling: spec.pooling,
            seed: self.plan.seed,
            ..trial_on(subject.processes().collect(), (*spec.traffic).clone(), self.setting)
        });
        let proxies = subject.thaw(&mut self.freezer)?;
        let ends = Ends { link: None, network: subject.network.as_deref() };
        let result = ends.at_callers(|| run_trial(&spec, settle, environment, stop))?;
        let (result, _) = result.map_err(in_arm(planned.arm))?;
        if !stop.load(Ordering::Relaxed) {
            self.subjects.check(&[planned])?;
            self.freezer.freeze(&proxies)?;
        }
        Ok(result)
    }

    /// Ends all processes.
    ///
    /// # Errors
    /// When one cannot be resumed or ended.
    pub fn end(&mut self) -> Result<(), RunError> {
        self.freezer.thaw_all()?;
        std::mem::take(&mut self.subjects).end()
    }
}
