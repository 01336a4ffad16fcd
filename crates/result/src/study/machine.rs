//! What generator and host did during a study.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the generator did under one load, in the slices that count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GeneratorUse {
    /// The load.
    pub load: String,
    /// How late the generator itself sent, median, microseconds. Null in a closed loop.
    #[serde(default)]
    pub own_lag_p50_us: Option<f64>,
    /// The same, 99th percentile.
    pub own_lag_p99_us: Option<f64>,
    /// Share of the wall time that the generator's thread was on a processor, 0 to 1.
    pub core_share: f64,
    /// Share of the wall time that the processors of generator and origin were busy, 0 to 1.
    pub processors_share: f64,
    /// Share of the wall time that the generator's thread waited for a processor, 0 to 1.
    pub run_delay_share: f64,
}

/// What the host took, over the whole study.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostUse {
    /// Share of the processors' time that went to others while this machine had work, 0 to 1, in all slices.
    pub steal_share: f64,
    /// Round trip of a cache line between the generator's processor and the proxy's, nanoseconds: the median of the
    /// slices that count. Null when they share a processor.
    pub handover_ns: Option<f64>,
    /// Time waited until the host had the two processors together again, seconds.
    pub waited_s: f64,
    /// Share of the proxies' slices that they waited for their processor, 0 to 1, in the slices whose CPU time counts.
    pub proxy_run_delay_share: f64,
    /// The baseline's CPU time per request in the last third of the rounds over that in the first third, less
    /// one. Null with fewer than three rounds.
    pub drift_share: Option<f64>,
    /// How much of what the slices around it deviate in CPU time a slice deviates too, 0 to 1. Costs in CPU time are those
    /// at the machine's usual speed in the study, as the other arms of the block and so much of these slices tell it. Null
    /// where nothing can be said, as with one round or with few arms.
    pub neighbour_weight: Option<f64>,
}
