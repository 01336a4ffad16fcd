//! The second study of a bill whose parts do not add up. It confirms or refutes this, and finds which two parts interact.

use hoptax_bootstrap::parts::Part;
use hoptax_judge::bill::second_study::{Pair, second_study, suspects};
use hoptax_result::{BillResult, BilledSecondStudy};

use super::arm::Arm;
use super::budget::{Pace, Second};
use super::laboratory::Laboratory;
use super::study_file::{Source, StudyOfBill, study_file};
use super::tries::{Tried, Tries, obstacle};
use super::{Configuration, Length, Studies};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::run_folder;
use crate::update::{Say, Update};

/// The first study of a bill.
pub(super) struct First<'a> {
    pub(super) bill: &'a BillResult,
    pub(super) pace: Pace,
}

/// Returns the size of the second study of a bill.
pub(super) fn size(bill: &BillResult) -> Second {
    let parts = bill.parts.iter().filter(|part| part.arm.is_some()).count();
    let suspects = suspects(bill).len();
    let pairs = suspects * suspects.saturating_sub(1) / 2;
    // The arms without all parts and without each part, the second copy of the whole, and the pairs are compared.
    Second { compared: parts + 2 + pairs, pairs }
}

/// Measures all parts of a bill again, and pairs of those that may interact, in a study at the pace of the first.
///
/// # Errors
/// When a pair cannot be tried; when the study cannot be started, fails or is interrupted.
pub(super) fn measure(
    configuration: &Configuration<'_>,
    tries: &Tries,
    source: Source<'_>,
    first: &First<'_>,
    studies: &Studies<'_>,
    interrupt: &Interrupt,
    say: Say<'_>,
) -> Result<BilledSecondStudy, Failure> {
    let First { bill, pace } = first;
    let suspects = suspects(bill);
    // Use the order of the configuration. The order of costs varies with every round, and a continued study must be the same.
    let all = tries.passed.parts.iter().zip(&tries.parts);
    let parts: Vec<(&Part, &Tried)> = all.filter(|(_, tried)| suspects.contains(&tried.arm.id)).collect();
    let and_pairs = if parts.is_empty() { "" } else { ", and pairs of the most expensive ones" };
    say(Update::Note(&format!(
        "the parts do not add up, or that is uncertain: a second study measures them again{and_pairs}"
    )));
    let Pairs { pairs, arms } = if parts.is_empty() {
        Pairs::default()
    } else {
        let laboratory =
            Laboratory::set_up(configuration, studies.options.envoy, studies.folder, interrupt, say)?;
        try_pairs(&laboratory, tries, &parts)?
    };
    let measured: Vec<&str> = bill.parts.iter().filter_map(|part| part.arm.as_deref()).collect();
    let is_of_sum = |arm: &Arm| arm.id == BillResult::ALL_OFF || measured.contains(&arm.id.as_str());
    let arms: Vec<Arm> = tries.measured().into_iter().filter(is_of_sum).chain(arms).collect();
    // Use the rate of the first study, which may have chosen it itself.
    let file = study_file(source, StudyOfBill::Second, &tries.whole.arm, &arms, bill.rate);
    let folder = run_folder::make_folder(&studies.folder.join(BillResult::SECOND_STUDY))?;
    let length = Length { rounds: bill.rounds, budget: studies.left(pace) };
    let result = studies.run(file, length, &folder, interrupt, say)?;
    Ok(second_study(&result, &measured, &pairs))
}

/// Pairs of parts.
#[derive(Default)]
struct Pairs {
    /// All tried pairs.
    pairs: Vec<Pair>,
    /// The arms without both parts of a pair that give the same answers as the whole.
    arms: Vec<Arm>,
}

/// Tries all pairs of parts.
fn try_pairs(
    laboratory: &Laboratory<'_>,
    tries: &Tries,
    parts: &[(&Part, &Tried)],
) -> Result<Pairs, Failure> {
    let (mut pairs, mut arms) = (Vec::new(), Vec::new());
    for (index, (first, one)) in parts.iter().enumerate() {
        for (second, other) in parts.iter().skip(index + 1) {
            let arm = Arm::of_pair(pairs.len() + 1, [*first, *second], &tries.whole.arm.request);
            let outcome = laboratory.attempt(&arm, &tries.passed.listener.name)?;
            let both = if let Some(obstacle) = obstacle(&tries.answers, &outcome) {
                Err(obstacle)
            } else {
                let id = arm.id.clone();
                arms.push(arm);
                Ok(id)
            };
            let named = |part: &Part| format!("{} {}", part.kind, part.name);
            pairs.push(Pair {
                parts: [named(first), named(second)],
                arms: [one.arm.id.clone(), other.arm.id.clone()],
                both,
            });
        }
    }
    Ok(Pairs { pairs, arms })
}
