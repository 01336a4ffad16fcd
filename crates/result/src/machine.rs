//! The suitability of the machine for measurements, probed in the seconds before one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Wake-up latencies of a machine, and the use of its processors by others. Probed while nothing of a study runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MachineProbe {
    /// Number of processors in the placement.
    pub processors: u32,
    /// Wake-ups on idle processors, with the machine's own settings.
    pub halting: Vec<WakeUps>,
    /// The same on processors that are kept from halting; null if not possible.
    pub never_halted: Option<Vec<WakeUps>>,
    /// Method that kept them from halting; null if not possible, and in results of earlier versions, which used a spinner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub never_halted_by: Option<NeverHaltedBy>,
    /// Reason why they could not be kept from halting; null if they could.
    pub never_halted_refused: Option<String>,
    /// Median round trip of a cache line between the generator's first processor and the proxy's first, nanoseconds;
    /// null if they share one.
    pub handover_ns: Option<f64>,
    /// Stolen share of the probed processors' time while they were busy.
    pub steal_share: f64,
    /// Share of the time that a permanently runnable task waited for its processor because of other tasks; the largest
    /// over processors.
    pub run_delay_share: f64,
    /// The kernel's clock source, for example `tsc` or `kvm-clock`; empty if the kernel does not expose it.
    pub clock_source: String,
    /// Duration of one clock reading, nanoseconds.
    pub clock_read_ns: f64,
    /// Use of each probed processor by tasks other than the probe's.
    pub used_by_others: Vec<UsedByOthers>,
    /// Duration of the probe, seconds.
    pub seconds: f64,
}

/// Method that keeps processors from halting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NeverHaltedBy {
    /// A request for a wake-up latency of 0 (`/dev/cpu_dma_latency`): idle processors poll in the kernel.
    LatencyRequest,
    /// A thread on each processor that runs whenever nothing else does.
    Spinner,
}

/// Wake-up latency of a task on one processor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WakeUps {
    /// The processor on which the task sleeps.
    pub processor: u32,
    /// Lateness since a task on another processor asked the kernel to wake it; null if there is no other processor.
    pub by_another: Option<Lateness>,
    /// Lateness since its timer expired; null if it never woke during the probe.
    pub by_timer: Option<Lateness>,
}

/// Quantiles of a latency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lateness {
    /// Median, us.
    pub p50_us: f64,
    /// 99th percentile, us.
    pub p99_us: f64,
    /// Number of wake-ups.
    pub samples: u64,
}

/// Use of a processor by tasks other than ours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UsedByOthers {
    /// The processor.
    pub processor: u32,
    /// Share of the probe's duration. The kernel counts in hundredths of a second, so differences of one percent are
    /// not significant.
    pub share: f64,
}
