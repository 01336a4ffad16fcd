//! Prices for a machine, from a price list and a few costs measured on that machine.

use hoptax_result::{
    ArmKind, ArmResult, CarriedTo, CarryError, Interval, Price, PriceMade, PricedMachine, PricesResult,
    StudyResult,
};

use crate::errors::{CLASSES, anchors, class_of, summarise, trials};
use crate::line::{Anchor, Line};
use crate::list::{Cost, List};
use crate::stretch::{KNOWN_WITHIN, Stretches, stretches};

/// The prices of a list as measured.
pub fn listed(list: &StudyResult) -> PricesResult {
    let price = |arm: &ArmResult| Price {
        id: arm.id.clone(),
        listed_share: arm.cost.cpu_share,
        listed_us: arm.cost.cpu_us_per_request,
        here_us: None,
        made: PriceMade::Listed,
        reason: None,
    };
    let functions = list.arms.iter().filter(|arm| arm.kind == ArmKind::Function);
    let prices = functions.map(price).collect();
    PricesResult {
        format: PricesResult::FORMAT.to_owned(),
        study: list.name.clone(),
        listed: priced(list),
        here: None,
        prices: sorted(prices),
    }
}

/// Carries a list to the machine of `here`, a study that measured plain proxying and some functions of the list. `known` are the
/// machines from which stretch and errors are derived. None if `here` and the list have no anchor in common.
pub fn carry(list: &StudyResult, here: &StudyResult, known: &[List]) -> Option<PricesResult> {
    let (from, to) = (List::of(list), List::of(here));
    let stretches = stretches(&known.iter().collect::<Vec<&List>>());
    let measured: Vec<(&str, Cost)> = to.costs.iter().map(|(id, cost)| (id.as_str(), *cost)).collect();
    let (names, anchors): (Vec<String>, Vec<Anchor>) =
        anchors(&from, (to.plain_us, &measured), &stretches).into_iter().unzip();
    let line = Line::through(&anchors)?;
    let errors = summarise(&trials(known));
    let mut result = listed(list);
    for price in &mut result.prices {
        let measured = here.arms.iter().find(|arm| arm.kind == ArmKind::Function && arm.id == price.id);
        match measured.and_then(|arm| arm.cost.cpu_us_per_request) {
            Some(cost) => (price.here_us, price.made) = (Some(cost), PriceMade::Measured),
            None => match carried((&from, price), &line, &stretches, &errors) {
                Ok(cost) => (price.here_us, price.made) = (Some(cost), PriceMade::Carried),
                Err(reason) => (price.reason, price.made) = (Some(reason), PriceMade::NotCarried),
            },
        }
    }
    result.prices = sorted(result.prices);
    result.here = Some(CarriedTo {
        machine: priced(here),
        factor: line.factor(0.0),
        slope: line.slope,
        anchors: names,
        errors,
    });
    Some(result)
}

/// The carried price with its interval, or the reason why it cannot be carried.
fn carried(
    (list, price): (&List, &Price),
    line: &Line,
    stretches: &Stretches,
    errors: &[CarryError],
) -> Result<Interval, String> {
    let listed = price.listed_us.ok_or("withheld on the list")?;
    if Cost::of(&listed).relative() > KNOWN_WITHIN {
        return Err("not measured precisely on the list".to_owned());
    }
    let from_share = class_of(list, listed.estimate).and_then(|class| CLASSES.get(class));
    let from_share = from_share.ok_or("too small on the list")?;
    let error = errors.iter().find(|error| error.from_share.total_cmp(from_share).is_eq());
    let error = error.ok_or("no known errors for costs of this size")?;
    let stretch = stretches.functions.get(&price.id).ok_or("not measured precisely on two machines")?;
    let estimate = listed.estimate * line.factor(*stretch);
    Ok(Interval { estimate, low: estimate / error.factor, high: estimate * error.factor })
}

fn priced(result: &StudyResult) -> PricedMachine {
    let plain = result.arms.iter().find(|arm| arm.id == result.plan.baseline);
    PricedMachine {
        environment: result.environment.clone(),
        plain_us: plain.and_then(|arm| arm.cpu_us_per_request),
        never_halted: result.plan.never_halted,
    }
}

/// Prices in descending order: by the price here if there is one, otherwise by that of the list. Those without any are last.
fn sorted(mut prices: Vec<Price>) -> Vec<Price> {
    let key = |price: &Price| price.here_us.or(price.listed_us).map_or(f64::NEG_INFINITY, |us| us.estimate);
    prices.sort_by(|a, b| key(b).total_cmp(&key(a)));
    prices
}
