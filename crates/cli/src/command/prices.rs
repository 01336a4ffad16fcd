//! `hoptax predict prices`: prints the cost of functions, from a price list or predicted for this machine.

use hoptax_predict::prices::{carry, known, listed, loads_differ};
use hoptax_report::documents;
use hoptax_report::render::markdown;
use hoptax_result::{StudyResult, Verdict};
use hoptax_session::Options;
use hoptax_session::prices::{measure_anchors, published};
use hoptax_session::results::read_run;

use crate::arguments::PricesArguments;
use crate::exit::{Code, Failure};
use crate::interrupt;
use crate::print;
use crate::progress::StudyOnTerminal;

/// Runs the command.
pub(crate) fn run(arguments: &PricesArguments) -> Result<Code, Failure> {
    let list = match &arguments.list {
        Some(path) => read_run(path)?,
        None => published()?,
    };
    let prices = if arguments.here {
        let here = match &arguments.measured {
            Some(path) => read_run(path)?,
            None => match measure(arguments)? {
                Some(here) => here,
                None => return Ok(Code::Void),
            },
        };
        if let Some(why) = loads_differ(&list, &here) {
            return Err(Failure::bad_input(format!(
                "no price can be carried: {why}; measure the functions with `hoptax study anchors`, or give a list of the same load with `--list`"
            )));
        }
        let Some(prices) = carry(&list, &here, &known::machines()) else {
            print::error(
                "no price can be carried: neither plain proxying nor a function is known precisely both in the list and on this machine; \
                 measure again with more rounds or on a quieter machine",
            );
            return Ok(Code::Void);
        };
        prices
    } else {
        listed(&list)
    };
    let document = documents::prices(&prices);
    if arguments.markdown {
        print::result(&markdown::text(&document))?;
        print::write_json(arguments.json.file(), &prices)?;
    } else {
        print::document_or_json(arguments.json.file(), &prices, || document)?;
    }
    Ok(Code::Success)
}

/// Measures the anchors. None if the study is void; the reason has been printed.
fn measure(arguments: &PricesArguments) -> Result<Option<StudyResult>, Failure> {
    let options = Options {
        envoy: arguments.envoy.as_deref(),
        thresholds: &arguments.thresholds,
        ..Options::default()
    };
    let terminal = StudyOnTerminal::default();
    let here = measure_anchors(&options, &interrupt::listen()?, &|update| terminal.show(update))?;
    if here.verdict == Verdict::Void {
        print::error("no price can be carried: the measurement on this machine is void:");
        for finding in here.findings.iter().filter(|finding| finding.withholds) {
            print::note(&format!("  {}: {}; {}", finding.id, finding.message, finding.advice));
        }
        return Ok(None);
    }
    Ok(Some(here))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use hoptax_predict::prices::ANCHORS as MODEL_ANCHORS;

    use hoptax_session::library;

    use super::*;

    #[test]
    fn the_anchor_study_measures_the_anchors_of_the_model() {
        let (name, text) = library::read("anchors").unwrap();
        let (study, _) = hoptax_plan::file::read(&name, &text).unwrap();
        let plan = hoptax_plan::plan::Plan::new(
            &study,
            &hoptax_plan::file::read(&name, &text).unwrap().1,
            hoptax_session::library::catalogue().unwrap(),
        )
        .unwrap();
        let measured: BTreeSet<&str> =
            plan.arms.iter().filter(|arm| !arm.functions.is_empty()).map(|arm| arm.id.as_str()).collect();
        assert_eq!(measured, BTreeSet::from(MODEL_ANCHORS));
    }

    #[test]
    fn costs_in_use_do_not_carry_a_list_of_a_saturated_proxy() {
        let list = published().unwrap();
        assert_eq!(loads_differ(&list, &list), None);
        let mut here = list.clone();
        here.name = "quick".to_owned();
        here.plan.loads.retain(|load| load.loop_ == hoptax_result::Loop::Open);
        here.plan.loads[0].utilisation = None;
        assert_eq!(
            loads_differ(&list, &here).as_deref(),
            Some("the list has costs of a saturated proxy, and `quick` has costs in use")
        );
    }

    #[test]
    fn the_built_in_list_carries_to_its_own_machine_unchanged() {
        let list = published().unwrap();
        let prices = listed(&list).body.prices;
        assert!(prices.len() > 50);
        assert!(prices.iter().all(|price| !price.id.starts_with("control/")), "controls are no prices");
        assert!(list.arms.iter().any(|arm| arm.id.starts_with("control/")));
        let carried = carry(&list, &list, &known::machines()).unwrap();
        assert!((carried.body.here.unwrap().factor - 1.0).abs() < 1e-9);
        let parse = hoptax_session::results::parse;
        assert!(parse("it", "{}").is_err() && parse("it", "").is_err());
    }
}
