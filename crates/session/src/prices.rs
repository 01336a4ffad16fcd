//! The published price list, and the study that converts it to this machine.

use std::io::Read;
use std::sync::OnceLock;

use flate2::read::ZlibDecoder;
use hoptax_predict::prices::{conversion_obstacle, convert, known};
use hoptax_result::{PricesResult, StudyResult, Verdict};

use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::measure::{Options, Place, complete};
use crate::results::parse;
use crate::run_folder::Held;
use crate::study::Study;
use crate::update::Say;

/// The study result behind the published price list, compressed by `build.rs`.
const LIST: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/price-list.zlib"));
/// The study of the anchor functions.
const ANCHORS: &str = "anchors";

/// The published price list. Reading it is slow, so only the first call does it.
///
/// # Errors
/// When this version cannot read it.
pub fn published() -> Result<&'static StudyResult, Failure> {
    static PUBLISHED: OnceLock<Result<StudyResult, Failure>> = OnceLock::new();
    PUBLISHED.get_or_init(read_published).as_ref().map_err(Failure::clone)
}

fn read_published() -> Result<StudyResult, Failure> {
    let name = "the published price list";
    let mut text = String::new();
    ZlibDecoder::new(LIST)
        .read_to_string(&mut text)
        .map_err(|error| Failure::bad_input(format!("{name} cannot be decompressed: {error}")))?;
    parse(name, &text)
}

/// Measures the anchor functions. The costs of the other functions on this machine are derived from theirs.
///
/// # Errors
/// When the study cannot begin, fails, is interrupted or is void.
pub fn measure_anchors(
    options: &Options<'_>,
    interrupt: &Interrupt,
    say: Say<'_>,
) -> Result<StudyResult, Failure> {
    let folder = interrupt.temporary_folder("prices")?;
    let study = Box::new(Study::named(ANCHORS)?);
    let place = Place::New { study, folder: Some(folder.path()), held: Held::Refused };
    let measured = complete(&place, options, interrupt, say);
    // Its folder is removed afterwards, so the study cannot be resumed.
    let here =
        measured.map_err(|failure| if failure.is_interrupt() { Failure::interrupted() } else { failure })?;
    if here.verdict != Verdict::Void {
        return Ok(here);
    }
    let mut why = "no price can be converted to this machine: the measurement here is void:".to_owned();
    for finding in here.findings.iter().filter(|finding| finding.withholds) {
        why += &format!("\n  {}: {}; {}", finding.id, finding.message, finding.advice);
    }
    Err(Failure::void(why))
}

/// Returns the prices on this machine: those of `list`, converted with the functions measured in `here`.
///
/// # Errors
/// When one of the two has no costs in use, or when no function is known precisely in both.
pub fn prices_on_this_machine(list: &StudyResult, here: &StudyResult) -> Result<PricesResult, Failure> {
    if let Some(why) = conversion_obstacle(list, here) {
        return Err(Failure::bad_input(format!(
            "no price can be converted to this machine: {why}; measure it again with a load `in-use`, like that of `hoptax study anchors`"
        )));
    }
    convert(list, here, &known::machines()).ok_or_else(|| {
        Failure::void(
            "no price can be converted to this machine: neither plain proxying nor any function is known precisely both in the list and \
             here; measure again with more rounds or on a quieter machine",
        )
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use hoptax_plan::file::StudyFile;
    use hoptax_plan::plan::Plan;
    use hoptax_predict::prices::{ANCHORS as MODEL_ANCHORS, listed};
    use hoptax_result::{CostMeasure, Loop, PriceMade};

    use super::*;
    use crate::study::tests::planned;

    fn built_in(study: &str) -> (StudyFile, Plan) {
        let study = Study::built_in(study).unwrap();
        let plan = planned(&study);
        (study.file, plan)
    }

    #[test]
    fn the_anchor_study_measures_the_anchors_of_the_model() {
        let (_, plan) = built_in(ANCHORS);
        let measured: BTreeSet<&str> =
            plan.arms.iter().filter(|arm| !arm.functions.is_empty()).map(|arm| arm.id.as_str()).collect();
        assert_eq!(measured, BTreeSet::from(MODEL_ANCHORS));
    }

    /// Another arm among them would have half of the rate that it can have, and another one beside them would lower the rate of all.
    #[test]
    fn the_heavy_arms_of_the_price_list_are_its_slowest_and_no_control_sets_a_rate() {
        let (study, plan) = built_in("price-list");
        let list = published().unwrap();
        let rate = |id: &str| Some(list.arm(id)?.capacity?.rate);
        let known = plan.arms.iter().filter_map(|arm| Some((rate(&arm.id)?, arm.id.as_str())));
        let mut arms: Vec<(f64, &str)> = known.collect();
        arms.sort_by(|a, b| a.0.total_cmp(&b.0));
        let ids: Vec<&str> = arms.into_iter().map(|(_, id)| id).collect();
        let load = study.loads.iter().find(|load| !load.only.is_empty()).unwrap();
        let (heavy, others) = ids.split_at(load.only.len());
        let heaviest: BTreeSet<&str> = heavy.iter().copied().collect();
        let named: BTreeSet<&str> = load.only.iter().map(String::as_str).collect();
        assert_eq!(heaviest, named);
        let slowest = [heavy[0], others[0]];
        assert!(slowest.iter().all(|id| !id.starts_with("control/")), "{slowest:?}");
    }

    #[test]
    fn costs_of_a_saturated_proxy_convert_nothing() {
        let list = published().unwrap();
        let mut saturated = list.clone();
        saturated.name = "old".to_owned();
        saturated.plan.loads.retain(|load| load.loop_ == Loop::Closed);
        for (list, here) in [(list, &saturated), (&saturated, list)] {
            let refused = prices_on_this_machine(list, here).unwrap_err().to_string();
            assert!(refused.contains("`old` has no load in use"), "{refused}");
        }
    }

    #[test]
    fn the_built_in_list_converts_to_its_own_machine_unchanged() {
        let list = published().unwrap();
        let prices = listed(list).body.prices;
        assert!(prices.len() > 50);
        assert!(prices.iter().all(|price| !price.id.starts_with("control/")), "controls are no prices");
        assert!(list.arms.iter().any(|arm| arm.id.starts_with("control/")));
        assert!(prices.iter().any(|price| !price.listed_uncertain_signs.is_empty()));
        let converted = prices_on_this_machine(list, list).unwrap().body;
        for price in &converted.prices {
            let judged = &list.arm(&price.id).unwrap().cost.uncertain_signs;
            let is_uncertain = judged.contains(&CostMeasure::CpuUs);
            assert_eq!(price.listed_uncertain_signs.contains(&CostMeasure::CpuUs), is_uncertain, "{price:?}");
            let is_measured = price.made == PriceMade::MeasuredHere;
            assert_eq!(price.here_has_uncertain_sign, is_uncertain && is_measured, "{price:?}");
            assert!(price.made != PriceMade::Converted, "{price:?}");
            assert!(!is_measured || price.here_us == price.listed_us, "{price:?}");
        }
        let here = converted.here.unwrap();
        assert!((here.factor - 1.0).abs() < 1e-9);
        assert_eq!((&here.machine.loads, &converted.listed.loads), (&list.plan.loads, &list.plan.loads));
        assert!(parse("it", "{}").is_err() && parse("it", "").is_err());
    }
}
