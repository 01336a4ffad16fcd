//! How fast a machine does the few things that the cost of a function is made of.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Interval;

/// The speeds of a machine, each measured on its own, on the processors that a study would give to proxy and generator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MachineSpeeds {
    /// One for each kind of work, in the order of [`SpeedKind`]. Kinds that take two processors are left out where there
    /// is one.
    pub speeds: Vec<Speed>,
    /// Numbers that each interval is taken over.
    pub repetitions: u32,
    /// Bursts of work in each repetition; its number is their median.
    pub bursts: u32,
    /// How long all of it took, seconds.
    pub length_s: f64,
}

impl MachineSpeeds {
    /// The speed of `kind`, where it was measured.
    pub fn of(&self, kind: SpeedKind) -> Option<&Speed> {
        self.speeds.iter().find(|speed| speed.kind == kind)
    }
}

/// One speed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Speed {
    /// What was done.
    pub kind: SpeedKind,
    /// One operation of it, in a line.
    pub operation: String,
    /// Who does the work.
    pub side: SpeedSide,
    /// Time of one operation, nanoseconds, with its 95 % interval over repetitions: CPU time where one thread does all of
    /// it, and time of the clock for `switch`, `wake` and `wake-delay`. The processors may sleep whenever they have nothing
    /// to do.
    pub ns: Interval,
    /// The same while no processor is allowed to sleep; null where sleeping makes no difference, or this was not measured.
    pub never_halted_ns: Option<Interval>,
}

/// Kinds of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SpeedKind {
    /// Branches and comparisons: a route is looked for among prefixes.
    Match,
    /// Reading a request's head byte by byte.
    Parse,
    /// A digest.
    Digest,
    /// Arithmetic on large integers: a signature is verified.
    Signature,
    /// Table lookups in 32 KiB, as compression makes them.
    Compress,
    /// Loads that depend on each other, in a cache of the processor's own.
    NearLoad,
    /// The same in more memory than that cache holds.
    FarLoad,
    /// Code that does not fit into the caches which hold code.
    WideCode,
    /// Memory is taken and given back.
    Allocate,
    /// Memory is copied.
    Copy,
    /// The clock is read.
    Clock,
    /// The cheapest system call.
    SystemCall,
    /// A small write and a small read within the kernel.
    Pipe,
    /// A small message over TCP on loopback, within one thread.
    Loopback,
    /// A timer is set and unset.
    Timer,
    /// One thread hands over to another on the same processor.
    Switch,
    /// What waking a thread on another processor costs the one that wakes it.
    Wake,
    /// How long it takes until that thread runs.
    WakeDelay,
}

/// Who does the work that a speed is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SpeedSide {
    /// The program.
    User,
    /// The kernel, for the program and on its account.
    Kernel,
    /// Nobody: time passes, on no account of CPU time.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_has_the_name_that_json_gives_it() {
        for kind in [SpeedKind::Match, SpeedKind::NearLoad, SpeedKind::SystemCall, SpeedKind::WakeDelay] {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
    }
}
