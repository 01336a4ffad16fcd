//! Costs of a study of few rounds with moderated variances, which borrow from each other.

use std::collections::{BTreeMap, BTreeSet};

use hoptax_result::{ArmResult, Cost, CostMeasure, StudyPlan};
use hoptax_stats::{
    CostAtLevel, MOST_REPLICATES, Moderated, Replicates, costs_by_round, moderated, shares_of_level,
};

use super::samples::{Pairing, Rounds};
use super::speed::Speed;
use crate::measures::{self, Measure};

/// The costs that borrow. Tails are excluded, because they are not a mean over rounds.
pub(crate) const BORROWING: [CostMeasure; 4] =
    [CostMeasure::CpuUs, CostMeasure::CpuShare, CostMeasure::ResponseP50Us, CostMeasure::MaxRate];

/// The costs against one arm under one load.
#[derive(Clone, Copy)]
pub(super) struct Group<'a> {
    pub(super) rounds: &'a Rounds<'a>,
    pub(super) arms: &'a [ArmResult],
    pub(super) reference: &'a str,
    pub(super) load: &'a str,
    /// The machine's speed under that load.
    pub(super) speed: Option<&'a Speed>,
}

/// Replaces the intervals of the costs of all arms under all loads by those of [`moderated`], where it has any. Only costs under the same
/// load borrow from each other: at another rate, a slice has another number of requests, so its CPU time varies differently. A study that
/// stops by the widths of its intervals keeps Student's intervals, for which its rule was simulated. It also has too many rounds to profit
/// from moderated variances.
pub(super) fn borrow(
    arms: &mut [ArmResult],
    plan: &StudyPlan,
    rounds: &Rounds<'_>,
    speeds: &BTreeMap<String, Speed>,
) {
    if plan.sequential.is_some() || rounds.all.len() > MOST_REPLICATES {
        return;
    }
    let as_measured = arms.to_vec();
    let references: BTreeSet<&str> =
        as_measured.iter().filter_map(|arm| arm.compared_with.as_deref()).collect();
    for reference in references {
        for load in &plan.loads {
            let speed = speeds.get(&load.name);
            let group = Group { rounds, arms: &as_measured, reference, load: &load.name, speed };
            for measure in BORROWING {
                let (found, shares) = (group.moderated(measure), group.moderated_shares(measure));
                for arm in &mut *arms {
                    let Some(under) = arm.loads.iter_mut().find(|under| under.load == load.name) else {
                        continue;
                    };
                    let cost = &mut under.cost;
                    if let Some(one) = found.get(arm.id.as_str()) {
                        replace(cost, measure, one, rounds.confidence);
                    }
                    if let Some(one) = shares.get(arm.id.as_str()) {
                        replace_share(cost, measure, one, rounds.confidence);
                    }
                }
            }
        }
    }
}

/// Replaces the interval of a cost, if the cost exists.
pub(crate) fn replace(
    cost: &mut Cost,
    measure: CostMeasure,
    found: &Moderated,
    confidence: f64,
) -> Option<()> {
    measure.interval(cost)?;
    measure.set(cost, Some(found.interval(confidence)?));
    Some(())
}

/// Replaces the interval of a cost as a share of the level of the reference, if the cost has one.
pub(crate) fn replace_share(
    cost: &mut Cost,
    measure: CostMeasure,
    found: &Moderated,
    confidence: f64,
) -> Option<()> {
    cost.shares.get(measure)?;
    cost.shares.set(measure, Some(found.interval(confidence)?));
    Some(())
}

/// The measure of slices of a cost whose share of the level of the reference borrows, too. That of CPU time borrows as a cost.
fn column_of_share(measure: CostMeasure) -> Option<Measure> {
    match measure {
        CostMeasure::ResponseP50Us => Some(measures::RESPONSE_P50),
        CostMeasure::MaxRate => Some(measures::RATE),
        _ => None,
    }
}

impl<'a> Group<'a> {
    /// The costs in a measure, by arm, of the arms that lost no round. Arms without a proxy are left out, because they have nothing in
    /// common with the others. Empty if the costs do not borrow.
    pub(super) fn moderated(&self, measure: CostMeasure) -> BTreeMap<&'a str, Moderated> {
        self.moderated_of(|arm, reference| self.replicates(measure, arm, reference))
    }

    /// The same costs as shares of the level of the reference.
    fn moderated_shares(&self, measure: CostMeasure) -> BTreeMap<&'a str, Moderated> {
        self.moderated_of(|arm, reference| self.replicates_of_share(measure, arm, reference))
    }

    fn moderated_of(
        &self,
        replicates: impl Fn(&ArmResult, &ArmResult) -> Option<Replicates>,
    ) -> BTreeMap<&'a str, Moderated> {
        let compared =
            |arm: &&&ArmResult| arm.compared_with.as_deref() == Some(self.reference) && !arm.hops.is_empty();
        let arms: Vec<&ArmResult> = self.arms.iter().collect();
        let reference = arms.iter().find(|arm| arm.id == self.reference && !arm.hops.is_empty());
        let Some(reference) = reference else { return BTreeMap::new() };
        let costs = arms.iter().filter(compared);
        let costs = costs.filter_map(|arm| Some((arm.id.as_str(), replicates(arm, reference)?)));
        let (ids, costs): (Vec<&str>, Vec<Replicates>) = costs.unzip();
        ids.into_iter().zip(moderated(&costs).unwrap_or_default()).collect()
    }

    fn replicates(&self, measure: CostMeasure, arm: &ArmResult, reference: &ArmResult) -> Option<Replicates> {
        let (column, compare): (&Measure, fn(f64, f64) -> f64) = match measure {
            CostMeasure::CpuUs => (&measures::CPU, |own, other| own - other),
            CostMeasure::CpuShare => (&measures::CPU, |own, other| (own - other) / other),
            CostMeasure::ResponseP50Us => (&measures::RESPONSE_P50, |own, other| own - other),
            CostMeasure::MaxRate => (&measures::RATE, |own, other| own - other),
            _ => return None,
        };
        let is_cpu = matches!(measure, CostMeasure::CpuUs | CostMeasure::CpuShare);
        let factors = self.speed.filter(|_| is_cpu).map(|speed| speed.between(&arm.id, &reference.id));
        let (arm_id, other) = (arm.id.as_str(), reference.id.as_str());
        let pairing =
            Pairing { arm: arm_id, other, load: self.load, measure: column, factors: factors.as_ref() };
        let pairs = self.rounds.pairs(pairing, compare);
        let values: Vec<f64> = costs_by_round(&pairs)?.into_iter().collect::<Option<_>>()?;
        self.scaled(values, arm, reference, column, measure == CostMeasure::CpuShare)
    }

    fn replicates_of_share(
        &self,
        measure: CostMeasure,
        arm: &ArmResult,
        reference: &ArmResult,
    ) -> Option<Replicates> {
        let column = column_of_share(measure)?;
        let rounds = self.rounds.costs_at_levels(&arm.id, &reference.id, self.load, &column)?;
        let values = shares_of_level(&rounds.into_iter().collect::<Option<Vec<CostAtLevel>>>()?)?;
        self.scaled(values, arm, reference, &column, true)
    }

    /// The values of a cost in each round with their expected deviations, which are proportional to the levels of arm and reference. A
    /// share of the reference's level varies with both levels in proportion to itself.
    fn scaled(
        &self,
        values: Vec<f64>,
        arm: &ArmResult,
        reference: &ArmResult,
        column: &Measure,
        is_share: bool,
    ) -> Option<Replicates> {
        let level = |arm: &ArmResult| {
            let level = self.rounds.level(&arm.id, self.load, column)?.estimate;
            Some((level, f64::from(arm.copies.max(1)).sqrt()))
        };
        let ((own, own_root), (other, other_root)) = (level(arm)?, level(reference)?);
        let (own, shared) = if is_share { (own / other, own / other) } else { (own, other) };
        Some(Replicates { values, own: own / own_root, shared: shared / other_root })
    }
}

#[cfg(test)]
mod tests {
    use hoptax_result::{Contrast, Interval, SequentialPlan, StudyResult, sample};
    use hoptax_stats::{Weighted, share_of_level};

    use super::*;
    use crate::fixture;
    use crate::summary::{fill, sum_of_cpu_costs, sum_of_cpu_shares};

    /// A study of this many functions against a baseline, whose CPU times vary by about one per cent from round to round.
    fn study(functions: usize, rounds: u32) -> StudyResult {
        let function = |number: usize| ArmResult {
            compared_with: Some("baseline".to_owned()),
            ..sample::arm(&format!("function-{number}"))
        };
        let arms: Vec<ArmResult> =
            std::iter::once(sample::arm("baseline")).chain((0..functions).map(function)).collect();
        let mut result = fixture::closed_loop(&arms, rounds);
        for (round, all) in result.rounds.iter_mut().enumerate() {
            for (number, sample) in all.samples.iter_mut().enumerate() {
                // Spread without a pattern that arms share.
                let noise = ((7 * number + 13 * round + 5 * number * round) % 11) as f64 / 11.0;
                let cpu_us = 20.0 + number as f64 + 0.4 * noise;
                sample.values.insert(measures::CPU.id.to_string(), vec![Some(cpu_us)]);
                sample.values.insert(measures::RATE.id.to_string(), vec![Some(1e6 / cpu_us)]);
            }
        }
        result
    }

    fn freedom(result: &StudyResult, arm: &str, measure: CostMeasure) -> f64 {
        let cost = measure.interval(&result.arm(arm).unwrap().cost).unwrap();
        result.degrees_of_freedom(&cost, Contrast { arm, other: Some("baseline") }, measure, None)
    }

    #[test]
    fn seven_costs_of_two_rounds_borrow_and_are_narrower() {
        let mut result = study(7, 2);
        fill(&mut result);
        let alone = Rounds { all: &result.rounds, times: &[], confidence: 0.95 };
        let (mut borrowed, mut own, mut shares) = (0.0, 0.0, (0.0, 0.0));
        for arm in &result.arms[1..] {
            let found = arm.cost.cpu_us_per_request.unwrap();
            let measure = &measures::CPU;
            let pairing = Pairing::new(&arm.id, "baseline", "full", measure);
            let cost = alone.cost(pairing, |own, other| own - other);
            assert!((found.estimate - cost.unwrap().estimate).abs() < 0.1, "{found:?} {cost:?}");
            borrowed += found.half_width();
            own += cost.unwrap().half_width();
            for measure in [CostMeasure::CpuUs, CostMeasure::CpuShare, CostMeasure::MaxRate] {
                assert!(freedom(&result, &arm.id, measure) > 1.0, "{:?}", arm.cost);
            }
            assert_eq!(arm.cost.cpu_us_per_request, arm.loads[0].cost.cpu_us_per_request);
            assert_eq!(arm.cost.shares, arm.loads[0].cost.shares);
            let share = arm.cost.share(CostMeasure::MaxRate).unwrap();
            assert!(share.degrees_of_freedom > Some(1.0), "{share:?}");
            let rounds = alone.costs_at_levels(&arm.id, "baseline", "full", &measures::RATE).unwrap();
            let of_rounds = share_of_level(&rounds.into_iter().flatten().collect::<Vec<_>>(), 0.95).unwrap();
            assert!((share.estimate - of_rounds.estimate).abs() < 1e-9, "{share:?} {of_rounds:?}");
            shares.0 += share.half_width();
            shares.1 += of_rounds.half_width();
        }
        assert!(borrowed < 0.8 * own, "{borrowed} {own}");
        assert!(shares.0 < 0.8 * shares.1, "{shares:?}");
    }

    #[test]
    fn few_costs_many_rounds_and_studies_that_stop_by_widths_keep_their_own_intervals() {
        let mut sequential = study(7, 3);
        sequential.plan.sequential = Some(SequentialPlan {
            target_share: 0.01,
            of_cost_share: 0.0,
            reached: true,
            looks: vec![3],
            quantile_confidence: 0.96,
        });
        for (mut result, own) in [(study(3, 2), 1.0), (study(7, 5), 4.0), (sequential, 2.0)] {
            fill(&mut result);
            for arm in &result.arms[1..] {
                let states = |one: Option<Interval>| one.is_some_and(|one| one.degrees_of_freedom.is_some());
                assert!(BORROWING.iter().all(|measure| !states(measure.interval(&arm.cost))), "{arm:?}");
                assert!(!states(arm.cost.share(CostMeasure::MaxRate)), "{arm:?}");
            }
            let found = freedom(&result, "function-1", CostMeasure::CpuUs);
            assert!((found - own).abs() < 1e-9, "{found}");
        }
    }

    #[test]
    fn an_arm_that_lost_a_round_keeps_its_own_interval() {
        let mut result = study(8, 3);
        fixture::lose(&mut result.rounds[0], "function-0");
        fill(&mut result);
        assert!((freedom(&result, "function-0", CostMeasure::CpuUs) - 1.0).abs() < 1e-9);
        assert!(freedom(&result, "function-1", CostMeasure::CpuUs) > 2.0);
    }

    #[test]
    fn a_sum_of_one_cost_is_that_cost_and_its_degrees_of_freedom() {
        let mut result = study(7, 2);
        fill(&mut result);
        let term = [Weighted::new(1.0, "function-2")];
        let cost = &result.arms[3].cost;
        let [us, of_cost] = [sum_of_cpu_costs(&result, &term), cost.cpu_us_per_request].map(Option::unwrap);
        let ends = |one: &Interval| (one.estimate, one.low, one.high);
        assert_eq!(ends(&us), ends(&of_cost));
        let [share, of_share] = [sum_of_cpu_shares(&result, &term), cost.cpu_share].map(Option::unwrap);
        assert!((share.low - of_share.low).abs() < 1e-9, "{share:?} {of_share:?}");
        for (sum, cost) in [(us, of_cost), (share, of_share)] {
            let [sum, cost] = [sum, cost].map(|one| one.degrees_of_freedom.unwrap());
            assert!((sum - cost).abs() < 1e-9 && sum > 1.0, "{sum} {cost}");
        }
        let both = ["function-2", "function-4"].map(|id| Weighted::new(1.0, id));
        let two = sum_of_cpu_shares(&result, &both).unwrap();
        assert!(two.degrees_of_freedom > Some(1.0), "{two:?}");
    }
}
