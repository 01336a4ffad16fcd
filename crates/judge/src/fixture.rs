//! Plans and studies that tests of this crate share.

use hoptax_functions::Catalogue;
use hoptax_plan::plan::Plan;
use hoptax_result::{ArmResult, Disturbance, StudyResult, StudyRound, sample};

use crate::summary::{Conditions, summarise};

const TEXT: &str = "
name: test
rounds: 10
arms: [baseline, same, lua]
loads:
  - {name: saturation, loop: closed, blocks: 2, slice: 200ms}
";

/// The plan of the study file with this text.
pub(crate) fn plan(text: &str) -> Plan {
    Plan::read("test.yaml", text, Catalogue::load().unwrap()).unwrap_or_else(|error| panic!("{error}"))
}

/// A complete study of ten rounds with the arms `baseline`, `same` and `lua`, and without any number.
pub(crate) fn study() -> StudyResult {
    let mut result = summarise(&plan(TEXT), &[], Conditions::default());
    result.plan.rounds_completed = 10;
    result
}

/// A study of these arms under the closed loop `full`, at 1,000 requests/s in every slice.
pub(crate) fn closed_loop(arms: &[ArmResult], rounds: u32) -> StudyResult {
    sample::study_of_rates(arms, vec![sample::closed_loop("full", 16)], rounds, |_, _, _| 1_000.0)
}

/// Sets the slices of an arm in a round aside.
pub(crate) fn lose(round: &mut StudyRound, arm: &str) {
    let lost = round.samples.iter_mut().filter(|sample| sample.arm == arm);
    lost.flat_map(|sample| &mut sample.set_aside).for_each(|by| by.push(Disturbance::Steal));
}

/// The arm with this id.
pub(crate) fn arm<'a>(result: &'a mut StudyResult, id: &str) -> &'a mut ArmResult {
    result.arms.iter_mut().find(|arm| arm.id == id).unwrap()
}
