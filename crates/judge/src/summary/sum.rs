//! Sums of the costs of several arms in CPU time, also as shares of the arm compared with, with an interval that includes the errors that
//! their costs have in common.

use hoptax_result::{CostMeasure, Interval, StudyResult};
use hoptax_stats::{CostRounds, Moderated, Weighted, sum_of_costs, sum_of_moderated};

use super::borrowed::Group;
use super::samples::{Pairing, Rounds};
use super::speed::speed;
use crate::measures::CPU;

/// The weighted sum of the costs in CPU time per request of arms, us, from the same slices as `arms[].cost.cpu_us_per_request`.
/// `terms` are ids of arms.
///
/// **Method.** [`sum_of_moderated`] if the costs have moderated variances, which states its degrees of freedom, or else [`sum_of_costs`],
/// with one less than [`rounds_of_sum`]; each cost is at the machine's usual speed, as in the result.
///
/// None if one of the costs is missing or withheld, if they come from different loads, whose slices have no block in common, and if the
/// result has no rounds, like that of several sittings.
pub fn sum_of_cpu_costs(result: &StudyResult, terms: &[Weighted<&str>]) -> Option<Interval> {
    sum(result, terms, Unit::Us)
}

/// The same sum as a share of the CPU time per request of the arm that all of them are compared with: the sum of their shares
/// `arms[].cost.cpu_share`, which are formed within rounds. None also if they are compared with different arms.
pub fn sum_of_cpu_shares(result: &StudyResult, terms: &[Weighted<&str>]) -> Option<Interval> {
    let mut references = terms.iter().map(|term| result.arm(term.value)?.compared_with.as_deref());
    let first = references.next()??;
    if references.any(|other| other != Some(first)) {
        return None;
    }
    sum(result, terms, Unit::Share)
}

/// The unit of a sum.
#[derive(Clone, Copy)]
enum Unit {
    /// Microseconds.
    Us,
    /// Shares of the arm compared with.
    Share,
}

impl Unit {
    fn measure(self) -> CostMeasure {
        match self {
            Self::Us => CostMeasure::CpuUs,
            Self::Share => CostMeasure::CpuShare,
        }
    }

    /// The difference of two slices.
    fn compare(self, own: f64, other: f64) -> f64 {
        match self {
            Self::Us => own - other,
            Self::Share => (own - other) / other,
        }
    }
}

fn sum(result: &StudyResult, terms: &[Weighted<&str>], unit: Unit) -> Option<Interval> {
    let own = terms_of(result, terms, unit)?;
    let confidence = result.plan.quantile_confidence();
    match borrowed_sum(result, terms, unit) {
        Some(sum) => sum.interval(confidence),
        None => sum_of_costs(&own, confidence),
    }
}

/// The load that the costs of all these arms are taken from.
fn common_load<'a>(result: &'a StudyResult, terms: &[Weighted<&str>]) -> Option<&'a str> {
    let mut loads = terms.iter().map(|term| Some(result.plan.cpu_load_of(term.value)?.name.as_str()));
    let first = loads.next()??;
    loads.all(|load| load == Some(first)).then_some(first)
}

/// The sum of costs that borrow; none if one of them does not, or they are not against one arm.
fn borrowed_sum(result: &StudyResult, terms: &[Weighted<&str>], unit: Unit) -> Option<Moderated> {
    let of_arm = |id: &str| {
        let arm = result.arm(id)?;
        // The intervals of rounds alone state none.
        unit.measure().interval(&arm.cost)?.degrees_of_freedom?;
        arm.compared_with.as_deref()
    };
    let references: Vec<&str> = terms.iter().map(|term| of_arm(term.value)).collect::<Option<_>>()?;
    let reference = references.first().filter(|first| references.iter().all(|one| one == *first))?;
    let load = common_load(result, terms)?;
    let rounds = Rounds { all: &result.rounds, times: &[], confidence: result.plan.quantile_confidence() };
    let speed = speed(&result.rounds, load);
    let group = Group { rounds: &rounds, arms: &result.arms, reference, load, speed: speed.as_ref() };
    let costs = group.moderated(unit.measure());
    let term = |term: &Weighted<&str>| Some(Weighted::new(term.weight, *costs.get(term.value)?));
    sum_of_moderated(&terms.iter().map(term).collect::<Option<Vec<_>>>()?)
}

/// Number of rounds behind [`sum_of_cpu_costs`] of these terms: those in which each of the arms has a cost. None if there is no sum.
pub fn rounds_of_sum(result: &StudyResult, terms: &[Weighted<&str>]) -> Option<u32> {
    let terms = terms_of(result, terms, Unit::Us)?;
    let is_whole = |round: &usize| {
        terms.iter().all(|term| term.value.get(*round).is_some_and(|pairs| !pairs.is_empty()))
    };
    Some((0..result.rounds.len()).filter(is_whole).count() as u32)
}

/// The costs of the arms with their weights; none if one of them is missing or withheld.
fn terms_of(result: &StudyResult, terms: &[Weighted<&str>], unit: Unit) -> Option<Vec<Weighted<CostRounds>>> {
    let load = common_load(result, terms)?;
    let rounds = Rounds { all: &result.rounds, times: &[], confidence: result.plan.quantile_confidence() };
    let speed = speed(&result.rounds, load);
    let term = |&Weighted { weight, value: id }: &Weighted<&str>| {
        let arm = result.arm(id)?;
        unit.measure().interval(&arm.cost)?;
        let other = arm.compared_with.as_deref()?;
        let factors = speed.as_ref().map(|speed| speed.between(id, other));
        let pairing = Pairing { arm: id, other, load, measure: &CPU, factors: factors.as_ref() };
        let pairs = rounds.pairs(pairing, |own, other| unit.compare(own, other));
        Some(Weighted::new(weight, pairs))
    };
    terms.iter().map(term).collect()
}

#[cfg(test)]
mod tests {
    use hoptax_result::{ArmResult, Cost, sample};

    use super::*;
    use crate::fixture;

    #[test]
    fn a_sum_is_over_the_rounds_in_which_no_arm_lost_its_slices() {
        let arm = |id: &str| ArmResult {
            compared_with: Some("baseline".to_owned()),
            cost: Cost { cpu_us_per_request: Some(Interval::around(10.0, 1.0)), ..Cost::default() },
            ..sample::arm(id)
        };
        let arms = [sample::arm("baseline"), arm("lua"), arm("cors")];
        let mut result = fixture::closed_loop(&arms, 6);
        for sample in result.rounds.iter_mut().flat_map(|round| &mut round.samples) {
            sample.values.insert(CPU.id.to_string(), vec![Some(50.0)]);
        }
        for (round, id) in result.rounds.iter_mut().zip(["lua", "cors"]) {
            fixture::lose(round, id);
        }
        assert_eq!(rounds_of_sum(&result, &[Weighted::new(1.0, "lua")]), Some(5));
        assert_eq!(
            rounds_of_sum(&result, &[Weighted::new(1.0, "lua"), Weighted::new(-1.0, "cors")]),
            Some(4)
        );
        assert_eq!(rounds_of_sum(&result, &[Weighted::new(1.0, "nowhere")]), None);
    }

    #[test]
    fn a_sum_of_shares_is_formed_within_rounds_and_is_of_one_arm() {
        let arm = |id: &str, other: &str| ArmResult {
            compared_with: Some(other.to_owned()),
            cost: Cost { cpu_share: Some(Interval::around(0.5, 0.1)), ..Cost::default() },
            ..sample::arm(id)
        };
        let others = [arm("lua", "baseline"), arm("cors", "baseline"), arm("jwt", "lua")];
        let arms: Vec<ArmResult> = std::iter::once(sample::arm("baseline")).chain(others).collect();
        let mut result = fixture::closed_loop(&arms, 3);
        // The costs are half of the baseline and a quarter of it in every round, however slow the round is.
        for (round, us) in result.rounds.iter_mut().zip([40.0, 50.0, 80.0]) {
            for (sample, of) in round.samples.iter_mut().zip([1.0, 1.5, 1.25, 1.0]) {
                sample.values.insert(CPU.id.to_string(), vec![Some(us * of)]);
            }
        }
        let sum = |ids: &[&'static str]| {
            let terms: Vec<Weighted<&str>> = ids.iter().map(|id| Weighted::new(1.0, *id)).collect();
            sum_of_cpu_shares(&result, &terms)
        };
        let both = sum(&["lua", "cors"]).unwrap();
        assert!((both.estimate - 0.75).abs() < 0.02 && both.half_width() < 0.05, "{both:?}");
        assert_eq!((sum(&["lua", "jwt"]), sum(&["baseline"]), sum(&[])), (None, None, None));
    }
}
