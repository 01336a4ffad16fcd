//! Runs a plan on live processes.
//!
//! Each round starts every process afresh, in random order, because a process keeps its own level for as long as
//! it lives. Within a round all arms are alive at once with warm connections, and blocks of short slices visit
//! them in random order, so that the drift of the machine falls on all alike.
//!
//! The runner works on the thread that calls it, since the kernel ends the processes that it starts together with
//! that thread. Generator and origins share the processors that the proxies do not have.

mod capacity;
mod ends;
mod measure;
mod origins;
mod php;
mod quiet;
mod refusal;
mod subjects;
#[cfg(test)]
mod tests;
mod traffic;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hoptax_functions::RenderError;
use hoptax_host::accounting::{ProcessorTicks, processor_ticks};
use hoptax_host::link::{Link, LinkError};
use hoptax_host::processors::{self, Placement};
use hoptax_host::spinner::Spinner;
use hoptax_load::{ConnectError, TargetError};
use hoptax_subject::envoy::process::ProxyError;
use hoptax_subject::envoy::release::Envoy;
use hoptax_subject::origin::OriginError;

use crate::event::Event;
use crate::plan::{self, Plan};
use crate::record::RoundRecord;
use measure::Meter;
use quiet::Quiet;
pub use subjects::FILES;
use subjects::Subjects;
pub(crate) use traffic::requests_sha256;

/// What a run needs beside its plan.
#[derive(Clone, Debug)]
pub struct Setting<'a> {
    /// This program, which also is the origin.
    pub program: &'a Path,
    /// The Envoy that is measured.
    pub envoy: &'a Envoy,
    /// Where configurations and logs are kept.
    pub directory: &'a Path,
    /// Who runs on which processor.
    pub placement: &'a Placement,
    /// What keeps the processors from being halted, if they are.
    pub spinner: Option<&'a Spinner>,
    /// Where the time that the host took is read: [`KERNEL_TICKS`], unless a test puts a host there that steals.
    pub ticks: Ticks,
}

/// Reads the time of each processor, by its number: see [`processor_ticks`].
pub type Ticks = fn() -> io::Result<Vec<(u32, ProcessorTicks)>>;

/// The kernel's own account.
pub const KERNEL_TICKS: Ticks = processor_ticks;

/// Why a study cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Something about one arm.
    #[error("arm `{arm}`: {cause}")]
    Arm {
        /// The arm.
        arm: String,
        /// What.
        cause: ArmError,
    },
    /// The origin.
    #[error(transparent)]
    Origin(#[from] OriginError),
    /// The link.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// A folder or file of the run.
    #[error("cannot use `{}`: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The kernel refused something.
    #[error("cannot measure: {0}")]
    System(#[from] io::Error),
}

/// Why an arm cannot be measured.
#[derive(Debug, thiserror::Error)]
pub enum ArmError {
    /// Its function cannot be rendered.
    #[error(transparent)]
    Render(#[from] RenderError),
    /// Envoy refuses what its function adds.
    #[error("Envoy refuses line {line} of the fragment of function `{function}`, `{text}`:\n{reason}")]
    Fragment {
        /// The function.
        function: String,
        /// The line, counted from 1, with knobs filled in.
        line: usize,
        /// What it says.
        text: String,
        /// Why, in Envoy's words.
        reason: String,
    },
    /// Its proxy is not running.
    #[error(transparent)]
    Proxy(#[from] ProxyError),
    /// Its requests cannot be made.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// Its connections cannot be opened.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// A function that is to be taken away did nothing before.
    #[error("its function was not at work before it was to be taken away: `{0}`")]
    NeverAtWork(String),
    /// Its connections cannot be secured.
    #[error("cannot set up TLS: {0}")]
    Security(String),
}

/// How a run ended.
#[derive(Debug)]
pub enum Ending {
    /// As planned.
    Complete,
    /// It was asked to stop.
    Interrupted,
    /// It could not go on.
    Failed(RunError),
}

/// What a run came to.
#[derive(Debug)]
pub struct Outcome {
    /// The complete rounds.
    pub rounds: Vec<RoundRecord>,
    /// How it ended.
    pub ending: Ending,
    /// How long it took, seconds.
    pub wall_s: f64,
}

/// What is known of a study that was begun before.
#[derive(Clone, Debug, Default)]
pub struct Earlier {
    /// Its complete rounds.
    pub rounds: Vec<RoundRecord>,
    /// How long they took, seconds.
    pub elapsed_s: f64,
}

/// What has a say in how long a run goes on, and what hears of it.
pub struct Control<'a> {
    /// Setting it ends the run after the request in flight; the rounds that were complete by then are kept.
    pub stop: &'a AtomicBool,
    /// Whether another round begins, given the complete ones. It is asked while nothing is measured.
    pub goes_on: &'a mut dyn FnMut(&[RoundRecord]) -> bool,
    /// Hears what happens.
    pub on_event: &'a mut dyn FnMut(&Event<'_>),
}

/// Runs `plan`, from where `earlier` ended, for as many rounds as it has, or until `control` says that these are enough.
pub fn run(plan: &Plan, setting: &Setting<'_>, earlier: Earlier, control: &mut Control<'_>) -> Outcome {
    let now = Instant::now();
    // A machine that was started since then has no such moment.
    let began = now.checked_sub(Duration::from_secs_f64(earlier.elapsed_s.max(0.0))).unwrap_or(now);
    let mut rounds = earlier.rounds;
    let ending = match run_rounds(plan, setting, began, control, &mut rounds) {
        // What fails after a request to stop fails because of it.
        _ if control.stop.load(Ordering::Relaxed) => Ending::Interrupted,
        Ok(()) => Ending::Complete,
        Err(error) => Ending::Failed(error),
    };
    Outcome { rounds, ending, wall_s: began.elapsed().as_secs_f64() }
}

fn run_rounds(
    plan: &Plan,
    setting: &Setting<'_>,
    began: Instant,
    control: &mut Control<'_>,
    rounds: &mut Vec<RoundRecord>,
) -> Result<(), RunError> {
    fs::create_dir_all(setting.directory)
        .map_err(|source| RunError::File { path: setting.directory.to_owned(), source })?;
    // Before this thread is pinned: what carries packets belongs to neither end.
    let link = plan.link.as_ref().map(Link::create).transpose()?;
    processors::pin(setting.placement.caller())?;
    processors::wake_precisely()?;
    // Callers and what stands beside them are at the near end, whatever this thread starts.
    match &link {
        None => all_rounds(plan, setting, None, began, control, rounds),
        Some(near) => near
            .near
            .within(|| all_rounds(plan, setting, Some(near), began, control, rounds))
            .map_err(LinkError::from)?,
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
    let mut quiet = Quiet::over(setting.placement, link.is_some(), rounds)?;
    let Control { stop, goes_on, on_event } = control;
    let first = rounds.len() as u32;
    let mut capacities = rounds.last().map(|round| round.capacities.clone()).unwrap_or_default();
    for round in first..=plan.rounds {
        // Asked after the last round, too: the end is a look at what there is.
        if !goes_on(rounds) || round == plan.rounds {
            break;
        }
        if round == first {
            on_event(&Event::Checking);
        }
        let mut subjects = Subjects::bring_up(plan, setting, link, round, round == first, stop)?;
        on_event(&Event::RoundBegan { round });
        let mut meter = Meter::new(plan, setting, link, &subjects, began, round);
        meter.warm_up(&mut subjects, stop)?;
        if plan.needs_capacities() && capacities.is_empty() {
            on_event(&Event::Sizing);
            capacities = meter.capacities(&mut subjects, stop)?;
        }
        meter.knows(&capacities);
        for block in plan::blocks(plan, round) {
            for &subject in &block.subjects {
                let mut is_again = true;
                while is_again {
                    if stop.load(Ordering::Relaxed) {
                        return Ok(());
                    }
                    let waited = quiet.wait(stop, &mut || on_event(&Event::Waiting));
                    let slice = meter.measure(&mut subjects, (&mut quiet, waited), &block, subject, stop)?;
                    if stop.load(Ordering::Relaxed) {
                        return Ok(());
                    }
                    is_again = quiet.asks_again(&slice);
                    on_event(&Event::SliceEnded { slice: &slice, is_again });
                    subjects.check(plan, &[subject])?;
                }
            }
            subjects.check(plan, &block.subjects)?;
        }
        let record = meter.finish(&subjects)?;
        subjects.end()?;
        on_event(&Event::RoundEnded { round, record: &record, elapsed_s: began.elapsed().as_secs_f64() });
        rounds.push(record);
    }
    Ok(())
}
