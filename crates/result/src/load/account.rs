//! CPU time and memory of the processes that a load accounted for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// CPU time and memory of the processes that `--account` names, with their descendants. They are looked up before the load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProcessAccount {
    /// The processes: `pid 123`, `process envoy`, `cgroup PATH` or `unit envoy`.
    pub processes: String,
    /// Number of processors that they may use at once: those that their affinity permits, but no more than the CPU limits
    /// (`cpu.max`) of their control groups.
    pub processors: f64,
    /// CPU time over the recorded time, as a share of these processors, 0 to 1; null if a process or a thread ended meanwhile.
    pub cpu_share: Option<f64>,
    /// CPU time for each complete response, us, both from the first request of the warm-up until the last response; null if a
    /// process or a thread ended meanwhile, and without responses.
    pub cpu_us: Option<f64>,
    /// Resident memory of all processes at the end of the recorded time, bytes. Memory that they share counts for each. Null if a
    /// process has ended.
    pub memory_bytes: Option<u64>,
}
