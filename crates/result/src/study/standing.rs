//! Counts for each measure of a study: arms with a sound cost, a doubted one, only a bound, or nothing.

use super::{ArmResult, CostMeasure, LoadSpec, StudyResult};
use crate::{Finding, Loop, Place, Severity};

/// Counts of the arms by the state of their cost in one measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The measure.
    pub measure: CostMeasure,
    /// Arms whose cost is stated, and about which no check warns.
    pub sound: u32,
    /// Arms whose cost is stated, with a warning about this measure.
    pub doubted: u32,
    /// Arms whose cost is not stated, but bounded.
    pub bounded: u32,
    /// Arms of whose cost nothing is known.
    pub withheld: u32,
}

impl Standing {
    /// Number of arms that the study would know the cost of.
    pub fn arms(&self) -> u32 {
        self.sound + self.doubted + self.bounded + self.withheld
    }

    fn add(&mut self, arm: &ArmResult, is_doubted: bool) {
        let count = match (self.measure.interval(&arm.cost), arm.bounds.cost(self.measure)) {
            (Some(_), _) if is_doubted => &mut self.doubted,
            (Some(_), _) => &mut self.sound,
            (None, Some(_)) => &mut self.bounded,
            (None, None) => &mut self.withheld,
        };
        *count += 1;
    }
}

impl StudyResult {
    /// Returns the counts for the costs of the study, under the usual load of each measure, in the order of measures. A measure that the
    /// study does not take is left out, and so are arms that cannot have it: without proxies there is no CPU time and no maximum rate.
    /// Costs as a share are as those in us.
    pub fn standings(&self) -> Vec<Standing> {
        let standing = |measure| {
            let mut standing = Standing { measure, sound: 0, doubted: 0, bounded: 0, withheld: 0 };
            for arm in self.arms.iter().filter(|arm| self.takes(measure, arm)) {
                standing.add(arm, self.is_doubted(measure, arm));
            }
            standing
        };
        let measures = CostMeasure::all().into_iter().filter(|measure| *measure != CostMeasure::CpuShare);
        measures.map(standing).filter(|standing| standing.arms() > 0).collect()
    }

    /// True if the study measures the cost of an arm in this measure.
    fn takes(&self, measure: CostMeasure, arm: &ArmResult) -> bool {
        let Some(other) = self.reference_of(arm) else { return false };
        let is_under = |load: Option<&LoadSpec>, loop_: Loop| {
            load.is_some_and(|load| {
                load.loop_ == loop_ && arm.loads.iter().any(|under| under.load == load.name)
            })
        };
        let has_proxies = !arm.hops.is_empty();
        match measure {
            CostMeasure::CpuUs | CostMeasure::CpuShare => has_proxies,
            CostMeasure::MaxRate => {
                has_proxies
                    && !other.hops.is_empty()
                    && is_under(self.plan.rate_load_of(&arm.id), Loop::Closed)
            }
            CostMeasure::ResponseQuietP99Us => {
                let load = self.plan.response_load_of(&arm.id);
                let is_told = |arm: &ArmResult| {
                    let under = load.and_then(|load| arm.under(&load.name));
                    under.is_some_and(|under| under.quiet_share.is_some())
                };
                is_told(arm) && is_told(other)
            }
            CostMeasure::ResponseP50Us | CostMeasure::ResponseP90Us | CostMeasure::ResponseP99Us => {
                is_under(self.plan.response_load_of(&arm.id), Loop::Open)
            }
            // Not every proxy has each of them.
            CostMeasure::OfRounds(_) => {
                measure.interval(&arm.cost).is_some() || arm.bounds.cost(measure).is_some()
            }
        }
    }

    /// True if a check warns about the cost of an arm in this measure. A warning about the whole study names no measure.
    fn is_doubted(&self, measure: CostMeasure, arm: &ArmResult) -> bool {
        let place = Place {
            arm: &arm.id,
            compared_with: arm.compared_with.as_deref(),
            load: self.plan.usual_load_name(&arm.id, measure),
            measure: measure.measure(),
        };
        let warns = |finding: &Finding| {
            finding.severity > Severity::Info && !finding.measures.is_empty() && finding.concerns(&place)
        };
        self.findings.iter().any(warns)
    }
}
