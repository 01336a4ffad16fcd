//! The result of a search on arms of a study: the highest rate of each under the same objectives, and the ratios of these rates.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Body, Environment, FindEnd, FindEvidence, FindTrial, FoundGoal, Interval, Report, Verdict};

/// The result of a search on arms of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FindArmsBody {
    /// Reason for its end: `complete`, `budget` or `interrupt`.
    pub ended_by: FindEnd,
    /// The name of the study.
    pub study: String,
    /// The load of the study whose requests and connections all trials have.
    pub load: String,
    /// Connections to an arm.
    pub connections: u32,
    /// Arrival process of all trials.
    pub arrivals: String,
    /// The objectives that must hold together, as they were given.
    pub objectives: Vec<String>,
    /// The arms, as they were named. Ratios are to the first.
    pub arms: Vec<FoundArm>,
    /// Requested width of the interval of a rate in the search.
    pub evidence: FindEvidence,
    /// The same in a round.
    pub round_evidence: FindEvidence,
    /// Planned number of rounds. Each starts all processes again, and has a short search on each arm.
    pub rounds_planned: u32,
    /// Complete rounds.
    pub rounds: u32,
    /// Confidence of all intervals.
    pub confidence: f64,
    /// Seed of all random orders, and of the loads of the rounds.
    pub seed: u64,
    /// Time limit, seconds.
    pub budget_s: f64,
    /// Time that it took, seconds.
    pub took_s: f64,
    /// The trials, in order.
    pub trials: Vec<ArmTrial>,
}

/// Its report.
pub type FindArmsResult = Report<FindArmsBody>;

impl Body for FindArmsBody {
    const FORMAT: &'static str = "hoptax.find-arms/3";
    type Environment = Environment;

    crate::report::read_in_this_crate!();

    fn subject(&self) -> String {
        self.study.clone()
    }

    fn duration_s(&self) -> Option<f64> {
        Some(self.took_s)
    }

    /// As [`crate::FindBody::verdict`]; a ratio that is not known is a reason for caution.
    fn verdict(&self) -> Verdict {
        let goals: Vec<&FoundGoal> = self.arms.iter().map(|arm| &arm.found).collect();
        let is_limited = |arm: &FoundArm| arm.no_ratio.is_some();
        Verdict::of_search(&goals, self.arms.iter().any(is_limited))
    }
}

/// The result for an arm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FoundArm {
    /// Its id in the study.
    pub arm: String,
    /// The result of its search.
    pub found: FoundGoal,
    /// The lowest rate of its search, requests per second.
    pub min_rate: f64,
    /// The highest rate of its search, requests per second.
    pub max_rate: f64,
    /// Responses per second of a closed loop before its search, where that began.
    pub closed_loop_rate: f64,
    /// The rate that each complete round found, requests per second; null if it found none.
    pub round_rates: Vec<Option<f64>>,
    /// The ratio of its rate to that of the first arm, over the rounds that found both; null for the first arm.
    pub ratio: Option<Interval>,
    /// Reason why the ratio is not known; null if it is, and for the first arm.
    pub no_ratio: Option<String>,
}

/// One trial on an arm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArmTrial {
    /// The arm.
    pub arm: String,
    /// The round, from 1; null for the search before the rounds.
    pub round: Option<u32>,
    /// The trial.
    pub trial: FindTrial,
}
