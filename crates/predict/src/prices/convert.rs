//! Prices for a machine, from a price list and a few costs measured on that machine.

use hoptax_result::{
    ArmKind, ArmResult, ConversionError, ConvertedTo, CostMeasure, Finding, Interval, Loop, Measured, Price,
    PriceMade, PricedMachine, PricesBody, PricesResult, Severity, StudyResult, Verdict,
};

use crate::prices::errors::known_errors;
use crate::prices::factor::{ANCHORS, Anchor, PLAIN, anchors, factor};
use crate::prices::list::{Cost, KNOWN_WITHIN, List};

/// Minimum number of functions of [`ANCHORS`] to convert a list, besides plain proxying. The known errors are those of factors from three
/// of them, and do not apply to factors from one or two.
const MIN_ANCHORS: usize = 3;

/// The prices of a list as measured, the largest share of plain proxying first, as what is said about them is in shares.
pub fn listed(list: &StudyResult) -> PricesResult {
    let price = |arm: &ArmResult| Price {
        id: arm.id.clone(),
        listed_share: arm.cost.cpu_share,
        listed_us: arm.cost.cpu_us_per_request,
        listed_uncertain_signs: [CostMeasure::CpuShare, CostMeasure::CpuUs]
            .into_iter()
            .filter(|measure| arm.cost.uncertain_signs.contains(measure))
            .collect(),
        here_us: None,
        here_has_uncertain_sign: false,
        made: PriceMade::Listed,
        reason: None,
    };
    let functions = list.arms.iter().filter(|arm| arm.kind == ArmKind::Function && !arm.is_control());
    let prices = functions.map(price).collect();
    let body = PricesBody {
        study: list.name.clone(),
        listed: priced(list),
        here: None,
        prices: sorted(prices, |price| price.listed_share),
    };
    PricesResult::new(list.environment.clone(), body).judged_as(list)
}

/// Returns the reason why costs of `list` cannot be converted with those of `here`: one of them has no costs in use. A saturated proxy
/// handles more requests per wake-up, differently for each function, and the known errors are those of costs in use. None if both have
/// costs in use.
pub fn conversion_obstacle(list: &StudyResult, here: &StudyResult) -> Option<String> {
    let is_in_use =
        |result: &&StudyResult| result.plan.cpu_load().is_some_and(|load| load.loop_ == Loop::Open);
    let other = [list, here].into_iter().find(|result| !is_in_use(result))?;
    Some(format!("`{}` has no load in use, from whose CPU costs prices are converted", other.name))
}

/// Converts a list to the machine of `here`, a study that measured plain proxying and some functions of the list. `known` are the
/// machines from which errors are derived. None if `here` and the list have no anchor in common. With too few anchors for the known
/// errors, prices that `here` did not measure are not converted.
pub fn convert(list: &StudyResult, here: &StudyResult, known: &[List]) -> Option<PricesResult> {
    let (from, to) = (List::new(list), List::new(here));
    let measured: Vec<(&str, Cost)> = to.costs.iter().map(|(id, cost)| (id.as_str(), *cost)).collect();
    let anchors = anchors(&from, to.plain_us, &measured);
    let factor = factor(&anchors)?;
    let lacking = lacking(&anchors);
    let error = known_errors(known, from.halts != to.halts);
    // Their own findings name arms, and both studies have arms of the same names.
    let sources = [list.as_source("the price list"), here.as_source("the measurement on this machine")];
    let mut result = PricesResult { environment: here.environment.clone(), ..listed(list) }
        .judged(list.verdict.max(here.verdict), sources.into_iter().flatten().collect());
    for price in &mut result.prices {
        let measured = here.arms.iter().find(|arm| arm.kind == ArmKind::Function && arm.id == price.id);
        match measured.and_then(|arm| Some((&arm.cost, arm.cost.cpu_us_per_request?))) {
            Some((cost, us)) => {
                (price.here_us, price.made) = (Some(us), PriceMade::MeasuredHere);
                price.here_has_uncertain_sign = cost.uncertain_signs.contains(&CostMeasure::CpuUs);
            }
            None => match converted(&from, price, factor, lacking.as_deref(), error.as_ref()) {
                Ok(cost) => (price.here_us, price.made) = (Some(cost), PriceMade::Converted),
                Err(reason) => (price.reason, price.made) = (Some(reason), PriceMade::NoPrice),
            },
        }
    }
    result.body.prices = sorted(result.body.prices, |price| price.here_us.or(price.listed_us));
    result.here = Some(ConvertedTo {
        machine: priced(here),
        factor,
        anchors: anchors.into_iter().map(|anchor| anchor.name).collect(),
        error,
    });
    if result.halts_differently() {
        // Their errors are far larger, which the intervals cover.
        result.verdict = result.verdict.max(Verdict::Caution);
        let message = "processors were kept from halting on one of the two machines only".to_owned();
        let advice =
            "measure here as the list was measured, by `--never-halt`, and name that study: `--measured`";
        let measured = Measured::count(0.0, 0.0, "");
        result.findings.push(Finding::new("other-halting", Severity::Warn, measured, message, advice));
    }
    Some(result)
}

/// Returns the reason why these anchors cannot convert prices; None if they can.
fn lacking(anchors: &[Anchor]) -> Option<String> {
    if !anchors.iter().any(|anchor| anchor.name == PLAIN) {
        return Some(format!("{PLAIN} is not known on both machines"));
    }
    let count = anchors.iter().filter(|anchor| ANCHORS.contains(&anchor.name.as_str())).count();
    (count < MIN_ANCHORS).then(|| format!("too few known anchors here: {count} instead of {MIN_ANCHORS}"))
}

/// The converted price with its interval, or the reason why it cannot be converted.
fn converted(
    list: &List,
    price: &Price,
    factor: f64,
    lacking: Option<&str>,
    error: Option<&ConversionError>,
) -> Result<Interval, String> {
    if let Some(lacking) = lacking {
        return Err(lacking.to_owned());
    }
    let listed = Cost::new(&price.listed_us.ok_or("withheld on the list")?);
    if !list.is_converted(&price.id, &listed) {
        return Err("too small on the list".to_owned());
    }
    if listed.relative() > KNOWN_WITHIN {
        return Err("not measured precisely on the list".to_owned());
    }
    let error = error.ok_or("no known errors")?;
    let estimate = listed.us * factor;
    Ok(Interval::new(estimate, estimate / error.factor, estimate * error.factor))
}

fn priced(result: &StudyResult) -> PricedMachine {
    let plain = result.arm(&result.plan.baseline);
    PricedMachine {
        environment: result.environment.clone(),
        plain_us: plain.and_then(|arm| arm.cpu_us_per_request),
        never_halted: result.plan.never_halted,
        loads: result.plan.loads.clone(),
    }
}

/// Prices in descending order of this number. Functions without it are last.
fn sorted(mut prices: Vec<Price>, by: fn(&Price) -> Option<Interval>) -> Vec<Price> {
    let key = |price: &Price| by(price).map_or(f64::NEG_INFINITY, |number| number.estimate);
    prices.sort_by(|a, b| key(b).total_cmp(&key(a)));
    prices
}

#[cfg(test)]
mod tests {
    use super::*;

    fn anchors_of(functions: &[&str], plain: bool) -> Vec<Anchor> {
        let anchor = |name: &&str| Anchor { name: (*name).to_owned(), log_factor: 0.0 };
        plain.then_some(PLAIN).iter().chain(functions).map(anchor).collect()
    }

    #[test]
    fn few_anchors_convert_nothing() {
        assert_eq!(lacking(&anchors_of(&ANCHORS, true)), None);
        assert_eq!(lacking(&anchors_of(&ANCHORS[1..], true)), None);
        let two = lacking(&anchors_of(&ANCHORS[2..], true)).unwrap();
        assert!(two.contains("known anchors here: 2 instead of 3"), "{two}");
        assert!(
            lacking(&anchors_of(&["lua", "cors", "rbac", "jwt"], true)).is_some(),
            "others: unknown errors"
        );
        let without_plain = lacking(&anchors_of(&ANCHORS, false)).unwrap();
        assert!(without_plain.contains("plain proxying"), "{without_plain}");
    }

    #[test]
    fn a_price_that_is_small_or_vague_on_the_list_is_not_converted() {
        let list = List { plain_us: Some(20.0), ..List::default() };
        let error =
            ConversionError { functions: 20, machines: 3, median_share: 0.1, factor: 1.5, confidence: 0.95 };
        let converted = |estimate: f64, half_width: f64, error: Option<&ConversionError>| {
            let price = Price {
                id: "lua".to_owned(),
                listed_share: None,
                listed_us: Some(Interval::new(estimate, estimate - half_width, estimate + half_width)),
                listed_uncertain_signs: Vec::new(),
                here_us: None,
                here_has_uncertain_sign: false,
                made: PriceMade::Listed,
                reason: None,
            };
            super::converted(&list, &price, 2.0, None, error)
        };
        assert_eq!(converted(3.0, 0.1, Some(&error)), Ok(Interval::new(6.0, 4.0, 9.0)));
        assert!(converted(0.9, 0.1, Some(&error)).unwrap_err().contains("too small"));
        assert!(converted(3.0, 1.0, Some(&error)).unwrap_err().contains("not measured precisely"));
        assert!(converted(3.0, 0.1, None).unwrap_err().contains("no known errors"));
    }
}
