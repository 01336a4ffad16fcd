//! The second study of a bill whose parts do not add up: whether that is confirmed, and which two parts interact.

use std::path::Path;

use hoptax_bootstrap::parts::Part;
use hoptax_result::{BillResult, BilledInteractions};
use hoptax_study::bill::pairs::{Pair, interactions, is_in_doubt, suspects};
use hoptax_subject::envoy::given::Given;
use hoptax_variants::Variant;
use hoptax_variants::study_file::{Question, Source, study_file};

use super::laboratory::{Laboratory, Tried, create_folder};
use super::passed::Passed;
use super::tries::Tries;
use super::{PAIRS, TRIES, run_study};
use crate::arguments::PriceArguments;
use crate::exit::{Code, Failure};
use crate::interrupt::Interrupt;
use crate::print;

/// All parts again, and pairs of those that may interact, measured in a study of as many rounds. None if the sum of the bill is not in
/// doubt; the code of an interrupt.
pub(super) fn measured(
    arguments: &PriceArguments,
    given: &Given,
    (passed, tries): (&Passed, &Tries),
    (source, bill): (Source<'_>, &BillResult),
    folder: &Path,
    interrupt: &Interrupt,
) -> Result<Result<Option<BilledInteractions>, Code>, Failure> {
    if !is_in_doubt(bill) {
        return Ok(Ok(None));
    }
    let suspects = suspects(bill);
    // In the order of the configuration: that of costs varies with every round, and a continued study must be the same.
    let all = passed.parts.iter().zip(&tries.parts);
    let parts: Vec<(&Part, &Tried)> =
        all.filter(|(_, tried)| suspects.contains(&tried.variant.arm)).collect();
    let pairs = if parts.is_empty() { "" } else { ", and pairs of the most expensive ones" };
    print::note(&format!("the parts do not add up, or may not: a second study measures them again{pairs}"));
    let mut of_pairs = (Vec::new(), Vec::new());
    if !parts.is_empty() {
        let laboratory = Laboratory::set_up(given, arguments, &folder.join(TRIES), interrupt)?;
        match tried(&laboratory, (passed, tries), &parts, interrupt)? {
            Some(tried) => of_pairs = tried,
            None => return Ok(Err(Code::Interrupted)),
        }
    }
    let (pairs, variants) = of_pairs;
    let measured: Vec<&str> = bill.parts.iter().filter_map(|part| part.arm.as_deref()).collect();
    let is_of_sum =
        |variant: &Variant| variant.arm == BillResult::ALL_OFF || measured.contains(&variant.arm.as_str());
    let arms: Vec<Variant> = tries.measured().into_iter().filter(is_of_sum).chain(variants).collect();
    let text = study_file(source, Question::Pairs, &tries.whole.variant, &arms, arguments.rate);
    let folder = create_folder(&folder.join(PAIRS))?;
    let result = run_study(arguments, bill.rounds, &text, &folder.join("pairs.yaml"), &folder)?;
    Ok(result.map(|result| Some(interactions(&result, &measured, &pairs))))
}

/// Pairs, and the variants without both parts of one.
type TriedPairs = (Vec<Pair>, Vec<Variant>);

/// All pairs of parts, and the variants without both of them that answer as the whole does. None after an interrupt.
fn tried(
    laboratory: &Laboratory,
    (passed, tries): (&Passed, &Tries),
    parts: &[(&Part, &Tried)],
    interrupt: &Interrupt,
) -> Result<Option<TriedPairs>, Failure> {
    let (mut pairs, mut variants) = (Vec::new(), Vec::new());
    for (index, (first, one)) in parts.iter().enumerate() {
        for (second, other) in parts.iter().skip(index + 1) {
            let variant = Variant::of_pair(pairs.len() + 1, [*first, *second], &tries.whole.variant.request);
            let name = format!("without {} and {}", first.name, second.name);
            let Some(tried) = laboratory.attempt(name, variant, &passed.listener.name, interrupt)? else {
                return Ok(None);
            };
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
    Ok(Some((pairs, variants)))
}
