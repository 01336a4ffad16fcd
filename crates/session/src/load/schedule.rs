//! The schedule of a load: when it sends requests, and how long.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use hoptax_load::{Arrivals, ArrivalsError, Pace, Think, Trace, WhenBusy, WhenLate};
use hoptax_text::file::text_up_to;

use crate::failure::Failure;

/// The most bytes of a trace.
const MOST_BYTES_OF_TRACE: u64 = 1 << 30;

/// Error for open-loop options in a closed loop.
const NEEDS_RATE: &str =
    "needs a rate: without `--rate` the loop is closed and has no schedule; add `--rate 1000`";

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
    /// Length of the recording; none for the length of the trace or the stages, or 10 s.
    pub duration: Option<Duration>,
    /// Number of requests after which the recording ends.
    pub count: Option<u64>,
    /// Length of the warm-up; none for the default: 1 s, or no warm-up before a trace or stages.
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

/// An open loop with the length that it defines itself, or a closed loop.
#[derive(Debug, Default)]
pub(super) struct Loop {
    /// None for a closed loop.
    pub(super) open: Option<(Pace, Arrivals)>,
    /// Length of the trace or of the stages; None for other loads.
    pub(super) length: Option<Duration>,
}

impl Schedule {
    /// The loop that this schedule describes.
    ///
    /// # Errors
    /// When options do not fit together, or the trace cannot be read.
    pub(super) fn open_loop(&self) -> Result<Loop, Failure> {
        match (&self.arrivals, self.pace.clone()) {
            (ArrivalsOf::Trace(_), Some(_)) => Err(Failure::bad_input(
                "a trace cannot be combined with `--rate` or `--stages`: it has its own rate",
            )),
            (ArrivalsOf::Trace(path), None) => {
                let text = text_up_to(path, MOST_BYTES_OF_TRACE).map_err(|error| {
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
