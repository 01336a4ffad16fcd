//! Trials: loads on running processes that the caller chooses instead of slices of a plan.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hoptax_host::clock::{self, now_ns};
use hoptax_load::Traffic;
use hoptax_load::trial::{self, Accounted, CpuTimes, TrialError, TrialSpec};
use hoptax_result::{Environment, LoadResult};

use super::Setting;
use super::traffic::TIMEOUT;

/// Least time for processes to handle that connections were closed.
const AFTER_CLOSING: Duration = Duration::from_millis(20);

/// A closed loop of these requests, with an account of `processes` if there are any.
pub fn trial_on(processes: BTreeSet<u32>, traffic: Traffic, setting: &Setting<'_>) -> TrialSpec {
    TrialSpec {
        timeout: TIMEOUT,
        never_halted: setting.awake.is_some(),
        account: Some(processes).filter(|processes| !processes.is_empty()).map(Accounted::Processes),
        ..TrialSpec::new(traffic)
    }
}

/// Runs a trial, and waits until the processes have handled that its connections were closed. `settle` states how long they need to empty
/// their queues, if that takes longer. Returns the result with the CPU time of each process that the trial accounts for.
///
/// # Errors
/// As for [`trial::run`].
pub fn run_trial(
    spec: &TrialSpec,
    settle: impl FnOnce(&LoadResult) -> Duration,
    environment: Environment,
    stop: &AtomicBool,
) -> Result<(LoadResult, CpuTimes), TrialError> {
    let (result, cpu_times) = trial::run_with_cpu_times(spec, environment, stop, None)?;
    let settle_ns = settle(&result).max(AFTER_CLOSING).as_nanos() as u64;
    clock::sleep_until(now_ns().saturating_add(settle_ns), || stop.load(Ordering::Relaxed));
    Ok((result, cpu_times))
}
