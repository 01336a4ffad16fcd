//! The second study of a bill whose parts do not add up: whether that is confirmed, and which two parts interact.

use std::path::Path;

use hoptax_bootstrap::parts::Part;
use hoptax_result::{BillResult, BilledSecondStudy};
use hoptax_session::Interrupt;
use hoptax_study::bill::second_study::{Pair, second_study, suspects};
use hoptax_subject::envoy::given::Given;
use hoptax_variants::Variant;
use hoptax_variants::study_file::{Source, StudyOfBill, study_file};

use super::laboratory::{Laboratory, Tried, create_folder};
use super::passed::Passed;
use super::tries::Tries;
use super::{TRIES, run_study};
use crate::arguments::PriceArguments;
use crate::exit::Failure;
use crate::print;

/// Measures all parts of a bill again, and pairs of those that may interact, in a study of as many rounds.
///
/// # Errors
/// When a pair cannot be tried; when the study cannot be started, fails or is interrupted.
pub(super) fn measure(
    arguments: &PriceArguments,
    given: &Given,
    (passed, tries, source, bill): (&Passed, &Tries, Source<'_>, &BillResult),
    folder: &Path,
    interrupt: &Interrupt,
) -> Result<BilledSecondStudy, Failure> {
    let suspects = suspects(bill);
    // In the order of the configuration: that of costs varies with every round, and a continued study must be the same.
    let all = passed.parts.iter().zip(&tries.parts);
    let parts: Vec<(&Part, &Tried)> =
        all.filter(|(_, tried)| suspects.contains(&tried.variant.arm)).collect();
    let and_pairs = if parts.is_empty() { "" } else { ", and pairs of the most expensive ones" };
    print::note(&format!(
        "the parts do not add up, or may not: a second study measures them again{and_pairs}"
    ));
    let (pairs, variants) = if parts.is_empty() {
        (Vec::new(), Vec::new())
    } else {
        let laboratory = Laboratory::set_up(given, arguments, &folder.join(TRIES), interrupt)?;
        try_pairs(&laboratory, (passed, tries), &parts, interrupt)?
    };
    let measured: Vec<&str> = bill.parts.iter().filter_map(|part| part.arm.as_deref()).collect();
    let is_of_sum =
        |variant: &Variant| variant.arm == BillResult::ALL_OFF || measured.contains(&variant.arm.as_str());
    let arms: Vec<Variant> = tries.measured().into_iter().filter(is_of_sum).chain(variants).collect();
    let text = study_file(source, StudyOfBill::Second, &tries.whole.variant, &arms, arguments.rate);
    let folder = create_folder(&folder.join(BillResult::SECOND_STUDY))?;
    let result = run_study(arguments, bill.rounds, &text, &folder, interrupt)?;
    Ok(second_study(&result, &measured, &pairs))
}

/// All pairs of parts, and the variants without both of them that answer as the whole does.
fn try_pairs(
    laboratory: &Laboratory,
    (passed, tries): (&Passed, &Tries),
    parts: &[(&Part, &Tried)],
    interrupt: &Interrupt,
) -> Result<(Vec<Pair>, Vec<Variant>), Failure> {
    let (mut pairs, mut variants) = (Vec::new(), Vec::new());
    for (index, (first, one)) in parts.iter().enumerate() {
        for (second, other) in parts.iter().skip(index + 1) {
            let variant = Variant::of_pair(pairs.len() + 1, [*first, *second], &tries.whole.variant.request);
            let name = format!("without {} and {}", first.name, second.name);
            let tried = laboratory.attempt(name, variant, &passed.listener.name, interrupt)?;
            let both = if let Some(obstacle) = tried.obstacle(&tries.answers) {
                Err(obstacle)
            } else {
                variants.push(tried.variant.clone());
                Ok(tried.variant.arm)
            };
            let named = |part: &Part| format!("{} {}", part.kind, part.name);
            pairs.push(Pair {
                parts: [named(first), named(second)],
                arms: [one.variant.arm.clone(), other.variant.arm.clone()],
                both,
            });
        }
    }
    Ok((pairs, variants))
}
