//! Finds the costs of a study whose sign is uncertain when all costs of a column are judged together.
//!
//! One of twenty 95 % intervals misses the true value. So a reader who looks for the arms that cost anything needs wider, simultaneous
//! intervals: those of [`dunnett()`], against the arm that each arm is compared with.

use std::collections::BTreeMap;

use hoptax_result::{ArmResult, CostMeasure, StudyResult};
use hoptax_stats::{CostsAgainstReference, dunnett, standard_error};

/// Critical values are computed for degrees of freedom rounded down to a multiple of this, because those of moderated variances all differ.
const FREEDOM_STEP: f64 = 0.5;

/// A load by its name; none for the usual one of each measure.
type Load<'a> = Option<&'a str>;

/// Sets [`hoptax_result::Cost::uncertain_signs`] of all arms, whose costs are already set.
pub(crate) fn judge(result: &mut StudyResult) {
    let loads: Vec<String> = result.plan.loads.iter().map(|load| load.name.clone()).collect();
    let mut known = BTreeMap::new();
    for load in std::iter::once(None).chain(loads.iter().map(|name| Some(name.as_str()))) {
        let all = CostMeasure::all();
        let found: Vec<Vec<CostMeasure>> = {
            let families: Vec<Vec<CostsAgainstReference>> =
                all.iter().map(|one| family(result, *one, load)).collect();
            let of_arm = |arm: &ArmResult| {
                let measures = all.iter().zip(&families);
                let uncertain = measures.filter(|(measure, family)| {
                    is_uncertain(result, arm, **measure, load, family, &mut known).unwrap_or(false)
                });
                in_both_units(arm, load, uncertain.map(|(measure, _)| *measure).collect())
            };
            result.arms.iter().map(of_arm).collect()
        };
        for (arm, uncertain) in result.arms.iter_mut().zip(found) {
            let cost = match load {
                None => Some(&mut arm.cost),
                Some(load) => arm.loads.iter_mut().find(|one| one.load == load).map(|one| &mut one.cost),
            };
            if let Some(cost) = cost {
                cost.uncertain_signs = uncertain;
            }
        }
    }
}

/// CPU time and its share of the reference: one cost in two units.
const CPU: [CostMeasure; 2] = [CostMeasure::CpuShare, CostMeasure::CpuUs];

/// Adds the other unit of a cost in CPU time whose sign is uncertain in one unit, so that both give one answer.
fn in_both_units(arm: &ArmResult, load: Load<'_>, mut uncertain: Vec<CostMeasure>) -> Vec<CostMeasure> {
    if CPU.iter().any(|measure| uncertain.contains(measure)) {
        let has =
            |measure: CostMeasure| arm.cost_under(load).is_some_and(|cost| measure.interval(cost).is_some());
        let other = CPU.into_iter().find(|measure| has(*measure) && !uncertain.contains(measure));
        uncertain.extend(other);
    }
    uncertain
}

/// The costs in a measure, by the arm that they are compared with and by the load of that arm's slices: costs under different loads share
/// no errors.
fn family(result: &StudyResult, measure: CostMeasure, load: Load<'_>) -> Vec<CostsAgainstReference> {
    let copies = |id: &str| result.arm(id).map_or(1, |arm| arm.copies);
    let mut groups: BTreeMap<(&str, Load<'_>), CostsAgainstReference> = BTreeMap::new();
    for arm in &result.arms {
        let has_cost = arm.cost_under(load).is_some_and(|cost| measure.interval(cost).is_some());
        if let Some(reference) = arm.compared_with.as_deref().filter(|_| has_cost) {
            let group = groups
                .entry((reference, load.or_else(|| result.plan.usual_load_name(&arm.id, measure))))
                .or_insert_with(|| CostsAgainstReference {
                    copies_of_reference: copies(reference),
                    copies: Vec::new(),
                });
            group.copies.push(arm.copies);
        }
    }
    groups.into_values().collect()
}

/// Costs that are judged together, for their critical value.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Together {
    family: Vec<CostsAgainstReference>,
    /// The bits of the degrees of freedom.
    freedom_bits: u64,
}

/// Returns true if the interval of a cost contains zero once it is widened to hold simultaneously with those of the other costs; none
/// without a cost. Without degrees of freedom, the interval cannot be widened and is used as it is.
fn is_uncertain(
    result: &StudyResult,
    arm: &ArmResult,
    measure: CostMeasure,
    load: Load<'_>,
    family: &[CostsAgainstReference],
    known: &mut BTreeMap<Together, Option<f64>>,
) -> Option<bool> {
    let cost = measure.interval(arm.cost_under(load)?)?;
    let freedom = result.degrees_of_freedom(&cost, arm.contrast(), measure, load);
    let mut half_width = || {
        let error = standard_error(&cost, freedom, result.plan.quantile_confidence())?;
        let rounded = ((freedom / FREEDOM_STEP).floor() * FREEDOM_STEP).max(freedom.min(1.0));
        let key = Together { family: family.to_vec(), freedom_bits: rounded.to_bits() };
        let critical = known.entry(key).or_insert_with(|| dunnett(family, rounded, result.plan.confidence));
        Some(error * (*critical)?)
    };
    Some(half_width().map_or_else(|| cost.contains(0.0), |half| cost.estimate.abs() <= half))
}

#[cfg(test)]
mod tests {
    use hoptax_result::{ArmKind, Cost, Interval, LoadSpec, Loop, RoundMeasure, sample};

    use super::*;

    /// A study of eleven rounds with these CPU costs, each against the baseline.
    fn study(costs: &[Interval]) -> StudyResult {
        let mut result = sample::study("x", "2026-01-01T00:00:00Z", 10.0);
        result.rounds.clear();
        (result.plan.rounds_completed, result.plan.confidence, result.plan.sequential) = (11, 0.95, None);
        let baseline = ArmResult { kind: ArmKind::Baseline, ..sample::arm("baseline") };
        let arm = |(place, cost): (usize, &Interval)| ArmResult {
            compared_with: Some("baseline".to_owned()),
            cost: Cost { cpu_us_per_request: Some(*cost), ..Cost::default() },
            ..sample::arm(&format!("function-{place}"))
        };
        result.arms = std::iter::once(baseline).chain(costs.iter().enumerate().map(arm)).collect();
        result
    }

    fn uncertain(mut result: StudyResult) -> Vec<bool> {
        judge(&mut result);
        let arms = result.arms.iter().skip(1);
        arms.map(|arm| arm.cost.uncertain_signs.contains(&CostMeasure::CpuUs)).collect()
    }

    #[test]
    fn a_sign_needs_more_of_a_cost_among_many() {
        // With 10 degrees of freedom: Student 2.23, Dunnett for 9 costs against one reference 3.24.
        let costs = |first: f64| {
            [vec![Interval::around(first, 2.23)], vec![Interval::around(50.0, 2.23); 8]].concat()
        };
        assert_eq!(uncertain(study(&[Interval::around(2.5, 2.23)])), [false]);
        for (first, expected) in [(2.5, true), (-2.5, true), (3.2, true), (3.3, false), (-3.3, false)] {
            let found = uncertain(study(&costs(first)));
            assert_eq!((found[0], found[1..].contains(&true)), (expected, false), "{first}");
        }
    }

    #[test]
    fn cpu_time_and_its_share_have_one_answer() {
        let found = |share: Interval| {
            let mut result = study(&[Interval::around(2.5, 2.23)]);
            result.arms[1].cost.cpu_share = Some(share);
            judge(&mut result);
            let uncertain = &result.arms[1].cost.uncertain_signs;
            CPU.map(|measure| uncertain.contains(&measure))
        };
        assert_eq!(found(Interval::around(0.02, 0.03)), [true, true]);
        assert_eq!(found(Interval::around(0.03, 0.02)), [false, false]);
    }

    #[test]
    fn more_copies_of_the_reference_are_taken_into_account() {
        let costs = [vec![Interval::around(3.27, 2.228)], vec![Interval::around(50.0, 2.228); 8]].concat();
        let mut copied = study(&costs);
        copied.arms[0].copies = 8;
        assert_eq!((uncertain(study(&costs))[0], uncertain(copied)[0]), (false, true));
    }

    #[test]
    fn costs_under_different_loads_are_groups_of_one_family() {
        let mut result = study(&[Interval::around(1.0, 0.5); 4]);
        let arms = |slow: bool| -> Vec<String> {
            let own = result.arms.iter().enumerate().filter(|(place, _)| *place == 0 || (*place > 2) == slow);
            own.map(|(_, arm)| arm.id.clone()).collect()
        };
        let load = |name: &str, arms: Vec<String>| LoadSpec {
            loop_: Loop::Open,
            rate: Some(1_000.0),
            arms,
            ..sample::closed_loop(name, 16)
        };
        let loads = vec![load("in-use", arms(false)), load("slow", arms(true))];
        result.plan.loads = loads;
        let groups = family(&result, CostMeasure::CpuUs, None);
        assert_eq!(groups.iter().map(|group| group.copies.len()).collect::<Vec<_>>(), [2, 2]);
        assert_eq!(family(&result, CostMeasure::OfRounds(RoundMeasure::MEMORY), None), []);
    }

    #[test]
    fn a_cost_of_one_of_three_sittings_is_judged_by_the_rounds_of_that_sitting() {
        // Dunnett for 9 costs: 7.71 with two degrees of freedom, 3.24 with 10, 2.69 with infinitely many.
        let costs = [vec![Interval::around(3.3, 2.23)], vec![Interval::around(50.0, 2.23); 8]].concat();
        let is_uncertain = |degrees_of_freedom: Option<f64>| {
            let mut costs = costs.clone();
            costs[0].degrees_of_freedom = degrees_of_freedom;
            let mut result = study(&costs);
            result.sittings = vec![sample::sitting(11); 3];
            uncertain(result)[0]
        };
        assert_eq!([None, Some(10.0), Some(f64::INFINITY)].map(is_uncertain), [true, false, false]);
    }

    #[test]
    fn without_degrees_of_freedom_the_interval_decides() {
        let mut result = study(&[Interval::around(1.0, 0.5), Interval::around(1.0, 1.5)]);
        result.plan.rounds_completed = 1;
        assert_eq!(uncertain(result), [false, true]);
    }
}
