//! The schedule of a load: the times at which it sends, and its length.

use std::fs;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use hoptax_load::trial::TrialSpec;
use hoptax_load::{Arrivals, ArrivalsError, Connect, Pace, Pooling, Think, Trace, WhenBusy, WhenLate};

use super::Load;
use crate::failure::Failure;
use crate::update::Say;

/// Error for open-loop options in a closed loop.
const NEEDS_RATE: &str =
    "needs a rate: without `--rate` the loop is closed and has no schedule; add `--rate 1000`";

/// Default lengths of the recording and of the warm-up.
const DURATION: Duration = Duration::from_secs(10);
const WARM_UP: Duration = Duration::from_secs(1);
/// Default time limit of a closed loop with a number of requests.
const LONGEST_CLOSED: Duration = Duration::from_hours(1);

/// The schedule of a load.
#[derive(Clone, Debug, Default)]
pub struct Schedule {
    /// The rates; none for a closed loop or a trace.
    pub pace: Option<Pace>,
    /// The arrival process.
    pub arrivals: ArrivalsOf,
    /// Think time of a closed loop.
    pub think: Option<Think>,
    /// Treatment of requests if all connections are busy.
    pub when_busy: WhenBusy,
    /// Treatment of requests if the generator is late.
    pub when_late: WhenLate,
    /// Time over which connections are opened.
    pub ramp_up: Option<Duration>,
    /// Length of the recording; none for that of the trace or the stages, or 10 s.
    pub duration: Option<Duration>,
    /// Number of requests after which the recording ends.
    pub count: Option<u64>,
    /// Length of the warm-up; none for 1 s, or none at all before a trace or stages.
    pub warmup: Option<Duration>,
}

/// Source of arrivals.
#[derive(Clone, Debug)]
pub enum ArrivalsOf {
    /// An arrival process.
    Process(Arrivals),
    /// A trace file.
    Trace(PathBuf),
}

impl Default for ArrivalsOf {
    fn default() -> Self {
        Self::Process(Arrivals::Uniform)
    }
}

impl FromStr for ArrivalsOf {
    type Err = ArrivalsError;

    /// Reads `trace=FILE`, or an arrival process.
    fn from_str(text: &str) -> Result<Self, ArrivalsError> {
        match text.strip_prefix("trace=") {
            Some(path) if !path.is_empty() => Ok(Self::Trace(path.into())),
            _ => text.parse().map(Self::Process),
        }
    }
}

/// An open loop with the length that it has by itself, or a closed one.
#[derive(Debug, Default)]
struct Loop {
    /// None for a closed loop.
    open: Option<(Pace, Arrivals)>,
    /// Length of the trace or of the stages; None for other loads.
    length: Option<Duration>,
}

impl Load {
    /// The trial of this load by a schedule.
    ///
    /// # Errors
    /// As [`Load::closed_loop`], and when the schedule is not valid.
    pub(crate) fn scheduled(&self, schedule: &Schedule, say: Say<'_>) -> Result<TrialSpec, Failure> {
        if schedule.ramp_up.is_some() && self.connections.lifetime.connect == Connect::OnDemand {
            return Err(Failure::bad_input(
                "`--ramp-up` opens connections before the load: remove `--connect on-demand`",
            ));
        }
        let Loop { open, length } = schedule.open_loop()?;
        let (length, warmup) = length.map_or_else(
            || (schedule.count.map_or(DURATION, |count| time_limit(count, open.as_ref())), WARM_UP),
            |length| (length, Duration::ZERO),
        );
        let spec = self.closed_loop(say)?;
        Ok(TrialSpec {
            open,
            think: schedule.think,
            pooling: Pooling { when_busy: schedule.when_busy, when_late: schedule.when_late, ..spec.pooling },
            duration: schedule.duration.unwrap_or(length),
            requests: schedule.count,
            warmup: schedule.warmup.unwrap_or(warmup),
            ramp_up: schedule.ramp_up.unwrap_or_default(),
            ..spec
        })
    }
}

impl Schedule {
    fn open_loop(&self) -> Result<Loop, Failure> {
        match (&self.arrivals, self.pace.clone()) {
            (ArrivalsOf::Trace(_), Some(_)) => Err(Failure::bad_input(
                "a trace cannot be combined with `--rate` or `--stages`: it has its own rate",
            )),
            (ArrivalsOf::Trace(path), None) => {
                let text = fs::read_to_string(path).map_err(|error| {
                    Failure::bad_input(format!("cannot read the trace `{}`: {error}", path.display()))
                })?;
                let trace = Trace::parse(&path.display().to_string(), &text).map_err(Failure::bad_input)?;
                let length = Some(trace.length());
                Ok(Loop {
                    open: Some((Pace::Constant(trace.rate()), Arrivals::Trace(Arc::new(trace)))),
                    length,
                })
            }
            (ArrivalsOf::Process(arrivals), Some(pace)) => {
                let length = pace.length();
                Ok(Loop { open: Some((pace, arrivals.clone())), length })
            }
            (ArrivalsOf::Process(Arrivals::Uniform), None) => {
                for (is_default, flag) in [
                    (self.when_busy == WhenBusy::default(), "--when-busy"),
                    (self.when_late == WhenLate::default(), "--when-late"),
                ] {
                    if !is_default {
                        return Err(Failure::bad_input(format!("`{flag}` {NEEDS_RATE}")));
                    }
                }
                Ok(Loop::default())
            }
            (ArrivalsOf::Process(arrivals), None) => {
                Err(Failure::bad_input(format!("`--arrivals {arrivals}` {NEEDS_RATE}")))
            }
        }
    }
}

/// Time limit of `count` requests. In an open loop, it exceeds the expected time only slightly, because the windows of the
/// recording are hundredths of it; random arrivals exceed six standard deviations almost never.
fn time_limit(count: u64, open: Option<&(Pace, Arrivals)>) -> Duration {
    let Some((pace, arrivals)) = open else { return LONGEST_CLOSED };
    let burst = if let Arrivals::Burst(size) = arrivals { f64::from(*size) } else { 0.0 };
    let count = count as f64;
    let seconds = (count + 6.0 * count.sqrt() + burst + 10.0) / pace.mean_rate();
    Duration::try_from_secs_f64(seconds).unwrap_or(LONGEST_CLOSED)
}
