//! Rates of open loops that a study file leaves to the machine. Later rounds and sittings keep the rates of the first, because results
//! under different loads are neither combined nor compared.

use hoptax_plan::plan::{Open, Plan, Rate};
use hoptax_plan::record::RoundRecord;
use hoptax_result::StudyResult;

/// Sets the rates to those of the earlier rounds of a resumed study.
pub(crate) fn keep_those_of_rounds(plan: &mut Plan, rounds: &[RoundRecord]) {
    keep(plan, |number, _| {
        let mut slices = rounds.iter().flat_map(|round| &round.slices);
        Some(slices.find(|slice| slice.load == number)?.planned_rate)
    });
}

/// Sets the rates to those of an earlier sitting. Returns a sentence about each.
pub(crate) fn keep_those_of_sitting(plan: &mut Plan, earlier: &StudyResult) -> Vec<String> {
    keep(plan, |_, name| earlier.plan.loads.iter().find(|load| load.name == name)?.rate)
}

/// Sets each rate that the plan would take from the capacity of the slowest arm. `rate_of` gets the number and the name of the load.
fn keep(plan: &mut Plan, rate_of: impl Fn(usize, &str) -> Option<f64>) -> Vec<String> {
    let mut kept = Vec::new();
    for (number, load) in plan.loads.iter_mut().enumerate() {
        let Some(Open { rate: rate @ Rate::OfSlowest(_), .. }) = &mut load.open else { continue };
        if let Some(per_second) = rate_of(number, &load.name).filter(|per_second| *per_second > 0.0) {
            *rate = Rate::PerSecond(per_second);
            kept.push(format!("`{}` has {per_second} requests/s, as in the previous sitting", load.name));
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use hoptax_plan::record::SliceRecord;
    use hoptax_result::sample;

    use super::*;
    use crate::study::tests::plan_of;

    fn plan() -> Plan {
        let text = "name: test\narms: [baseline, lua]\nloads:\n  - {name: saturation, loop: closed}\n  - {name: in-use, loop: open}\n  \
                    - {name: stated, loop: open, rate: 700}\n  - {name: share, loop: open, utilisation: 30%}\n";
        plan_of(text)
    }

    fn rates(plan: &Plan) -> Vec<Option<Rate>> {
        plan.loads.iter().map(|load| load.open.as_ref().map(|open| open.rate)).collect()
    }

    #[test]
    fn rounds_and_sittings_keep_only_the_rates_that_the_file_leaves_open() {
        let kept = [
            None,
            Some(Rate::PerSecond(4_200.0)),
            Some(Rate::PerSecond(700.0)),
            Some(Rate::Utilisation(0.3)),
        ];
        let slice =
            |load: usize, planned_rate: f64| SliceRecord { load, planned_rate, ..SliceRecord::default() };
        let slices = vec![slice(0, 0.0), slice(1, 4_200.0), slice(2, 700.0), slice(3, 999.0)];
        let mut resumed = plan();
        keep_those_of_rounds(&mut resumed, &[RoundRecord { slices, ..RoundRecord::default() }]);
        assert_eq!(rates(&resumed), kept);
        let mut earlier = sample::study("test", "2026-11-01T00:00:00Z", 5.0);
        let load = |name: &str, rate: f64| hoptax_result::LoadSpec {
            name: name.to_owned(),
            loop_: hoptax_result::Loop::Open,
            rate: Some(rate),
            ..sample::closed_loop(name, 16)
        };
        earlier.plan.loads = vec![load("stated", 1.0), load("in-use", 4_200.0)];
        let mut again = plan();
        let notes = keep_those_of_sitting(&mut again, &earlier);
        assert_eq!((rates(&again), notes.len()), (kept.to_vec(), 1));
        assert!(notes[0].contains("`in-use` has 4200 requests/s"), "{notes:?}");
    }

    #[test]
    fn loads_for_some_arms_keep_their_own_rates() {
        let text = "name: test\narms: [baseline, lua, rbac]\nloads:\n  - {name: a, loop: open, except: b}\n  \
                    - {name: b, loop: open, only: [lua]}\n";
        let mut resumed = plan_of(text);
        let slice =
            |load: usize, planned_rate: f64| SliceRecord { load, planned_rate, ..SliceRecord::default() };
        let slices = vec![slice(1, 1_600.0), slice(0, 3_300.0)];
        keep_those_of_rounds(&mut resumed, &[RoundRecord { slices, ..RoundRecord::default() }]);
        assert_eq!(rates(&resumed), [Some(Rate::PerSecond(3_300.0)), Some(Rate::PerSecond(1_600.0))]);
    }

    #[test]
    fn a_sitting_and_a_round_without_the_load_leave_its_rate_open() {
        let mut earlier = sample::study("test", "2026-11-01T00:00:00Z", 5.0);
        earlier.plan.loads.clear();
        let mut again = plan();
        assert!(keep_those_of_sitting(&mut again, &earlier).is_empty());
        keep_those_of_rounds(&mut again, &[RoundRecord::default()]);
        assert_eq!(rates(&again), rates(&plan()));
    }
}
