//! The arms of a plan as running processes, for loads that the caller chooses instead of slices of the plan.
//!
//! All arms run at once, as in a round, and arms without load are frozen: see [`Freezer`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hoptax_host::clock::{self, now_ns};
use hoptax_host::freeze::Freezer;
use hoptax_host::link::Link;
use hoptax_load::trial::{Accounted, CpuTimes, TrialSpec, run_with_cpu_times};
use hoptax_plan::plan::{Plan, Subject};
use hoptax_result::{Answer, Environment, LoadResult};
use hoptax_subject::envoy::process::Proxy;

use super::ends::Ends;
use super::error::{in_arm, missing};
use super::subject::Connections;
use super::subjects::Subjects;
use super::traffic::TIMEOUT;
use super::{ArmError, RunError, Setting, at_callers_end};

/// Minimum time for processes to handle closed connections.
const AFTER_CLOSING: Duration = Duration::from_millis(20);

/// The processes of the arms of a plan for a search ([`Plan::searched`]) or of a graph ([`Plan::of_graph`]).
pub struct Live<'a> {
    plan: &'a Plan,
    setting: &'a Setting<'a>,
    link: Option<&'a Link>,
    /// First answers of given configurations, by arm.
    answers: BTreeMap<usize, Answer>,
    // Declared before the processes, because it resumes them when it is dropped.
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

impl<'a> Live<'a> {
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

    /// The arm with this index. Each has one copy.
    fn planned(&self, arm: usize) -> Result<Subject<'a>, RunError> {
        let planned = self.plan.subjects().nth(arm);
        planned.ok_or_else(|| missing(&format!("number {arm}"), "such arm"))
    }

    /// Calls `read` with the proxies of the arm with this index while they run.
    ///
    /// # Errors
    /// When `read` fails, or a proxy cannot be resumed or stopped.
    pub fn with_proxies<T>(
        &mut self,
        arm: usize,
        read: impl FnOnce(&[Proxy]) -> Result<T, ArmError>,
    ) -> Result<T, RunError> {
        let planned = self.planned(arm)?;
        let subject = &self.subjects.running(planned)?.subject;
        let proxies = subject.thaw(&mut self.freezer)?;
        let read = read(&subject.proxies).map_err(in_arm(planned.arm))?;
        self.freezer.freeze(&proxies)?;
        Ok(read)
    }

    /// Runs a trial on the arm with this index while all others are stopped. `trial` completes a closed loop on the requests and
    /// connections of the arm, with an account of its proxies. `settle` states how long the proxies run afterwards to empty their queues,
    /// if that takes longer than handling the closed connections. Returns the result with the CPU time of each process.
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
    ) -> Result<(LoadResult, CpuTimes), RunError> {
        let planned = self.planned(arm)?;
        let subject = &self.subjects.running(planned)?.subject;
        let connections = subject.connections.first().and_then(Option::as_ref);
        let spec = connections.and_then(Connections::spec);
        let spec = spec.ok_or_else(|| missing(&planned.arm.id, "connection for trials"))?;
        let processes: BTreeSet<u32> = subject.processes().collect();
        let spec = trial(TrialSpec {
            connections: spec.connections,
            pooling: spec.pooling,
            timeout: TIMEOUT,
            seed: self.plan.seed,
            never_halted: self.setting.awake.is_some(),
            account: Some(processes).filter(|all| !all.is_empty()).map(Accounted::Processes),
            ..TrialSpec::new((*spec.traffic).clone())
        });
        let proxies = subject.thaw(&mut self.freezer)?;
        let ends = Ends { link: None, network: subject.network.as_deref() };
        let ran = ends.at_callers(|| run_with_cpu_times(&spec, environment, stop, None))?;
        let is_stopped = || stop.load(Ordering::Relaxed);
        if let Ok((result, _)) = &ran {
            let settle_ns = settle(result).max(AFTER_CLOSING).as_nanos() as u64;
            clock::sleep_until(now_ns().saturating_add(settle_ns), is_stopped);
        }
        // Processes may have ended because of a request to stop.
        if !is_stopped() {
            // If a process has ended, report that instead of the failure to send load to it.
            self.subjects.check(&[planned])?;
            self.freezer.freeze(&proxies)?;
        }
        ran.map_err(in_arm(planned.arm))
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
