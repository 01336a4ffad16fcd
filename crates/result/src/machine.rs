//! What the machine can give to a measurement, as probed in the seconds before it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a machine wakes its tasks, and who else wants its processors. Probed while nothing of a study runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MachineProbe {
    /// Processors that the placement names.
    pub processors: u32,
    /// Wake-ups on processors that were idle before, as the machine is.
    pub halting: Vec<WakeUps>,
    /// The same with a spinner on each of the processors, which keeps the host from halting them; null where that was not to be
    /// had.
    pub never_halted: Option<Vec<WakeUps>>,
    /// Why there could be no spinner; null where there was one.
    pub spinner_refused: Option<String>,
    /// Median time that a cache line takes from the generator's first processor to the proxy's first and back, nanoseconds;
    /// null where they share one.
    pub handover_ns: Option<f64>,
    /// Share of the time that the host took from the probed processors while they had work.
    pub steal_share: f64,
    /// Share of the time in which a task that always had work was kept from its processor by others; of the processors the
    /// worst.
    pub run_delay_share: f64,
    /// The kernel's clock source, for example `tsc` or `kvm-clock`; empty where the kernel does not show it.
    pub clock_source: String,
    /// What one reading of the clock takes, nanoseconds.
    pub clock_read_ns: f64,
    /// What tasks that are not the probe's used of each probed processor.
    pub used_by_others: Vec<UsedByOthers>,
    /// How long the probe took, seconds.
    pub seconds: f64,
}

/// How late a task runs on one processor after it was to wake.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WakeUps {
    /// The processor on which the task sleeps.
    pub processor: u32,
    /// From the moment at which a task on another processor asks the kernel to wake it; null where there is no other processor.
    pub by_another: Option<Lateness>,
    /// From the moment at which its timer falls due; null where it never woke in the time of the probe.
    pub by_timer: Option<Lateness>,
}

/// Quantiles of how late something was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lateness {
    /// Median, microseconds.
    pub p50_us: f64,
    /// 99th percentile, microseconds.
    pub p99_us: f64,
    /// Wake-ups that these rest on.
    pub samples: u64,
}

/// What tasks that are not ours used of a processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UsedByOthers {
    /// The processor.
    pub processor: u32,
    /// Share of the time of the probe. The kernel counts in hundredths of a second, so a difference of a percent is none.
    pub share: f64,
}
