//! The result of a study: its plan, its evidence by round, and the numbers computed from it.
//!
//! Every number is a function of `rounds`: `hoptax_judge::summary::fill` computes all of them from a result without
//! numbers. CPU time by frame (`frames`) is itself evidence: it is made of stacks, which only the run folder has.

mod answer;
mod arm;
mod bound;
mod cost;
mod histogram;
mod machine;
mod named;
mod number;
mod plan;
mod published;
mod rules;
mod sitting;
mod standing;
mod subject;
mod timeline;
mod usable;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Body, Environment, Interval, Loosened, MachineProbe, MachineSpeeds, Report, StudyRound};

pub use answer::Answer;
pub use arm::{
    ArmKind, ArmLoad, ArmResult, FrameUse, HopUse, KnownAnswer, LayerUse, ProxyUse, Slices, StatusResult,
    TopDownPart,
};
pub use bound::{Bound, BoundOf, BoundShare, Bounds, share_ends};
pub use cost::{Cost, CostMeasure, CostShare, CostShares, ResponseCost};
pub use histogram::{CountedTime, ResponseHistogram};
pub use machine::{GeneratorUse, HostUse};
pub use named::NamedNumber;
pub use number::Number;
pub use plan::{LinkPlan, LoadSpec, QuietRule, SequentialPlan, StudyPlan};
pub use published::{PublishedMeasure, PublishedNumber};
pub use rules::{RuleCost, Shape};
pub use sitting::SittingRecord;
pub use standing::Standing;
pub use subject::{
    AllProcessors, ConnectionTls, HopProcessors, PlannedConfig, PlannedFirewall, PlannedFunction, PlannedHop,
    PlannedNetwork, PlannedRequest, PlannedSubject,
};
pub use timeline::{Phase, PlannedPhase, Timeline, TimelinePlan, TimelinePoint};
pub use usable::Contrast;

/// The complete result of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StudyBody {
    /// Name of the study.
    pub name: String,
    /// The question that it answers, in one sentence.
    pub summary: String,
    /// Thresholds of checks that were loosened.
    #[serde(default)]
    pub loosened: Vec<Loosened>,
    /// The plan, and how much of it was completed.
    pub plan: StudyPlan,
    /// Numbers that others published, in the order of the study file; empty if it states none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<PublishedNumber>,
    /// Use of the generator, one entry per load.
    pub generator: Vec<GeneratorUse>,
    /// Effects of the host.
    pub host: HostUse,
    /// One entry per arm, in the order of the study file.
    pub arms: Vec<ArmResult>,
    /// Experience of callers over time, by arm and load; empty if the study observed costs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timelines: Vec<Timeline>,
    /// The probe of the machine before the first round.
    pub machine: Option<MachineProbe>,
    /// The speeds of the machine, measured before the first round; null if not requested.
    pub speeds: Option<MachineSpeeds>,
    /// Cost of one more firewall rule, one entry for each series of arms that differ only in their number of rules, and for each load;
    /// empty without such arms.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rule_costs: Vec<RuleCost>,
    /// The evidence: the measurements of each complete round. Empty for several sittings as one result.
    #[serde(default)]
    pub rounds: Vec<StudyRound>,
    /// The sittings that the numbers are combined from, in chronological order; empty for a single one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sittings: Vec<SittingRecord>,
}

/// Its report.
pub type StudyResult = Report<StudyBody>;

impl StudyBody {
    /// The arm with this id.
    pub fn arm(&self, id: &str) -> Option<&ArmResult> {
        self.arms.iter().find(|arm| arm.id == id)
    }

    /// The arm that an arm is compared with; none if it is compared with none.
    pub fn reference_of(&self, arm: &ArmResult) -> Option<&ArmResult> {
        self.arm(arm.compared_with.as_deref()?)
    }

    /// The load under which the numbers of `other` in a measure are beside those of an arm: the one that the arm's are taken from. None if
    /// `other`'s own numbers are taken from it, too.
    pub fn load_beside(&self, arm: &ArmResult, other: &ArmResult, measure: CostMeasure) -> Option<&str> {
        let load = |id: &str| self.plan.usual_load_name(id, measure);
        load(&arm.id).filter(|own| load(&other.id) != Some(*own))
    }

    /// The level that the cost of an arm in a measure is a difference from: that of `other`, the arm that it is compared with, under the load
    /// that the cost is taken from. It is the level of `other` itself unless the arm has a load of its own.
    pub fn level_of_reference(
        &self,
        arm: &ArmResult,
        other: &ArmResult,
        measure: CostMeasure,
    ) -> Option<Interval> {
        other.level_under(self.load_beside(arm, other, measure), measure)
    }

    /// The ends of the level that the cost of an arm in a measure is a difference from: those of its interval, or of its bounds. None where
    /// nothing is known.
    pub fn ends_of_reference(
        &self,
        arm: &ArmResult,
        other: &ArmResult,
        measure: CostMeasure,
    ) -> (Option<f64>, Option<f64>) {
        if let Some(level) = self.level_of_reference(arm, other, measure) {
            return (Some(level.low), Some(level.high));
        }
        let bounds = other.bounds_under(self.load_beside(arm, other, measure));
        let bound = bounds.and_then(|bounds| bounds.level(measure));
        bound.map_or((None, None), |bound| (bound.low, bound.high))
    }

    /// The cost of an arm in a measure, under a load or without one that of the arm itself, as a share of the level of `other`, the arm
    /// that it is compared with. None if the cost is not known.
    ///
    /// **Method.** The share that was formed within rounds ([`Cost::share`]). Without one, as in results of earlier versions, that of the
    /// cost and of the level with their intervals, which counts the errors of both ([`Interval::share_of`]), as wide to each side as to the
    /// wider one and with the degrees of freedom of the cost; none if the level may be zero.
    pub fn share_of_reference(
        &self,
        arm: &ArmResult,
        other: &ArmResult,
        measure: CostMeasure,
        load: Option<&str>,
    ) -> Option<Interval> {
        let cost = arm.cost_under(load)?;
        let difference = measure.interval(cost)?;
        cost.share(measure).or_else(|| {
            let level = match load {
                None => self.level_of_reference(arm, other, measure)?,
                Some(_) => other.level_under(load, measure)?,
            };
            let share = difference.share_of(&level)?;
            let degrees_of_freedom = difference.degrees_of_freedom;
            Some(Interval { degrees_of_freedom, ..Interval::around(share.estimate, share.reach()) })
        })
    }

    /// The cost of `other` in a measure under the load that the cost of an arm is taken from, for a difference of the two.
    pub fn cost_beside(&self, arm: &ArmResult, other: &ArmResult, measure: CostMeasure) -> Option<Interval> {
        measure.interval(other.cost_under(self.load_beside(arm, other, measure))?)
    }
}

impl Body for StudyBody {
    const FORMAT: &'static str = "hoptax.study/4";
    type Environment = Environment;

    crate::report::read_in_this_crate!();

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn duration_s(&self) -> Option<f64> {
        Some(self.plan.wall_seconds)
    }
}
