//! The machine that a result was measured on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Calibrated, ClusterEnvironment};

/// The recorded properties of the machine. Numbers are comparable only if these are known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Environment {
    /// Begin of the measurement, RFC 3339 in UTC.
    pub started_at: String,
    /// Version that the proxy reports; absent without a proxy.
    pub proxy_version: Option<String>,
    /// SHA-256 of the proxy's executable; null without a proxy, and in results of earlier versions.
    pub proxy_sha256: Option<String>,
    /// What the proxy reports of its build, in the words of `envoy --version`: the state of its sources (`Clean`, `Modified`, or
    /// `Distribution` for an archive) and its type (`RELEASE`, or `DEBUG` with assertions). Absent if it reports none, and in results of
    /// earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy_build: Option<String>,
    /// Kernel release, as `uname -r` prints it.
    pub kernel: String,
    /// Processor model.
    pub cpu_model: String,
    /// Processors online.
    pub cpus: u32,
    /// Memory, bytes.
    pub memory_bytes: u64,
    /// True if the processor reports a hypervisor.
    pub virtual_machine: bool,
    /// The kernel's clock source, for example `tsc` or `kvm-clock`.
    pub clock_source: String,
    /// Frequency governor of the first processor; absent if the host does not expose it.
    pub frequency_governor: Option<String>,
    /// One-minute load average when the measurement began.
    pub load_average: f64,
    /// Processors that the proxy was pinned to.
    pub proxy_cpus: Vec<u32>,
    /// Processors that the generator and the origin were pinned to.
    pub generator_cpus: Vec<u32>,
    /// The accuracy of the generator on this machine, as measured by `hoptax trust calibrate`; null if it was not calibrated.
    pub calibration: Option<Calibrated>,
    /// The cluster, if it was measured in one; absent otherwise. The fields above are then those of the node of the servers, as far as the
    /// cluster tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterEnvironment>,
}
