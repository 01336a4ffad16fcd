//! The result of a search on arms of a study: the highest rate of each under the same objectives, and the ratios of these rates.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Body, Environment, FindEnd, FindEvidence, FindTrial, Finding, FoundGoal, Interval, Measured, Report,
    Severity,
};

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

    /// Those about arms whose search is not settled, or whose ratio is not known.
    fn own_findings(&self) -> Vec<Finding> {
        let of_arm = |arm: &FoundArm| {
            let no_ratio = arm.no_ratio.as_ref().map(|why| {
                let message = format!("its ratio to the first arm is not known: {why}");
                let advice = "give the search more time: `--budget`";
                Finding::new("no-ratio", Severity::Warn, Measured::count(0.0, 0.0, ""), message, advice)
            });
            let findings = arm.found.unsettled().into_iter().chain(no_ratio);
            let name = arm.arm.clone();
            findings.map(move |finding| Finding { arm: Some(name.clone()), ..finding })
        };
        self.arms.iter().flat_map(of_arm).collect()
    }

    /// As [`crate::FindBody`].
    fn is_void(&self) -> bool {
        self.arms.iter().all(|arm| arm.found.rate.is_none()) && !self.own_findings().is_empty()
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
