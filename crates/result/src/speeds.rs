//! The speeds of a machine at the elementary operations that make up the cost of a function.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Interval;

/// The speeds of a machine, each measured by itself, on the processors that a study would give to proxy and generator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MachineSpeeds {
    /// One per kind of work, in the order of [`SpeedKind`]. Kinds that need two processors are left out on one.
    pub speeds: Vec<Speed>,
    /// Number of repetitions that each interval is taken over.
    pub repetitions: u32,
    /// Bursts of work per repetition, whose median is the repetition's value.
    pub bursts: u32,
    /// Total duration, seconds.
    pub length_s: f64,
}

/// One speed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Speed {
    /// The kind of work.
    pub kind: SpeedKind,
    /// A one-line description of one operation.
    pub operation: String,
    /// Part of the system in which the time is spent.
    pub side: SpeedSide,
    /// Time of one operation, nanoseconds, with its 95 % confidence interval over repetitions: CPU time where a single
    /// thread does all the work, and elapsed time for `switch`, `wake` and `wake-delay`. Idle processors may sleep.
    pub ns: Interval,
    /// The same while no processor may sleep; null where sleeping makes no difference, or where not measured.
    pub never_halted_ns: Option<Interval>,
}

/// Kinds of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SpeedKind {
    /// Branches and comparisons: matching a route among prefixes.
    Match,
    /// Parsing a request's head byte by byte.
    Parse,
    /// Computing a digest.
    Digest,
    /// Arithmetic on large integers: verifying a signature.
    Signature,
    /// Table lookups in 32 KiB, as in compression.
    Compress,
    /// Dependent loads within the processor's own cache.
    NearLoad,
    /// Dependent loads in more memory than that cache holds.
    FarLoad,
    /// Code that exceeds the instruction caches.
    WideCode,
    /// Allocating and freeing memory.
    Allocate,
    /// Copying memory.
    Copy,
    /// Reading the clock.
    Clock,
    /// The cheapest system call.
    SystemCall,
    /// A small write and a small read through a pipe.
    Pipe,
    /// A small message over TCP on loopback, within one thread.
    Loopback,
    /// Arming and disarming a timer.
    Timer,
    /// Switching from one thread to another on the same processor.
    Switch,
    /// Waking a thread on another processor: the cost to the waking thread.
    Wake,
    /// Waking a thread on another processor: the time until it runs.
    WakeDelay,
}

/// Part of the system in which the time of a speed is spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SpeedSide {
    /// In user space.
    User,
    /// In the kernel, on behalf of the program.
    Kernel,
    /// Elapsed time that is not CPU time.
    Delay,
}

impl SpeedKind {
    /// Its name, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Match => "match",
            Self::Parse => "parse",
            Self::Digest => "digest",
            Self::Signature => "signature",
            Self::Compress => "compress",
            Self::NearLoad => "near-load",
            Self::FarLoad => "far-load",
            Self::WideCode => "wide-code",
            Self::Allocate => "allocate",
            Self::Copy => "copy",
            Self::Clock => "clock",
            Self::SystemCall => "system-call",
            Self::Pipe => "pipe",
            Self::Loopback => "loopback",
            Self::Timer => "timer",
            Self::Switch => "switch",
            Self::Wake => "wake",
            Self::WakeDelay => "wake-delay",
        }
    }
}
