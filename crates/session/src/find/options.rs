//! Options of a search: its objectives, its range, its time, and the evidence that it needs.

use std::time::{Duration, Instant};

use hoptax_checks::objective::Objective;
use hoptax_checks::thresholds;
use hoptax_load::options::{BUDGET, BUDGET_OF_CAREFUL, PRESET};
use hoptax_subject::envoy::release::EnvoyChoice;

use crate::awake::NeverHalt;

/// Options of a search.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// Objectives that must hold at the rate.
    pub objectives: &'a [Objective],
    /// Preset for the width of the rate's interval.
    pub preset: Preset,
    /// The lowest rate, requests per second; none for a share of the highest.
    pub min_rate: Option<f64>,
    /// The highest rate, requests per second; none for a multiple of the rate of a closed loop.
    pub max_rate: Option<f64>,
    /// Time limit; none for that of the preset. On arms, the preset's limit is multiplied by their number.
    pub budget: Option<Duration>,
    /// Limits of the checks of the generator, which decide if a trial counts.
    pub limits: &'a thresholds::Limits,
    /// The Envoy, for arms.
    pub envoy: EnvoyChoice<'a>,
    /// When idle processors are kept from halting.
    pub never_halt: NeverHalt,
}

impl Options<'_> {
    pub(super) fn settings(&self) -> Settings {
        Settings::from_preset(self.preset)
    }
}

/// How narrow the interval of a rate should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Preset {
    /// 4 % wide, in at most 5 min.
    Quick,
    /// 2 % wide, in at most 90 min.
    Careful,
}

impl Preset {
    /// Its name in results.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Quick => PRESET,
            Self::Careful => "careful",
        }
    }
}

/// Settings of a preset.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    /// Requested width of the interval, as a share of its upper end.
    pub(super) width: f64,
    /// Minimum warm-up before the recorded time of each trial.
    pub(super) warmup: Duration,
    /// Time after a failed trial, in which the server empties its queues.
    pub(super) settle: Duration,
    pub(super) budget: Duration,
    /// Length of a trial of a sweep.
    pub(super) sweep_trial: Duration,
}

impl Settings {
    fn from_preset(preset: Preset) -> Self {
        match preset {
            Preset::Quick => Self {
                width: 0.04,
                warmup: Duration::from_millis(300),
                settle: Duration::from_millis(200),
                budget: BUDGET,
                sweep_trial: Duration::from_secs(1),
            },
            Preset::Careful => Self {
                width: 0.02,
                warmup: Duration::from_secs(1),
                settle: Duration::from_secs(1),
                budget: BUDGET_OF_CAREFUL,
                sweep_trial: Duration::from_secs(8),
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

    /// Returns the rest of a share of the budget.
    pub(super) fn left_of(&self, share: f64) -> Duration {
        self.budget.mul_f64(share).saturating_sub(self.elapsed())
    }

    /// Returns the rest of the budget if a last step needs `last` of it.
    pub(super) fn left_before(&self, last: Duration) -> Duration {
        self.budget.saturating_sub(self.elapsed() + last)
    }
}
