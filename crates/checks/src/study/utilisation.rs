//! The check of loads that are a share of each arm's capacity.

use hoptax_result::{ArmLoad, ArmResult, Finding, Measure, Measured, Severity, StudyResult, percent};

use crate::check::Check;
use crate::thresholds;

/// A load that is a share of capacity must keep the proxies of two arms equally busy. Capacities are measured once, and a
/// machine that was slower meanwhile gives an arm less load than it should have. Waiting times grow with utilisation, so
/// their difference would then be that of the loads.
pub(super) const UNEQUAL: Check<StudyResult> = Check {
    id: "unequal-utilisation",
    protects_from: "response times that differ because one arm got less of its capacity",
    source: "queueing theory: the mean time in an M/M/1 queue grows with 1 / (1 - utilisation)",
    judge: |result, limits| {
        let limit = limits.value(&thresholds::UNEQUAL_UTILISATION);
        let limit_of_costs = limits.value(&thresholds::UNEQUAL_UTILISATION_FAIL);
        let shares = result.plan.loads.iter().filter(|load| load.utilisation.is_some());
        let loads: Vec<&str> = shares.map(|load| load.name.as_str()).collect();
        let of_arm = |arm: &ArmResult| -> Vec<Finding> {
            let Some(other) = result.reference_of(arm) else { return Vec::new() };
            let of_load = |load: &&str| -> Option<Finding> {
                let busy = |arm: &ArmResult| {
                    let under = |one: &&ArmLoad| one.load == **load;
                    arm.loads.iter().find(under)?.proxy_processors_busy_share
                };
                let (own, others) = (busy(arm)?, busy(other)?);
                let difference = (own - others).abs();
                if difference <= limit {
                    return None;
                }
                let withholds = difference > limit_of_costs;
                let message = format!(
                    "its processors were busy {} of the time, those of `{}` {}",
                    percent(own, 0),
                    other.id,
                    percent(others, 0)
                );
                let advice = "the machine's speed changed while capacities were measured: run the study again on a quiet machine, or state a \
                              rate that all arms get (`rate: 4000`)";
                let measured = Measured::percent(difference, if withholds { limit_of_costs } else { limit });
                Some(Finding {
                    arm: Some(arm.id.clone()),
                    load: Some((*load).to_owned()),
                    measures: Measure::RESPONSES.to_vec(),
                    withholds,
                    costs_alone: true,
                    ..Finding::new("unequal-utilisation", Severity::Info, measured, message, advice)
                })
            };
            loads.iter().filter_map(of_load).collect()
        };
        result.arms.iter().flat_map(of_arm).collect()
    },
    withhold: None,
};

#[cfg(test)]
mod tests {
    use hoptax_result::{Severity, StudyResult};

    use crate::study::tests::{fired, withheld};

    #[test]
    fn response_times_of_arms_that_were_not_equally_busy_are_not_compared() {
        let busy = |utilisation: Option<f64>, share: f64| {
            move |result: &mut StudyResult| {
                let load = &mut result.plan.loads[1];
                (load.rate, load.utilisation) = (load.rate.xor(utilisation), utilisation);
                for arm in &mut result.arms {
                    arm.loads[1].proxy_processors_busy_share = Some(0.5);
                }
                result.arms[2].loads[1].proxy_processors_busy_share = Some(share);
            }
        };
        let id = "unequal-utilisation";
        assert_eq!(fired(id, busy(Some(0.5), 0.48)).0, None);
        let (severity, result) = fired(id, busy(Some(0.5), 0.44));
        assert_eq!((severity, result.findings[0].arm.as_deref()), (Some(Severity::Info), Some("lua")));
        assert!(withheld(busy(Some(0.5), 0.44)).is_empty());
        let places = withheld(busy(Some(0.5), 0.38));
        assert!(
            !places.is_empty() && places.iter().all(|place| place.starts_with("+lua fixed-rate Response")),
            "{places:?}"
        );
        // At one rate for all, an arm that is busier is one that costs more.
        assert_eq!(fired(id, busy(None, 0.38)).0, None);
    }
}
