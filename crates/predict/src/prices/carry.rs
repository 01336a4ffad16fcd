//! Prices for a machine, from a price list and a few costs measured on that machine.

use std::ops::RangeInclusive;

use hoptax_result::{
    ArmKind, ArmResult, CarriedTo, CarryError, Interval, Loop, Price, PriceMade, PricedMachine, PricesBody,
    PricesResult, StudyResult,
};

use super::line::ANCHORS;
use crate::prices::errors::{CLASSES, PLAIN, anchors, class_of, summarise, trials};
use crate::prices::line::{Anchor, Line};
use crate::prices::list::{Cost, List};
use crate::prices::stretch::{KNOWN_WITHIN, Stretches, stretches};

/// Fewest functions of [`ANCHORS`] that a list is carried by, besides plain proxying. The known errors are those of lines through all
/// of them, and say nothing about a line through one or two.
const MIN_ANCHORS: usize = 3;
/// How far outside the stretch of the anchors a function may lie on either side, as a share of their range.
const BEYOND: f64 = 0.5;

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
    let functions = list.arms.iter().filter(|arm| arm.kind == ArmKind::Function && !arm.is_control());
    let prices = functions.map(price).collect();
    PricesResult::new(
        list.environment.clone(),
        PricesBody { study: list.name.clone(), listed: priced(list), here: None, prices: sorted(prices) },
    )
    .judged_as(list)
}

/// Why costs of `list` cannot be carried by those of `here`: one has costs in use, and the other those of a saturated proxy, which
/// handles more requests per wake-up. None if both are of one kind.
pub fn loads_differ(list: &StudyResult, here: &StudyResult) -> Option<String> {
    let kind = |result: &StudyResult| match result.plan.cpu_load()?.loop_ {
        Loop::Open => Some("costs in use"),
        Loop::Closed => Some("costs of a saturated proxy"),
    };
    let (of_list, of_here) = (kind(list)?, kind(here)?);
    (of_list != of_here).then(|| format!("the list has {of_list}, and `{}` has {of_here}", here.name))
}

/// Carries a list to the machine of `here`, a study that measured plain proxying and some functions of the list. `known` are the
/// machines from which stretch and errors are derived. None if `here` and the list have no anchor in common. With too few anchors for
/// the known errors, prices that `here` did not measure are not carried.
pub fn carry(list: &StudyResult, here: &StudyResult, known: &[List]) -> Option<PricesResult> {
    let (from, to) = (List::new(list), List::new(here));
    let stretches = stretches(&known.iter().collect::<Vec<&List>>());
    let measured: Vec<(&str, Cost)> = to.costs.iter().map(|(id, cost)| (id.as_str(), *cost)).collect();
    let (names, anchors): (Vec<String>, Vec<Anchor>) =
        anchors(&from, to.plain_us, &measured, &stretches).into_iter().unzip();
    let line = Line::through(&anchors)?;
    let reach = reach(&names, &anchors);
    let errors = summarise(&trials(known));
    // Findings are about arms, and both studies have these.
    let mut result = PricesResult { environment: here.environment.clone(), ..listed(list) }
        .judged(list.verdict.max(here.verdict), Vec::new());
    for price in &mut result.prices {
        let measured = here.arms.iter().find(|arm| arm.kind == ArmKind::Function && arm.id == price.id);
        match measured.and_then(|arm| arm.cost.cpu_us_per_request) {
            Some(cost) => (price.here_us, price.made) = (Some(cost), PriceMade::Measured),
            None => match carried(&from, price, &line, &reach, &stretches, &errors) {
                Ok(cost) => (price.here_us, price.made) = (Some(cost), PriceMade::Carried),
                Err(reason) => (price.reason, price.made) = (Some(reason), PriceMade::NotCarried),
            },
        }
    }
    result.body.prices = sorted(result.body.prices);
    result.here = Some(CarriedTo {
        machine: priced(here),
        factor: line.factor(0.0),
        slope: line.slope,
        anchors: names,
        errors,
    });
    Some(result)
}

/// The stretch of functions that a line through these anchors carries, or the reason why it carries none.
fn reach(names: &[String], anchors: &[Anchor]) -> Result<RangeInclusive<f64>, String> {
    if !names.iter().any(|name| name == PLAIN) {
        return Err(format!("the line has no {PLAIN}"));
    }
    let count = names.iter().filter(|name| ANCHORS.contains(&name.as_str())).count();
    if count < MIN_ANCHORS {
        return Err(format!("the line has {count} of {}, not {MIN_ANCHORS}", ANCHORS.join(", ")));
    }
    let stretch = |of: fn(f64, f64) -> f64, first: f64| anchors.iter().map(|one| one.stretch).fold(first, of);
    let (low, high) = (stretch(f64::min, f64::INFINITY), stretch(f64::max, f64::NEG_INFINITY));
    let beyond = BEYOND * (high - low);
    Ok(low - beyond..=high + beyond)
}

/// The carried price with its interval, or the reason why it cannot be carried.
fn carried(
    list: &List,
    price: &Price,
    line: &Line,
    reach: &Result<RangeInclusive<f64>, String>,
    stretches: &Stretches,
    errors: &[CarryError],
) -> Result<Interval, String> {
    let reach = reach.as_ref().map_err(String::clone)?;
    let listed = price.listed_us.ok_or("withheld on the list")?;
    if Cost::new(&listed).relative() > KNOWN_WITHIN {
        return Err("not measured precisely on the list".to_owned());
    }
    let from_share = class_of(list, listed.estimate).and_then(|class| CLASSES.get(class));
    let from_share = from_share.ok_or("too small on the list")?;
    let error = errors.iter().find(|error| error.from_share.total_cmp(from_share).is_eq());
    let error = error.ok_or("no known errors for costs of this size")?;
    let stretch = stretches.functions.get(&price.id).ok_or("not measured precisely on two machines")?;
    if !reach.contains(stretch) {
        return Err("its stretch is far from those of the anchors".to_owned());
    }
    let estimate = listed.estimate * line.factor(*stretch);
    Ok(Interval { estimate, low: estimate / error.factor, high: estimate * error.factor })
}

fn priced(result: &StudyResult) -> PricedMachine {
    let plain = result.arm(&result.plan.baseline);
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn names(functions: &[&str]) -> Vec<String> {
        std::iter::once(&PLAIN).chain(functions).map(|name| (*name).to_owned()).collect()
    }

    /// As many anchors as names, with stretches from -1 to 1.
    fn anchors_of(names: &[String]) -> Vec<Anchor> {
        let last = names.len() as f64 - 1.0;
        let anchor = |place: usize| Anchor { stretch: 2.0 * place as f64 / last - 1.0, log_factor: 0.0 };
        (0..names.len()).map(anchor).collect()
    }

    fn reach_of(names: &[String]) -> Result<RangeInclusive<f64>, String> {
        reach(names, &anchors_of(names))
    }

    #[test]
    fn a_line_through_few_anchors_carries_nothing() {
        assert!(reach_of(&names(&ANCHORS)).is_ok() && reach_of(&names(&ANCHORS[1..])).is_ok());
        let two = reach_of(&names(&ANCHORS[2..])).unwrap_err();
        assert!(two.contains("2 of ext-authz/http, jwt"), "{two}");
        assert!(reach_of(&names(&["lua", "cors", "rbac", "jwt"])).is_err(), "others have unknown errors");
        let without_plain = reach_of(&names(&ANCHORS)[1..]).unwrap_err();
        assert!(without_plain.contains("plain proxying"), "{without_plain}");
    }

    #[test]
    fn a_function_whose_stretch_is_far_from_those_of_the_anchors_is_not_carried() {
        let list = List { plain_us: Some(20.0), ..List::default() };
        let price = Price {
            id: "lua".to_owned(),
            listed_share: None,
            listed_us: Some(Interval { estimate: 10.0, low: 9.9, high: 10.1 }),
            here_us: None,
            made: PriceMade::Listed,
            reason: None,
        };
        let errors = [CarryError {
            from_share: CLASSES[0],
            count: 20,
            functions: 20,
            median_share: 0.1,
            p90_share: 0.2,
            factor: 1.5,
            confidence: 0.95,
        }];
        let reach = reach_of(&names(&ANCHORS));
        let carried = |stretch: f64| {
            let functions = BTreeMap::from([("lua".to_owned(), stretch)]);
            let stretches = Stretches { plain: 0.0, functions };
            super::carried(&list, &price, &Line::default(), &reach, &stretches, &errors)
        };
        // The anchors reach from -1 to 1.
        assert!(carried(1.9).is_ok() && carried(-1.9).is_ok());
        for stretch in [2.1, -2.1] {
            assert!(carried(stretch).unwrap_err().contains("far from"), "{stretch}");
        }
    }
}
