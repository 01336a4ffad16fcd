//! CPU time per request of arms by round, for sums over arms and loads that are computed within rounds.

use hoptax_result::StudyResult;
use hoptax_stats::costs_by_round;

use super::samples::{Pairing, Rounds};
use super::speed::{Speed, speed};
use crate::measures::CPU;

/// CPU times per request under one load, us, one number for each round of a result.
pub struct CpuByRound<'a> {
    rounds: Rounds<'a>,
    load: &'a str,
    speed: Option<Speed>,
}

impl<'a> CpuByRound<'a> {
    /// Returns the CPU times under `load`. None if the result has no rounds, like that of several sittings.
    pub fn new(result: &'a StudyResult, load: &'a str) -> Option<Self> {
        let rounds =
            Rounds { all: &result.rounds, times: &[], confidence: result.plan.quantile_confidence() };
        (!result.rounds.is_empty()).then(|| Self { rounds, load, speed: speed(&result.rounds, load) })
    }

    /// The CPU time of the proxies of an arm, whose mean is `arms[].loads[].cpu_us_per_request`; none in a round without a slice that
    /// counts.
    pub fn level(&self, arm: &str) -> Vec<Option<f64>> {
        self.rounds.medians(arm, self.load, &CPU)
    }

    /// The difference of an arm from `other` at the machine's usual speed, whose mean is `arms[].loads[].cost.cpu_us_per_request`; none in
    /// a round without a pair of slices. None if a slice has no finite value.
    pub fn cost(&self, arm: &str, other: &str) -> Option<Vec<Option<f64>>> {
        let factors = self.speed.as_ref().map(|speed| speed.between(arm, other));
        let pairing = Pairing { arm, other, load: self.load, measure: &CPU, factors: factors.as_ref() };
        let pairs = self.rounds.pairs(pairing, |own, other| own - other);
        costs_by_round(&pairs)
    }
}
