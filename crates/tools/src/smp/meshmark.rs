//! The index `MeshMark` as it is published, and a value for cost of our own.
//!
//! `MeshMark` is the mean over classes of resources of the mean over the resources of a class of efficiency times weight, with
//! weights from -50 % to +50 %. The efficiency of a resource is the share of it that is left (<https://smp-spec.io/meshmark>).
//! Neither classes nor weights are published; here, all resources are one class. docs/reference/smp.md lists the defects of the formula.
//!
//! Value for cost: requests handled per second of CPU time that an arm adds to the arm that it is compared with, under one load:
//! `1,000,000 / (difference of CPU time per request, us)`. Its interval is that of the difference, inverted end by end, which
//! keeps the coverage; where the interval of the difference reaches 0, it has no upper end.

use hoptax_result::{
    ArmLoad, ArmResult, HopUse, Interval, MeshMarkArm, MeshMarkBody, MeshMarkResult, RoundMeasure,
    StudyResult, ValueForCost,
};

/// Microseconds in a second.
const US_PER_S: f64 = 1e6;
/// The highest weight.
const MAX_WEIGHT: f64 = 0.5;

/// The index of each arm with a proxy, under each of its loads.
///
/// # Errors
/// When there is no such arm.
pub fn meshmark(study: &StudyResult) -> Result<MeshMarkResult, String> {
    let with_proxy = study.arms.iter().filter(|arm| !arm.hops.is_empty());
    let arms: Vec<MeshMarkArm> =
        with_proxy.flat_map(|arm| arm.loads.iter().map(move |load| index(study, arm, load))).collect();
    if arms.is_empty() {
        return Err("the study has no arm with a proxy and numbers by load".to_owned());
    }
    Ok(MeshMarkResult::new(
        (),
        MeshMarkBody { study: study.name.clone(), confidence: study.plan.confidence, arms },
    )
    .judged_as(study))
}

fn index(study: &StudyResult, arm: &ArmResult, load: &ArmLoad) -> MeshMarkArm {
    let machine = &study.environment;
    let processors = machine.proxy_cpus.len() as f64;
    let cpu_mue = load.proxy_core_share.and_then(|cores| left(cores, processors));
    let bytes: Option<f64> = arm.hops.iter().map(memory_bytes).sum();
    let memory_mue = bytes.and_then(|bytes| left(bytes, machine.memory_bytes as f64));
    let efficiencies: Vec<f64> = [cpu_mue, memory_mue].into_iter().flatten().collect();
    let mean =
        (!efficiencies.is_empty()).then(|| efficiencies.iter().sum::<f64>() / efficiencies.len() as f64);
    MeshMarkArm {
        arm: arm.id.clone(),
        load: load.load.clone(),
        cpu_mue,
        memory_mue,
        product: mean.map(|mean| 100.0 * MAX_WEIGHT * mean),
        mean: mean.map(|mean| 100.0 * mean),
        value_for_cost: load.cost.cpu_us_per_request.as_ref().and_then(value_for_cost),
        asks_companion: arm.asks_companion,
    }
}

/// Resident memory of a proxy, bytes.
pub(crate) fn memory_bytes(hop: &HopUse) -> Option<f64> {
    hop.of_rounds.get(RoundMeasure::MEMORY).map(|memory| memory.estimate)
}

/// The share of a resource that is left; none if its size is not known.
fn left(used: f64, size: f64) -> Option<f64> {
    (size > 0.0).then(|| 1.0 - used / size)
}

/// The value for a cost in CPU time per request, us; none if the whole interval is at most 0.
fn value_for_cost(cost: &Interval) -> Option<ValueForCost> {
    let value = |us: f64| (us > 0.0).then(|| US_PER_S / us);
    Some(ValueForCost { estimate: value(cost.estimate), low: value(cost.high)?, high: value(cost.low) })
}

#[cfg(test)]
mod tests {
    use hoptax_result::{Cost, sample};
    use hoptax_stats::mean_over_rounds;
    use rand::SeedableRng;
    use rand::rngs::Xoshiro256PlusPlus;
    use rand_distr::{Distribution, StandardNormal};

    use super::*;

    fn study() -> StudyResult {
        let mut study = sample::study("quick", "2026-01-02T03:04:05Z", 20.0);
        (study.environment.proxy_cpus, study.environment.memory_bytes) = (vec![0, 1], 1_000);
        for arm in &mut study.arms {
            let memory = Some(Interval::new(100.0, 90.0, 110.0));
            let of_rounds = [(RoundMeasure::MEMORY, memory)].into_iter().collect();
            arm.hops = vec![HopUse { of_rounds, ..HopUse::default() }];
            arm.loads = vec![ArmLoad {
                load: "saturation".to_owned(),
                proxy_core_share: Some(1.0),
                cost: Cost { cpu_us_per_request: arm.cost.cpu_us_per_request, ..Cost::default() },
                ..ArmLoad::default()
            }];
        }
        study
    }

    #[test]
    fn the_index_is_the_share_of_resources_that_is_left() {
        let result = meshmark(&study()).unwrap();
        let [baseline, lua] = result.arms.as_slice() else { panic!("{result:?}") };
        assert_eq!((lua.cpu_mue, lua.memory_mue), (Some(0.5), Some(0.9)));
        assert_eq!((lua.mean, lua.product), (Some(70.0), Some(35.0)));
        assert_eq!(baseline.value_for_cost, None);
        // 20 us of CPU time per request: 50,000 requests for a second of it.
        let value = lua.value_for_cost.unwrap();
        assert_eq!(value.estimate, Some(50_000.0));
        assert_eq!((value.low, value.high), (1e6 / 20.5, Some(1e6 / 19.5)));
    }

    #[test]
    fn an_idle_proxy_and_one_that_does_nothing_score_best() {
        let mut study = study();
        study.arms[1].loads[0].proxy_core_share = Some(0.0);
        let result = meshmark(&study).unwrap();
        assert!(result.arms[1].mean > result.arms[0].mean, "the defect that docs/reference/smp.md names");
    }

    #[test]
    fn what_is_not_known_is_not_computed() {
        let mut study = study();
        study.environment.proxy_cpus.clear();
        study.arms[1].hops[0].of_rounds.set(RoundMeasure::MEMORY, None);
        let arm = meshmark(&study).unwrap().arms.remove(1);
        assert_eq!((arm.cpu_mue, arm.memory_mue, arm.mean, arm.product), (None, None, None, None));
        study.arms.iter_mut().for_each(|arm| arm.hops.clear());
        assert!(meshmark(&study).unwrap_err().contains("no arm with a proxy"));
    }

    #[test]
    fn a_cost_that_may_be_nothing_has_no_upper_end() {
        let of = |low, estimate, high| value_for_cost(&Interval::new(estimate, low, high));
        assert_eq!(
            of(-1.0, 1.0, 4.0),
            Some(ValueForCost { estimate: Some(1e6), low: 250_000.0, high: None })
        );
        assert_eq!(of(-2.0, -1.0, 4.0), Some(ValueForCost { estimate: None, low: 250_000.0, high: None }));
        assert_eq!(of(-2.0, -1.0, 0.0), None);
    }

    /// Share of simulated studies of six rounds whose interval contains the true value, for a true cost and the spread of it over
    /// rounds, us.
    fn coverage(cost_us: f64, spread_us: f64) -> f64 {
        const STUDIES: u32 = 10_000;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let truth = US_PER_S / cost_us;
        let covers = |_: &u32| {
            let mut round = || {
                let error: f64 = StandardNormal.sample(&mut random);
                cost_us + spread_us * error
            };
            let rounds: Vec<f64> = (0..6).map(|_| round()).collect();
            let value = mean_over_rounds(&rounds, 0.95).as_ref().and_then(value_for_cost);
            value.is_some_and(|value| value.low <= truth && value.high.is_none_or(|high| truth <= high))
        };
        (0..STUDIES).filter(covers).count() as f64 / f64::from(STUDIES)
    }

    #[test]
    fn intervals_cover_the_true_value_in_19_of_20_studies_also_if_the_cost_is_close_to_nothing() {
        for (cost_us, spread_us) in [(20.0, 1.0), (20.0, 10.0), (2.0, 2.0), (0.1, 2.0)] {
            let share = coverage(cost_us, spread_us);
            // Four standard errors of the simulation.
            assert!((share - 0.95).abs() < 0.009, "{cost_us} {spread_us}: {share}");
        }
    }
}
