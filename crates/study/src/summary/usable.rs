//! The number of rounds that an interval is over: those in which its arms have slices that count.

use hoptax_result::{CostMeasure, StudyResult};

use super::samples::Rounds;
use crate::measure;

/// Rounds behind the interval of a measure of an arm, or of its difference from `other`. Disturbed slices of one arm leave it fewer than
/// the study has, and Student's quantile depends on their number. A result without rounds, such as that of several sittings, has as many as
/// it states.
pub fn usable_rounds(
    result: &StudyResult,
    (arm, other): (&str, Option<&str>),
    measure: CostMeasure,
    load: Option<&str>,
) -> u32 {
    let plan = &result.plan;
    let (usual_load, measure) = match measure {
        CostMeasure::CpuUs | CostMeasure::CpuShare => (plan.cpu_load(), &measure::CPU),
        // A round has times of all quantiles or of none.
        CostMeasure::ResponseP50Us | CostMeasure::ResponseP90Us | CostMeasure::ResponseP99Us => {
            (plan.response_load(), &measure::RESPONSE_P50)
        }
        CostMeasure::MaxRate => (plan.rate_load(), &measure::RATE),
        // Measured once in each round, whatever happens to its slices.
        CostMeasure::OfRounds(_) => return plan.rounds_completed,
    };
    let load = load.or(usual_load.map(|load| load.name.as_str()));
    let Some(load) = load.filter(|_| !result.rounds.is_empty()) else { return plan.rounds_completed };
    let rounds = Rounds { all: &result.rounds, times: &[], confidence: plan.quantile_confidence() };
    let usable = match other {
        None => rounds.medians(arm, load, measure).into_iter().flatten().count(),
        Some(other) => {
            let pairs = rounds.pairs((arm, other), load, (measure, None), |own, _| own);
            pairs.into_iter().filter(|round| !round.is_empty()).count()
        }
    };
    usable as u32
}

#[cfg(test)]
mod tests {
    use hoptax_result::{Disturbance, sample};

    use super::*;

    #[test]
    fn rounds_in_which_an_arm_lost_its_slices_do_not_count() {
        let arms = [sample::arm("baseline"), sample::arm("lua")];
        let mut result =
            sample::study_of_rates(&arms, vec![sample::closed_loop("full", 16)], 6, |_, _, _| 1_000.0);
        let usable = |result: &StudyResult, other| {
            usable_rounds(result, ("lua", other), CostMeasure::MaxRate, Some("full"))
        };
        assert_eq!((usable(&result, None), usable(&result, Some("baseline"))), (6, 6));
        for round in result.rounds.iter_mut().take(2) {
            let lost = round.samples.iter_mut().filter(|sample| sample.arm == "lua");
            lost.flat_map(|sample| &mut sample.set_aside).for_each(|by| by.push(Disturbance::Steal));
        }
        assert_eq!((usable(&result, None), usable(&result, Some("baseline"))), (4, 4));
        assert_eq!(
            usable_rounds(&result, ("baseline", None), CostMeasure::MaxRate, Some("full")),
            6,
            "the other arm lost none"
        );
        result.rounds.clear();
        assert_eq!(usable(&result, None), result.plan.rounds_completed);
    }
}
