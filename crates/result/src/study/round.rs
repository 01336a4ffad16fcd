//! The evidence of a study: what was measured in each round, slice by slice, so that every number can be computed again.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::PartCounts;
use crate::Book;

/// What was measured in one complete round.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StudyRound {
    /// Its number, from 0.
    pub round: u32,
    /// When its processes were started, RFC 3339 in UTC.
    pub began_at: String,
    /// When its last slice ended.
    pub ended_at: String,
    /// The kernel's id of the boot that it was measured under.
    pub boot_id: String,
    /// Time waited for the host before slices, seconds.
    pub waited_s: f64,
    /// Ticks of 10 ms of the processors in use, and how many of them the host took.
    pub ticks: u64,
    /// See `ticks`.
    pub steal_ticks: u64,
    /// One entry for each arm and load.
    pub samples: Vec<Sample>,
    /// What only a whole round says of an arm.
    pub arms: BTreeMap<String, ArmRound>,
}

/// The slices of one arm under one load in one round. The lists have one entry for each slice, in the order of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    /// The arm.
    pub arm: String,
    /// The load.
    pub load: String,
    /// When each slice began, seconds since the study did.
    pub began_s: Vec<f64>,
    /// Its block of this load, from 0.
    pub block: Vec<u32>,
    /// The arm's copy that it was measured on, from 0.
    pub copy: Vec<u32>,
    /// What disturbed it: an empty list for a slice that counts.
    pub set_aside: Vec<Vec<Disturbance>>,
    /// By what factor the machine was slower around it than usual in the study; null where nothing can be said. Costs in CPU
    /// time are differences of values divided by it.
    pub slowdown: Vec<Option<f64>>,
    /// What was measured, by measure, as measured.
    pub values: BTreeMap<String, Vec<Option<f64>>>,
    /// What the proxies did, in slices that count for anything; null without a proxy, and where the kernel did not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<PartCounts>,
    /// Where its requests went, in slices that count for anything.
    pub book: Book,
    /// The same, in slices that count for nothing.
    pub set_aside_book: Book,
    /// Failed requests by kind, in slices that count for anything.
    pub failures: BTreeMap<String, u64>,
    /// Response times under an open loop, nanoseconds, in slices that count.
    pub responses: Option<Histogram>,
    /// How late the generator itself sent under an open loop, nanoseconds, in slices that count.
    pub own_lag: Option<Histogram>,
    /// Response times by status, where the load expects several, in slices that count.
    pub statuses: BTreeMap<u16, Histogram>,
}

/// A histogram of `HdrHistogram`, encoding V2, compressed and in base64, as the libraries of all languages read it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Histogram(pub String);

/// What only a whole round says of an arm.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArmRound {
    /// Resident memory of each proxy of its first copy at the end, bytes.
    pub memory_bytes: Vec<u64>,
    /// The memory of the first proxy of its first copy while connections to it were opened; null where none are.
    #[serde(default)]
    pub opened: Option<Opened>,
    /// What speaks against its function having been at work, or gone.
    pub unproven: Vec<String>,
}

/// Resident memory of a proxy before and after the generator opened its connections, on which nothing was asked yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Opened {
    /// How many were opened.
    pub connections: u64,
    /// The memory before, bytes.
    pub before_bytes: u64,
    /// The memory after, bytes.
    pub after_bytes: u64,
}

/// What the host did to a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Disturbance {
    /// It gave the processors to others.
    Steal,
    /// It had the processors of generator and proxy elsewhere than usual.
    Handover,
    /// Other work on the proxy's processor made the proxy wait.
    RunDelay,
    /// The generator stood still while it was to send: it was stopped, or the machine was.
    Stalled,
}

impl Disturbance {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Steal, Self::Handover, Self::RunDelay, Self::Stalled];

    /// The word for it, as serialised.
    pub fn word(self) -> &'static str {
        match self {
            Self::Steal => "steal",
            Self::Handover => "handover",
            Self::RunDelay => "run-delay",
            Self::Stalled => "stalled",
        }
    }

    /// Whether CPU time measured in such a slice is spoilt as well. A proxy that waits for its processor is charged nothing
    /// while it does.
    pub fn spoils_cpu_time(self) -> bool {
        self != Self::RunDelay
    }
}
