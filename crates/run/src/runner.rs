//! Runs a plan on live processes.
//!
//! Each round restarts all processes, in random order, because a process keeps its own level of CPU time for as long as it lives. Within a
//! round all arms run at once with warm connections, and blocks of short slices visit them in random order, so drift of the machine affects
//! all arms alike.
//!
//! The runner works on the calling thread, since the kernel ends the processes that it starts when that thread ends. Generator and origins
//! share the processors that the proxies do not use.

mod answer;
mod busy;
mod caller;
mod capacity;
mod ends;
mod error;
mod external;
#[cfg(test)]
pub(crate) mod fixture;
mod given;
mod host_waits;
mod live;
mod meter;
mod origins;
mod perf;
mod profile;
mod rate;
mod reading;
mod refusal;
mod running;
mod specification;
mod spread;
mod statistics;
mod subject;
mod subjects;
#[cfg(test)]
mod tests;
mod timeline;
mod timeline_events;
mod top_down;
mod traffic;
mod unloading;

use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hoptax_host::accounting::{ProcessorReading, processor_ticks};
use hoptax_host::awake::Awake;
use hoptax_host::link::{Link, LinkError};
use hoptax_host::processors::{self, Placement};
use hoptax_plan::plan::{self, Block, Plan};
use hoptax_plan::record::RoundRecord;
use hoptax_subject::envoy::chosen::Envoys;
use hoptax_subject::envoy::release::Envoy;

use crate::event::Event;
pub use error::{ArmError, RunError};
use host_waits::HostWaits;
pub use live::{Live, with_live};
use meter::Meter;
pub use origins::{ClientCertificates, tls_flags};
pub use perf::ProfileError;
pub use profile::{LENGTH as PROFILE_LENGTH, PROFILES};
pub use specification::FILES;
use subjects::Subjects;

/// Inputs of a run besides its plan: programs, placement and switches.
#[derive(Clone, Debug)]
pub struct Setting<'a> {
    /// The hoptax program, which also acts as the origin.
    pub program: &'a Path,
    /// The Envoys to measure.
    pub envoys: &'a Envoys,
    /// The directory of configurations and logs.
    pub directory: &'a Path,
    /// The folder of the study file, to which paths in its commands are relative.
    pub folder: &'a Path,
    /// The processors of each process.
    pub placement: &'a Placement,
    /// The guard that keeps the processors from halting; none if they may halt.
    pub awake: Option<&'a Awake>,
    /// Reads stolen time: [`KERNEL_TICKS`], unless a test simulates a host that steals.
    pub ticks: Ticks,
}

impl Setting<'_> {
    /// The Envoy of a choice, as in a study file.
    fn envoy(&self, choice: Option<&str>) -> Result<&Envoy, ArmError> {
        let envoy = self.envoys.get(choice);
        envoy.ok_or_else(|| ArmError::UnknownEnvoy(choice.unwrap_or_default().to_owned()))
    }
}

/// Reads the time counters of each processor: see [`processor_ticks`].
pub type Ticks = fn() -> io::Result<Vec<ProcessorReading>>;

/// The kernel's own counters.
pub const KERNEL_TICKS: Ticks = processor_ticks;

/// End of a run.
#[derive(Debug)]
pub enum Ending {
    /// As planned.
    Complete,
    /// It was interrupted.
    Interrupted,
    /// It failed.
    Failed(RunError),
}

/// The outcome of a run.
#[derive(Debug)]
pub struct Outcome {
    /// The complete rounds.
    pub rounds: Vec<RoundRecord>,
    /// Its end.
    pub ending: Ending,
    /// Its duration, seconds.
    pub wall_s: f64,
}

/// The earlier part of a resumed study.
#[derive(Clone, Debug, Default)]
pub struct Earlier {
    /// Its complete rounds.
    pub rounds: Vec<RoundRecord>,
    /// Their duration, seconds.
    pub elapsed_s: f64,
}

/// Controls how long a run continues, and receives its events.
pub struct Control<'a> {
    /// Set to end the run after the request in flight. Complete rounds are kept.
    pub stop: &'a AtomicBool,
    /// Returns true if another round begins, given the complete ones. Called while nothing is measured.
    pub should_continue: &'a mut dyn FnMut(&[RoundRecord]) -> bool,
    /// Receives events.
    pub on_event: &'a mut dyn FnMut(&Event<'_>),
}

/// Runs `plan`, after the rounds of `earlier`, for as many rounds as planned or until `control` ends it.
pub fn run(plan: &Plan, setting: &Setting<'_>, earlier: Earlier, control: &mut Control<'_>) -> Outcome {
    let now = Instant::now();
    // If the machine was restarted in between, that moment may not be representable.
    let began = now.checked_sub(Duration::from_secs_f64(earlier.elapsed_s.max(0.0))).unwrap_or(now);
    let mut rounds = earlier.rounds;
    let measured =
        at_callers_end(plan, setting, |link| all_rounds(plan, setting, link, began, control, &mut rounds));
    let ending = match measured {
        // An error after a request to stop is a consequence of that request.
        _ if control.stop.load(Ordering::Relaxed) => Ending::Interrupted,
        Ok(()) => Ending::Complete,
        Err(error) => Ending::Failed(error),
    };
    Outcome { rounds, ending, wall_s: began.elapsed().as_secs_f64() }
}

/// Creates the link of a plan, if it has one, and calls `work` on this thread at its near end, pinned to the processor of the
/// generator.
fn at_callers_end<T>(
    plan: &Plan,
    setting: &Setting<'_>,
    work: impl FnOnce(Option<&Link>) -> Result<T, RunError>,
) -> Result<T, RunError> {
    fs::create_dir_all(setting.directory)
        .map_err(|source| RunError::File { path: setting.directory.to_owned(), source })?;
    // Created before this thread is pinned, because packet processing belongs to neither end.
    let link = plan.link.as_ref().map(Link::create).transpose()?;
    processors::pin(setting.placement.caller())?;
    processors::set_min_timer_slack()?;
    // This thread starts callers, and the processes beside them, at the near end.
    match &link {
        None => work(None),
        Some(near) => near.near.within(|| work(Some(near))).map_err(LinkError::from)?,
    }
}

fn all_rounds(
    plan: &Plan,
    setting: &Setting<'_>,
    link: Option<&Link>,
    began: Instant,
    control: &mut Control<'_>,
    rounds: &mut Vec<RoundRecord>,
) -> Result<(), RunError> {
    if let Some(observed) = &plan.timeline {
        return timeline::all_rounds(plan, observed, setting, link, began, control, rounds);
    }
    let mut host_waits = HostWaits::over(plan, setting.placement, link.is_some(), rounds)?;
    let Control { stop, should_continue, on_event } = control;
    let first = rounds.len() as u32;
    let mut capacities = rounds.last().map(|round| round.capacities.clone()).unwrap_or_default();
    let mut answers = rounds.last().map(|round| round.answers.clone()).unwrap_or_default();
    for round in first..=plan.rounds {
        // Also called after the last round, since the end counts as a look.
        if !should_continue(rounds) || round == plan.rounds {
            break;
        }
        if round == first {
            on_event(&Event::Starting);
        }
        let mut subjects = Subjects::bring_up(plan, setting, link, round, &mut answers, stop)?;
        on_event(&Event::RoundBegan { round });
        let mut meter = Meter::new(plan, setting, link, &subjects, began, round);
        meter.warm_up(&mut subjects, stop)?;
        if plan.needs_capacities() && capacities.is_empty() {
            on_event(&Event::Sizing);
            capacities = meter.capacities(&mut subjects, stop)?;
        }
        // Capacities are measured once, before the first round.
        meter.record.capacities.clone_from(&capacities);
        meter.record.answers.clone_from(&answers);
        let mut slicing = Slicing {
            meter: &mut meter,
            subjects: &mut subjects,
            host_waits: &mut host_waits,
            stop,
            on_event: &mut **on_event,
        };
        if !slicing.measure_all(&plan::blocks(plan, round))? {
            return Ok(());
        }
        if plan.profile {
            on_event(&Event::Profiling);
            meter.profile(&mut subjects, stop)?;
            if stop.load(Ordering::Relaxed) {
                return Ok(());
            }
        }
        let record = meter.finish(&mut subjects)?;
        subjects.end()?;
        on_event(&Event::RoundEnded { round, record: &record, elapsed_s: began.elapsed().as_secs_f64() });
        rounds.push(record);
    }
    Ok(())
}

/// A round whose slices are being measured.
struct Slicing<'a, 'p> {
    /// Measures and records them.
    meter: &'a mut Meter<'p>,
    /// The processes under measurement.
    subjects: &'a mut Subjects<'p>,
    /// Detects when the host disturbs them.
    host_waits: &'a mut HostWaits,
    /// Set to end the run.
    stop: &'a AtomicBool,
    /// Receives events.
    on_event: &'a mut dyn FnMut(&Event<'_>),
}

impl Slicing<'_, '_> {
    /// Measures the slices of all blocks. Returns false if the run is to stop.
    fn measure_all(&mut self, blocks: &[Block<'_>]) -> Result<bool, RunError> {
        for block in blocks {
            for &subject in &block.subjects {
                if !self.measure(block, subject, false)? {
                    return Ok(false);
                }
            }
            self.subjects.check(&block.subjects)?;
        }
        // Slices that were lost after the time for repetitions had run out, or whose loss was noticed only at the subject's next slice.
        for (block, subject) in host_waits::lost(blocks, &self.meter.record.slices) {
            if !self.host_waits.has_time_for(block) {
                break;
            }
            if !self.measure(block, subject, true)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Measures the slice of a subject in a block, and repeats it while it is disturbed and there is time. `is_late` is true
    /// if the slice was measured with its block before. Returns false if the run is to stop.
    fn measure(
        &mut self,
        block: &Block<'_>,
        subject: plan::Subject<'_>,
        is_late: bool,
    ) -> Result<bool, RunError> {
        let Self { meter, subjects, host_waits, stop, on_event } = self;
        let mut repeats = true;
        while repeats {
            if stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            let waited = host_waits.wait(stop, &mut || on_event(&Event::Waiting));
            let slice = meter.measure(subjects, host_waits, waited, block, subject, stop)?;
            if stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            repeats = host_waits.repeats(&slice);
            on_event(&Event::SliceEnded { slice: &slice, is_again: repeats || is_late });
            subjects.check(&[subject])?;
        }
        Ok(true)
    }
}
