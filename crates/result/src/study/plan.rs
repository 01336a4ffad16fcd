//! The plan of a study, and how much of it was completed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CostMeasure, TimelinePlan};
use crate::{Loop, Measure, counted};

/// The plan of a study, and how much of it was completed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StudyPlan {
    /// Seed of all random orders.
    pub seed: u64,
    /// The arm that the others are compared with.
    pub baseline: String,
    /// Rounds planned.
    pub rounds_planned: u32,
    /// Rounds completed.
    pub rounds_completed: u32,
    /// Confidence of all intervals, 0 to 1.
    pub confidence: f64,
    /// Time budget, seconds: the study took as many complete rounds as fit, at least two. Null without a budget.
    pub budget_s: Option<f64>,
    /// The sequential stopping rule and its looks; null if the study did not use it.
    pub sequential: Option<SequentialPlan>,
    /// The rule by which slices were set aside, fixed in advance, in one sentence.
    pub set_aside_rule: String,
    /// The rule by which slices are quiet for the tail of response time. Null where it applies to no arm, and in
    /// results of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet_rule: Option<QuietRule>,
    /// The simulated link between callers and everything else; null without one.
    pub link: Option<LinkPlan>,
    /// True if the processors were kept from halting, by a task on each that spins and yields to all others.
    #[serde(default)]
    pub never_halted: bool,
    /// The loads.
    pub loads: Vec<LoadSpec>,
    /// Duration of the study, seconds.
    pub wall_seconds: f64,
    /// Reason why the study ended before its last round; absent if it did not.
    pub ended_early: Option<String>,
    /// Number of rounds completed at each time that the study was resumed.
    #[serde(default)]
    pub resumed_after_rounds: Vec<u32>,
    /// Tolerated share of unanswered requests.
    pub max_error_share: f64,
    /// Plan of the timeline that the study observed; absent if it observed costs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeline: Option<TimelinePlan>,
}

/// A slice is quiet if neither generator nor proxies waited for a processor for a larger share of it, as the kernel counts for their
/// threads. Response times never decide.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QuietRule {
    /// Largest share of the slice that each of them waited, 0 to 1.
    pub max_wait_share: f64,
}

/// A study that ended when its intervals were narrow enough, or when its rounds or its time budget were used up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SequentialPlan {
    /// Target half-width, as a share of the CPU time of the arm that an arm is compared with: 0.01 for 1 %.
    pub target_share: f64,
    /// Half-width that is narrow enough as well, as a share of the cost itself: 0.2 for 20 %; 0 for none.
    #[serde(default)]
    pub of_cost_share: f64,
    /// True if nearly all costs in CPU time, 95 of 100, reached the target.
    pub reached: bool,
    /// Numbers of rounds after which it checked the widths. The last look is its end, unless it was interrupted.
    pub looks: Vec<u32>,
    /// The confidence of the quantile of Student's distribution that the intervals use. It is higher than the
    /// confidence of the plan, which the intervals achieve: a study that stops when its intervals are narrow stops more
    /// often where they are too narrow.
    pub quantile_confidence: f64,
}

impl StudyPlan {
    /// True if the study ends by another condition than the number of rounds, which is only a limit then.
    pub fn is_open_ended(&self) -> bool {
        self.budget_s.is_some() || self.sequential.is_some()
    }

    /// The complete rounds in words: `3 of 12 rounds`, or `3 rounds` of a study that is open-ended.
    pub fn progress(&self) -> String {
        if self.is_open_ended() {
            counted(self.rounds_completed.into(), "round")
        } else {
            format!("{} of {}", self.rounds_completed, counted(self.rounds_planned.into(), "round"))
        }
    }

    /// The confidence of the quantile of Student's distribution that the intervals use, for converting a half-width
    /// into a standard error. With sequential stopping it differs from the confidence that the intervals achieve.
    pub fn quantile_confidence(&self) -> f64 {
        self.sequential.as_ref().map_or(self.confidence, |sequential| sequential.quantile_confidence)
    }

    /// The load that costs in CPU time are taken from by default: the first open loop at one rate for all its arms, or else the
    /// closed loop, or else the first load. Arms that have a load of their own are beside it: [`Self::cpu_load_of`].
    ///
    /// Proxies in use are not saturated. In a closed loop, and at a share of each arm's own capacity, a function that slows its
    /// proxy also changes how many requests a wake-up handles, so a part of the cost of waking is counted as its own, or hidden.
    pub fn cpu_load(&self) -> Option<&LoadSpec> {
        self.usual_load(Measure::Cpu)
    }

    /// The load that the cost of the arm with this id in CPU time is taken from: [`Self::cpu_load`] of the loads that are for the arm. Both
    /// it and the arm that it is compared with were measured under that load.
    pub fn cpu_load_of(&self, arm: &str) -> Option<&LoadSpec> {
        self.usual_load_of(arm, Measure::Cpu)
    }

    /// The load that the numbers of a study in a measure are taken from by default; none for measures that all loads contribute to.
    pub fn usual_load(&self, measure: Measure) -> Option<&LoadSpec> {
        LoadSpec::usual(&self.loads, measure)
    }

    /// The load that the numbers of the arm with this id in a measure are taken from: [`Self::usual_load`] of the loads that are for the
    /// arm.
    pub fn usual_load_of(&self, arm: &str, measure: Measure) -> Option<&LoadSpec> {
        LoadSpec::usual_of(&self.loads, arm, measure)
    }

    /// The name of the load that the costs of the arm with this id in a measure are taken from.
    pub fn usual_load_name(&self, arm: &str, measure: CostMeasure) -> Option<&str> {
        self.usual_load_of(arm, measure.measure()).map(|load| load.name.as_str())
    }

    /// The load that maximum rates are taken from: the closed loop.
    pub fn rate_load(&self) -> Option<&LoadSpec> {
        self.usual_load(Measure::MaxRate)
    }

    /// The load that the maximum rate of the arm with this id is taken from: the first closed loop for it.
    pub fn rate_load_of(&self, arm: &str) -> Option<&LoadSpec> {
        self.usual_load_of(arm, Measure::MaxRate)
    }

    /// The load that response times are taken from by default: the first open loop.
    pub fn response_load(&self) -> Option<&LoadSpec> {
        self.usual_load(Measure::ResponseP50)
    }

    /// The load that the response times of the arm with this id are taken from: the first open loop for it.
    pub fn response_load_of(&self, arm: &str) -> Option<&LoadSpec> {
        self.usual_load_of(arm, Measure::ResponseP50)
    }
}

/// The one of these loads that numbers in a measure are taken from.
fn chosen<'a>(mut loads: impl Iterator<Item = &'a LoadSpec>, measure: Measure) -> Option<&'a LoadSpec> {
    match measure {
        Measure::OfRounds(_) => None,
        Measure::MaxRate => loads.find(|load| load.loop_ == Loop::Closed),
        _ if Measure::RESPONSES.contains(&measure) => loads.find(|load| load.loop_ == Loop::Open),
        // The first of those that come first.
        _ => loads.min_by_key(|load| match load.loop_ {
            Loop::Open if load.utilisation.is_none() => 0,
            Loop::Closed => 1,
            Loop::Open => 2,
        }),
    }
}

/// A simulated link between callers and everything else, the same in each direction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkPlan {
    /// One-way delay, us.
    pub delay_us: f64,
    /// Largest deviation of each packet's delay, either way, us.
    pub jitter_us: f64,
    /// Bits per second; null if unlimited.
    pub rate_bits_per_second: Option<u64>,
    /// Share of packets lost, 0 to 1.
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
    /// Requests per second; absent in a closed loop, and if it is a share of each arm's capacity.
    pub rate: Option<f64>,
    /// Requests per second as a share of each arm's own capacity, 0 to 1; null if not such a share.
    pub utilisation: Option<f64>,
    /// Spacing of release times; absent in a closed loop.
    pub arrivals: Option<String>,
    /// Connections to each arm.
    pub connections: u32,
    /// Requests after which a connection is closed and reopened; null for as many as the peer allows.
    pub requests_per_connection: Option<u32>,
    /// Expected statuses of responses; empty for all below 400.
    #[serde(default)]
    pub expect: Vec<u16>,
    /// The caller: `hoptax`, `php`, or a command.
    pub caller: String,
    /// Ids of the arms that take part in it: those of `only`, and those that their costs need; empty for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arms: Vec<String>,
    /// Slices of each arm per round.
    pub blocks: u32,
    /// Length of a slice, seconds.
    pub slice_s: f64,
}

impl LoadSpec {
    /// The caller of the loads that hoptax itself sends.
    pub const OWN_CALLER: &'static str = "hoptax";

    /// Returns true if hoptax itself sends the load.
    pub fn is_sent_by_hoptax(&self) -> bool {
        self.caller == Self::OWN_CALLER
    }

    /// Returns true if the load is for the arm with this id.
    pub fn is_for(&self, arm: &str) -> bool {
        self.arms.is_empty() || self.arms.iter().any(|one| one == arm)
    }

    /// The one of the loads of a study that its numbers in a measure are taken from by default; none for measures that all loads
    /// contribute to.
    pub fn usual(loads: &[Self], measure: Measure) -> Option<&Self> {
        chosen(loads.iter(), measure)
    }

    /// The one of the loads of a study that the numbers of the arm with this id in a measure are taken from: [`Self::usual`] of those that
    /// are for the arm.
    pub fn usual_of<'a>(loads: &'a [Self], arm: &str, measure: Measure) -> Option<&'a Self> {
        chosen(loads.iter().filter(|load| load.is_for(arm)), measure)
    }
}
