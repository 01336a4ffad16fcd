//! Resource use of the generator, and effects of the host, during a study.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Use of the generator under one load, in the slices that count, of one arm or of all.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GeneratorUse {
    /// The load.
    pub load: String,
    /// Median send lag caused by the generator itself, us. Null in a closed loop.
    pub own_lag_p50_us: Option<f64>,
    /// 90th percentile of the same. Null in results of earlier versions.
    pub own_lag_p90_us: Option<f64>,
    /// 99th percentile of the same.
    pub own_lag_p99_us: Option<f64>,
    /// 99th percentile of the same in quiet slices. Null where the rule of quiet slices does not apply, and in results of earlier
    /// versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet_own_lag_p99_us: Option<f64>,
    /// Share of the recorded time that the generator's thread was on a processor, 0 to 1.
    pub core_share: f64,
    /// Share of the wall time that the processors of generator and origin were busy, 0 to 1.
    pub processors_share: f64,
    /// Share of the recorded time that the generator's thread waited for a processor, 0 to 1.
    pub run_delay_share: f64,
}

/// Effects of the host over the whole study.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostUse {
    /// Stolen share of the processors' time, 0 to 1, in all slices.
    pub steal_share: f64,
    /// Round trip of a cache line between the generator's processor and the proxy's, nanoseconds: the median over the
    /// slices that count. Null when they share a processor.
    pub handover_ns: Option<f64>,
    /// Time spent waiting for the host to move the two processors close together again, seconds.
    pub waited_s: f64,
    /// Share of the proxies' slices in which they waited for their processor, 0 to 1, over the slices whose CPU time
    /// counts.
    pub proxy_run_delay_share: f64,
    /// The baseline's CPU time per request in the last third of the rounds divided by that in the first third, less
    /// one. Null with fewer than three rounds.
    pub drift_share: Option<f64>,
    /// The share of its neighbours' deviation in CPU time that a slice has too, 0 to 1. Costs in CPU time are
    /// normalized to the machine's usual speed in the study, which is estimated from the other arms of the block and,
    /// with this weight, from adjacent slices. Each load has a weight of its own; this is that of the load of the study's CPU times. Null if
    /// it cannot be estimated, as with one round or with few arms.
    pub neighbour_weight: Option<f64>,
}
