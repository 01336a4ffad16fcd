//! How a search searches: its objectives, its range, its time, and how much evidence it wants.

use std::time::{Duration, Instant};

use hoptax_checks::objective::Objective;
use hoptax_checks::thresholds;
use hoptax_stats::search::Goal;

use crate::machine::NeverHalt;

/// The lowest rate that sends a request in the shortest trial, requests per second.
pub const LOWEST_RATE: f64 = 1.0;

/// What a search is for, and how it searches.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// What must hold at the rate.
    pub objectives: &'a [Objective],
    /// How much evidence the result needs.
    pub preset: Preset,
    /// The lowest rate, requests per second; none for a share of the highest.
    pub min_rate: Option<f64>,
    /// The highest rate, requests per second; none for a multiple of the rate of a closed loop.
    pub max_rate: Option<f64>,
    /// Time limit; none for that of the preset, on arms for each arm.
    pub budget: Option<Duration>,
    /// Limits of the checks of the generator, which decide whether a trial counts.
    pub limits: &'a thresholds::Limits,
    /// Version, path or name of the Envoy, for arms.
    pub envoy: Option<&'a str>,
    /// When idle processors are kept from halting.
    pub never_halt: NeverHalt,
}

impl Options<'_> {
    pub(super) fn settings(&self) -> Settings {
        Settings::of(self.preset)
    }
}

/// How much evidence a result needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// Within 2 %; most of 11 trials of 1 s decide about a rate.
    Quick,
    /// Within 1 %; most of 41 trials of 8 s decide about a rate.
    Careful,
    /// Within 1 %; one trial of 60 s decides about a rate, as in RFC 2544.
    Rfc2544,
}

impl Preset {
    /// Its name in results.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Careful => "careful",
            Self::Rfc2544 => "rfc2544",
        }
    }
}

/// What a preset stands for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub(super) goal: Goal,
    /// Time before the record of each trial.
    pub(super) warmup: Duration,
    /// Time after a trial that failed, in which the server empties its queues.
    pub(super) settle: Duration,
    pub(super) budget: Duration,
}

impl Settings {
    fn of(preset: Preset) -> Self {
        match preset {
            Preset::Quick => Self {
                goal: Goal::QUICK,
                warmup: Duration::from_millis(300),
                settle: Duration::from_millis(200),
                budget: Duration::from_mins(5),
            },
            Preset::Careful => Self {
                goal: Goal::CAREFUL,
                warmup: Duration::from_secs(1),
                settle: Duration::from_secs(1),
                budget: Duration::from_mins(90),
            },
            // RFC 2544, section 23: two seconds for the last frames, and five for the device to settle.
            Preset::Rfc2544 => Self {
                goal: Goal::RFC2544,
                warmup: Duration::from_secs(1),
                settle: Duration::from_secs(7),
                budget: Duration::from_hours(3),
            },
        }
    }
}

/// The time of a search.
#[derive(Clone, Copy, Debug)]
pub(super) struct Time {
    begun: Instant,
    pub(super) budget: Duration,
}

impl Time {
    /// A budget from now on.
    pub(super) fn begin(budget: Duration) -> Self {
        Self { begun: Instant::now(), budget }
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// What is left of a share of the budget.
    pub(super) fn left_of(&self, share: f64) -> Duration {
        self.budget.mul_f64(share).saturating_sub(self.elapsed())
    }

    /// What is left if this long must remain after it.
    pub(super) fn left_before(&self, last: Duration) -> Duration {
        self.budget.saturating_sub(self.elapsed() + last)
    }
}
