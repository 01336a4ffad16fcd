//! Breakdown of the CPU time of proxies, from counters that the kernel keeps for every process without overhead for it.

use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Interval;

/// Activity of all proxies of an arm in slices whose CPU time counts: sums of kernel counters.
///
/// `user_ns` and `kernel_ns` are sampled, unless the kernel accounts for each entry and exit: each tick is attributed
/// to the mode that it interrupts. Only their ratio is meaningful, with a standard error of 3 percentage points for one
/// second of CPU time. All other counters are exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PartCounts {
    /// Requests answered in these slices.
    pub requests: u64,
    /// CPU time, exact to the nanosecond.
    pub cpu_ns: u64,
    /// Ticks in user mode, in nanoseconds.
    pub user_ns: u64,
    /// Ticks in kernel mode, in nanoseconds.
    pub kernel_ns: u64,
    /// Calls of `read` and its variants, without `recv` and its variants.
    pub reads: u64,
    /// Calls of `write` and its variants, without `send` and its variants.
    pub writes: u64,
    /// Bytes read by these calls.
    pub read_bytes: u64,
    /// Bytes written by these calls.
    pub written_bytes: u64,
    /// Voluntary context switches: a thread blocked.
    pub voluntary_switches: u64,
    /// Involuntary context switches: a thread was preempted.
    pub involuntary_switches: u64,
    /// Page faults without disk access.
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

impl Sub for PartCounts {
    type Output = Self;

    /// The counts between two readings. Saturates at 0, as counts of exited threads are missing from the later reading.
    fn sub(self, earlier: Self) -> Self {
        Self {
            requests: self.requests.saturating_sub(earlier.requests),
            cpu_ns: self.cpu_ns.saturating_sub(earlier.cpu_ns),
            user_ns: self.user_ns.saturating_sub(earlier.user_ns),
            kernel_ns: self.kernel_ns.saturating_sub(earlier.kernel_ns),
            reads: self.reads.saturating_sub(earlier.reads),
            writes: self.writes.saturating_sub(earlier.writes),
            read_bytes: self.read_bytes.saturating_sub(earlier.read_bytes),
            written_bytes: self.written_bytes.saturating_sub(earlier.written_bytes),
            voluntary_switches: self.voluntary_switches.saturating_sub(earlier.voluntary_switches),
            involuntary_switches: self.involuntary_switches.saturating_sub(earlier.involuntary_switches),
            minor_faults: self.minor_faults.saturating_sub(earlier.minor_faults),
        }
    }
}

impl Sum for PartCounts {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::default(), Add::add)
    }
}

/// Breakdown of the CPU time of the proxies, per request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parts {
    /// CPU time in user mode, us: the exact CPU time, split between user and kernel mode by ticks.
    pub user_us: Option<Interval>,
    /// CPU time in kernel mode, us, likewise.
    pub kernel_us: Option<Interval>,
    /// Calls of `read` and its variants.
    pub reads: Option<Interval>,
    /// Calls of `write` and its variants.
    pub writes: Option<Interval>,
    /// Bytes read by these calls.
    pub read_bytes: Option<Interval>,
    /// Bytes written by these calls.
    pub written_bytes: Option<Interval>,
    /// Voluntary context switches: a thread blocked.
    pub voluntary_switches: Option<Interval>,
    /// Involuntary context switches: a thread was preempted.
    pub involuntary_switches: Option<Interval>,
    /// Page faults without disk access.
    pub minor_faults: Option<Interval>,
}

impl Parts {
    /// All numbers.
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
