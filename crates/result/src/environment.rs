//! The machine that a result was measured on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Calibrated;

/// What was captured of the machine. A number without it cannot be compared with another.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Environment {
    /// When the measurement began, RFC 3339 in UTC.
    pub started_at: String,
    /// Version of hoptax.
    pub hoptax_version: String,
    /// The commit of git that hoptax was built from, with `-dirty` behind it where files of it had been changed; null for a
    /// development build, and where there was no git.
    #[serde(default)]
    pub hoptax_commit: Option<String>,
    /// Version that the proxy printed of itself; absent where there is no proxy.
    pub proxy_version: Option<String>,
    /// SHA-256 of the proxy's program; null where there is no proxy, and in results of earlier versions.
    #[serde(default)]
    pub proxy_sha256: Option<String>,
    /// Kernel release, as `uname -r` prints it.
    pub kernel: String,
    /// Processor model.
    pub cpu_model: String,
    /// Processors online.
    pub cpus: u32,
    /// Memory, bytes.
    pub memory_bytes: u64,
    /// Whether the processor says that it runs under a hypervisor.
    pub virtual_machine: bool,
    /// The kernel's clock source, for example `tsc` or `kvm-clock`.
    pub clock_source: String,
    /// Frequency governor of the first processor; absent where the host does not show one.
    pub frequency_governor: Option<String>,
    /// Load average of the last minute when the measurement began.
    pub load_average: f64,
    /// Which processors the proxy was pinned to.
    pub proxy_cpus: Vec<u32>,
    /// Which processors the generator and the origin were pinned to.
    pub generator_cpus: Vec<u32>,
    /// How wrong the generator is on this machine, as measured by `hoptax calibrate`; null where it never was.
    pub calibration: Option<Calibrated>,
}
