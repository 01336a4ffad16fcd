//! What the CPU time of proxies went into, as far as the kernel counts it for every process at no cost to it.

use std::ops::{Add, AddAssign};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Interval;

/// What the proxies of an arm did, all together, in slices whose CPU time counts: sums, as the kernel counted.
///
/// `user_ns` and `kernel_ns` are samples, unless the kernel accounts for each entry and exit: every tick goes to the side that
/// it interrupts. Only their ratio says something, and of a second on a processor it has a standard error of 3 percentage
/// points. All else is counted one by one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PartCounts {
    /// Requests that were answered meanwhile.
    pub requests: u64,
    /// Time on a processor, nanoseconds, to the nanosecond.
    pub cpu_ns: u64,
    /// Ticks that interrupted the program, as nanoseconds.
    pub user_ns: u64,
    /// Ticks that interrupted the kernel on its behalf, likewise.
    pub kernel_ns: u64,
    /// Calls of `read` and its relatives; `recv` and its relatives do not count.
    pub reads: u64,
    /// Calls of `write` and its relatives; `send` and its relatives do not count.
    pub writes: u64,
    /// What the reads got, bytes.
    pub read_bytes: u64,
    /// What the writes gave, bytes.
    pub written_bytes: u64,
    /// Times that a thread gave its processor away, to wait for something.
    pub voluntary_switches: u64,
    /// Times that a thread's processor was taken from it.
    pub involuntary_switches: u64,
    /// Page faults that needed no disk.
    pub minor_faults: u64,
}

impl Add for PartCounts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            requests: self.requests + other.requests,
            cpu_ns: self.cpu_ns + other.cpu_ns,
            user_ns: self.user_ns + other.user_ns,
            kernel_ns: self.kernel_ns + other.kernel_ns,
            reads: self.reads + other.reads,
            writes: self.writes + other.writes,
            read_bytes: self.read_bytes + other.read_bytes,
            written_bytes: self.written_bytes + other.written_bytes,
            voluntary_switches: self.voluntary_switches + other.voluntary_switches,
            involuntary_switches: self.involuntary_switches + other.involuntary_switches,
            minor_faults: self.minor_faults + other.minor_faults,
        }
    }
}

impl AddAssign for PartCounts {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// What the CPU time of the proxies went into, per request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parts {
    /// CPU time in the program, microseconds: the exact CPU time, divided between program and kernel by ticks.
    pub user_us: Option<Interval>,
    /// CPU time in the kernel, likewise.
    pub kernel_us: Option<Interval>,
    /// Calls of `read` and its relatives.
    pub reads: Option<Interval>,
    /// Calls of `write` and its relatives.
    pub writes: Option<Interval>,
    /// What the reads got, bytes.
    pub read_bytes: Option<Interval>,
    /// What the writes gave, bytes.
    pub written_bytes: Option<Interval>,
    /// Times that a thread gave its processor away, to wait for something.
    pub voluntary_switches: Option<Interval>,
    /// Times that a thread's processor was taken from it.
    pub involuntary_switches: Option<Interval>,
    /// Page faults that needed no disk.
    pub minor_faults: Option<Interval>,
}

impl Parts {
    /// Every number of it.
    pub fn all_mut(&mut self) -> [&mut Option<Interval>; 9] {
        [
            &mut self.user_us,
            &mut self.kernel_us,
            &mut self.reads,
            &mut self.writes,
            &mut self.read_bytes,
            &mut self.written_bytes,
            &mut self.voluntary_switches,
            &mut self.involuntary_switches,
            &mut self.minor_faults,
        ]
    }
}
