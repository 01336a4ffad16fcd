//! What was planned, and how much of it was done.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Loop;

/// What was planned, and how much of it was done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StudyPlan {
    /// Seed of every random order.
    pub seed: u64,
    /// The arm that the others are compared with.
    pub baseline: String,
    /// Rounds planned.
    pub rounds_planned: u32,
    /// Rounds completed.
    pub rounds_completed: u32,
    /// Confidence of every interval, 0 to 1.
    pub confidence: f64,
    /// Time that the study was given, seconds: it took as many complete rounds as fit, and two at least. Null without a limit.
    #[serde(default)]
    pub budget_s: Option<f64>,
    /// How the study decided by its own precision that it had measured enough; null where it did not.
    #[serde(default)]
    pub sequential: Option<SequentialPlan>,
    /// The rule by which slices were set aside, fixed beforehand, in a sentence.
    pub set_aside_rule: String,
    /// The link between callers and the rest; null without one.
    pub link: Option<LinkPlan>,
    /// Whether the processors were kept from being halted: a task that yields to all others spun on each of them.
    #[serde(default)]
    pub never_halted: bool,
    /// The loads.
    pub loads: Vec<LoadSpec>,
    /// How long the study took, seconds.
    pub wall_seconds: f64,
    /// Why the study ended before its last round; absent when it did not.
    pub ended_early: Option<String>,
    /// After how many rounds the study was taken up again, each time.
    #[serde(default)]
    pub resumed_after_rounds: Vec<u32>,
    /// Share of requests without an answer that is tolerated.
    pub max_error_share: f64,
}

/// A study that ended when its intervals were narrow enough, or when its rounds or its time were spent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SequentialPlan {
    /// The half-width asked for, as a share of the CPU time of what an arm is compared with: 0.01 for 1 %.
    pub target_share: f64,
    /// Whether nearly all costs in CPU time, 95 of 100, were as narrow when it ended.
    pub reached: bool,
    /// After how many rounds it looked at the widths, each time. The last look is its end, unless it was interrupted.
    pub looks: Vec<u32>,
    /// The confidence whose quantile of Student's distribution the intervals carry. It is higher than the confidence of the plan,
    /// which they hold: a study that stops when its intervals are narrow stops more often where they are too narrow.
    pub quantile_confidence: f64,
}

impl StudyPlan {
    /// The confidence whose quantile of Student's distribution the intervals carry: what turns a half-width into a standard
    /// error. Where the study decided by its own precision when to end it is not the confidence that the intervals hold.
    pub fn quantile_confidence(&self) -> f64 {
        self.sequential.as_ref().map_or(self.confidence, |sequential| sequential.quantile_confidence)
    }

    /// The load that costs in CPU time are taken from where none is named: the closed loop, or the first load where there is
    /// none.
    pub fn cpu_load(&self) -> Option<&LoadSpec> {
        self.loads.iter().find(|load| load.loop_ == Loop::Closed).or(self.loads.first())
    }

    /// The load that maximum rates are taken from: the closed loop.
    pub fn rate_load(&self) -> Option<&LoadSpec> {
        self.loads.iter().find(|load| load.loop_ == Loop::Closed)
    }

    /// The load that response times are taken from where none is named: the first open loop.
    pub fn response_load(&self) -> Option<&LoadSpec> {
        self.loads.iter().find(|load| load.loop_ == Loop::Open)
    }
}

/// A link between callers and the rest, each way.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkPlan {
    /// From departure to arrival, microseconds.
    pub delay_us: f64,
    /// By how much more or less that is for each packet, at most, microseconds.
    pub jitter_us: f64,
    /// Bits per second; null for no limit.
    pub rate_bits_per_second: Option<u64>,
    /// Share of packets that is lost, 0 to 1.
    pub loss_share: f64,
}

/// One load of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadSpec {
    /// Its name in the study file.
    pub name: String,
    /// Open or closed.
    #[serde(rename = "loop")]
    pub loop_: Loop,
    /// Requests per second; absent in a closed loop, and where it is a share of what each arm can take.
    pub rate: Option<f64>,
    /// Requests per second as a share of what each arm can take by itself, 0 to 1; null where it is not such a share.
    #[serde(default)]
    pub utilisation: Option<f64>,
    /// How release times are drawn; absent in a closed loop.
    pub arrivals: Option<String>,
    /// Connections to each arm.
    pub connections: u32,
    /// Requests after which a connection is closed and opened anew; null for as many as the other side takes.
    pub requests_per_connection: Option<u32>,
    /// The statuses of answers that are expected; empty for all below 400.
    #[serde(default)]
    pub expect: Vec<u16>,
    /// Who calls: `hoptax` or `php`.
    pub caller: String,
    /// Slices that each arm gets in a round.
    pub blocks: u32,
    /// Length of a slice, seconds.
    pub slice_s: f64,
}
