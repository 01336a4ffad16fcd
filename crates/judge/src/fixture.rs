//! Plans, and a study of three arms without rounds, for tests that set its numbers themselves.

use hoptax_functions::Catalogue;
use hoptax_plan::plan::Plan;
use hoptax_result::{ArmResult, StudyResult};

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

/// The arm with this id.
pub(crate) fn arm<'a>(result: &'a mut StudyResult, id: &str) -> &'a mut ArmResult {
    result.arms.iter_mut().find(|arm| arm.id == id).unwrap()
}
