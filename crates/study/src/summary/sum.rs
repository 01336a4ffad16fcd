//! Sums of the costs of several arms in CPU time, with an interval that contains what their costs share.

use hoptax_result::{Interval, StudyResult};
use hoptax_stats::{Term, sum_of_costs};

use super::samples::Rounds;
use super::speed::speed;
use crate::measure::CPU;

/// The weighted sum of the costs in CPU time per request of arms, us, from the same slices as `arms[].cost.cpu_us_per_request`.
/// `terms` are ids of arms with their weights.
///
/// **Method.** [`sum_of_costs`]; each cost is taken at the machine's usual speed, as in the result.
///
/// None if one of the costs is missing or withheld, and if the result has no rounds, as that of several sittings.
pub fn sum_of_cpu_costs(result: &StudyResult, terms: &[(&str, f64)]) -> Option<Interval> {
    let load = &result.plan.cpu_load()?.name;
    let rounds = Rounds { all: &result.rounds, times: &[], confidence: result.plan.quantile_confidence() };
    let speed = speed(&result.rounds, load);
    let term = |(id, weight): &(&str, f64)| -> Option<Term> {
        let arm = result.arms.iter().find(|arm| arm.id == *id)?;
        arm.cost.cpu_us_per_request?;
        let other = arm.compared_with.as_deref()?;
        let factors = speed.as_ref().map(|speed| speed.between(id, other));
        let pairs = rounds.pairs((id, other), load, (&CPU, factors.as_ref()), |own, other| own - other);
        Some((*weight, pairs))
    };
    sum_of_costs(&terms.iter().map(term).collect::<Option<Vec<_>>>()?, rounds.confidence)
}
