//! What one study found: its plan, its evidence round by round, and the numbers that follow from it.
//!
//! Every number is a function of `rounds`: `hoptax_study::summary::fill` computes all of them from a result whose numbers were
//! taken away.

mod arm;
mod machine;
mod number;
mod parts;
mod plan;
mod round;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Environment, Finding, MachineProbe, MachineSpeeds, Verdict};

pub use arm::{
    ArmKind, ArmLoad, ArmResult, Cost, HopUse, Interval, KnownAnswer, ProxyUse, ResponseCost, Slices,
    StatusResult,
};
pub use machine::{GeneratorUse, HostUse};
pub use number::{Measure, Number, Place};
pub use parts::{PartCounts, Parts};
pub use plan::{LinkPlan, LoadSpec, SequentialPlan, StudyPlan};
pub use round::{ArmRound, Disturbance, Histogram, Opened, Sample, StudyRound};

/// Everything that a study found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StudyResult {
    /// Name and version of this format: `hoptax.study/2`. Results of `hoptax.study/1` can be read, too: they have no `rounds`.
    pub format: String,
    /// Name of the study.
    pub name: String,
    /// What it asks, in a sentence.
    pub summary: String,
    /// What the findings add up to.
    pub verdict: Verdict,
    /// Failed and warned checks.
    pub findings: Vec<Finding>,
    /// The machine.
    pub environment: Environment,
    /// What was planned, and how much of it was done.
    pub plan: StudyPlan,
    /// What the generator did, one entry per load.
    pub generator: Vec<GeneratorUse>,
    /// What the host took.
    pub host: HostUse,
    /// One entry per arm, in the order of the study file.
    pub arms: Vec<ArmResult>,
    /// The machine as it was probed before the first round; null in results of `hoptax.study/1`.
    #[serde(default)]
    pub machine: Option<MachineProbe>,
    /// Its speeds, measured before the first round; null where nobody asked for them.
    #[serde(default)]
    pub speeds: Option<MachineSpeeds>,
    /// The evidence: what was measured in each complete round.
    #[serde(default)]
    pub rounds: Vec<StudyRound>,
}

impl StudyResult {
    /// The name of the format that is written.
    pub const FORMAT: &str = "hoptax.study/2";
    /// The names of the formats that can be read.
    pub const READABLE: [&str; 2] = ["hoptax.study/1", Self::FORMAT];
}
