//! Prices as lines and a table, for all outputs.

use std::collections::BTreeMap;

use hoptax_result::{
    ConversionError, CostMeasure, LoadSpec, Measure, Price, PriceMade, PricedMachine, PricesResult,
};

use crate::load_rate::{at_load, planned};
use crate::numbers::{UNCERTAIN_SIGN, counted, decimals, ends, grouped, level, percent, signed};
use crate::quantity::Quantity;
use crate::rows::in_percent;
use crate::table::{Cell, Table};

/// The source of the prices, how they were converted, and their errors.
pub(crate) fn lines(result: &PricesResult) -> Vec<String> {
    let mut lines = vec![format!("listed: study `{}` on {}", result.study, machine(&result.listed))];
    let Some(here) = &result.here else { return lines };
    lines.push(format!("here: {}", machine(&here.machine)));
    if result.prices.iter().any(|price| price.made == PriceMade::Converted) {
        lines.push(format!(
            "converted with {} and {}: a function costs {} times its listed price",
            here.anchors.split_last().map_or(String::new(), |(_, first)| first.join(", ")),
            here.anchors.last().map_or("no anchor", String::as_str),
            grouped(here.factor, 2)
        ));
    }
    lines.extend(here.error.as_ref().map(error));
    lines
}

fn machine(machine: &PricedMachine) -> String {
    let environment = &machine.environment;
    format!(
        "{}, {} processors{}, Linux {}, Envoy {}, {}; plain proxying {} us{}",
        environment.cpu_model,
        environment.cpus,
        if machine.never_halted { " kept from halting" } else { "" },
        environment.kernel,
        environment.proxy_version.as_deref().unwrap_or("?"),
        environment.started_at,
        machine.plain_us.as_ref().map_or_else(|| "?".to_owned(), level),
        usual_load(machine).map_or_else(String::new, |load| format!(" {}", at_load(load)))
    )
}

/// The load that most costs on a machine hold for; none if it is not known.
pub(crate) fn usual_load(machine: &PricedMachine) -> Option<&LoadSpec> {
    LoadSpec::usual(&machine.loads, Measure::Cpu)
}

/// The load of a listed price, if that is not the load of most.
fn own_load<'a>(result: &'a PricesResult, price: &Price) -> Option<&'a LoadSpec> {
    let own = LoadSpec::usual_of(&result.listed.loads, &price.id, Measure::Cpu);
    own.filter(|own| usual_load(&result.listed) != Some(*own))
}

/// The function of a price, with the rate of its listed load in parentheses if that is not the load of most.
pub(crate) fn name(result: &PricesResult, price: &Price) -> String {
    let mark = own_load(result, price).map(|load| format!(" ({})", planned(load)));
    format!("{}{}", price.id, mark.unwrap_or_default())
}

/// The meaning of the rates in [`name`], a sentence for each.
pub(crate) fn own_loads(result: &PricesResult) -> Vec<String> {
    let is_named =
        |load: &&LoadSpec| result.prices.iter().any(|price| own_load(result, price) == Some(*load));
    let sentence = |load: &LoadSpec| {
        format!(
            "({}): listed {}, like the plain proxying that it is a share of",
            planned(load),
            at_load(load)
        )
    };
    result.listed.loads.iter().filter(is_named).map(sentence).collect()
}

/// The loads that most prices hold for, as the end of a title.
fn at(result: &PricesResult) -> String {
    let of = |word: &str, machine: &PricedMachine| {
        usual_load(machine).map_or_else(String::new, |load| format!("; {word}{}", at_load(load)))
    };
    match &result.here {
        None => of("", &result.listed),
        Some(here) => of("listed ", &result.listed) + &of("here ", &here.machine),
    }
}

/// The listed price in percent or in us. Its sign is not supported if the list says so, and in any case if its own interval contains zero.
pub(crate) fn listed(price: &Price, measure: CostMeasure) -> Option<Quantity> {
    let (number, unit) = match measure {
        CostMeasure::CpuShare => (price.listed_share.as_ref().map(in_percent)?, "%"),
        _ => (price.listed_us?, "us"),
    };
    let is_uncertain = price.listed_uncertain_signs.contains(&measure) || number.contains(0.0);
    Some(Quantity::difference(&number, unit).with_sign(is_uncertain))
}

/// The price on this machine, likewise.
pub(crate) fn here(price: &Price) -> Option<Quantity> {
    let us = price.here_us?;
    let number = Quantity::difference(&us, "us").with_sign(price.here_has_uncertain_sign || us.contains(0.0));
    Some(if price.made == PriceMade::Converted { number.predicted() } else { number })
}

/// Errors of converted prices for functions whose true price is known.
fn error(error: &ConversionError) -> String {
    format!(
        "prices of {} functions converted between {} known machines were off by {} at the median; the intervals here are a factor of \
         {} both ways and cover {} % of other functions on such machines",
        error.functions,
        error.machines,
        percent(error.median_share, 0),
        grouped(error.factor, 2),
        covered(error)
    )
}

/// The share of functions whose converted prices are within the factor, %. It is rounded down, since it is a promise.
pub(crate) fn covered(error: &ConversionError) -> String {
    grouped((error.confidence * 100.0).floor(), 0)
}

/// One row per function.
pub(crate) fn table(result: &PricesResult) -> Table {
    let is_converted = result.here.is_some();
    let row = |price: &Price| {
        let mark = if here(price).is_some_and(|here| here.has_uncertain_sign) { UNCERTAIN_SIGN } else { "" };
        let us = price.here_us.as_ref();
        let estimate = us.map(|us| signed(us.estimate, decimals(us.half_width())) + mark);
        let here = [estimate, us.map(ends)].map(Cell::from).into_iter().filter(|_| is_converted);
        let listed =
            [CostMeasure::CpuShare, CostMeasure::CpuUs].map(|measure| Cell::from(listed(price, measure)));
        let mut cells: Vec<Cell> = here.chain(listed).collect();
        if is_converted {
            let why = price.reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
            cells.push(Cell::words(format!("{}{why}", price.made.words())));
        }
        (name(result, price), cells)
    };
    let columns: &[&str] = if is_converted {
        &["function", "here us", "interval", "listed %", "listed us", "source"]
    } else {
        &["function", "%", "us"]
    };
    let what = "CPU time of the proxy that a function adds to a request, % of plain proxying and us";
    let rows = priced_first(result).into_iter().map(row);
    Table::of_cells(format!("{what}{}", at(result)), columns.iter().copied(), rows).with_words(&["source"])
}

/// The functions whose price was measured here, those with a converted price, and those without one.
pub(crate) fn priced_first(result: &PricesResult) -> Vec<&Price> {
    let mut all: Vec<&Price> = result.prices.iter().collect();
    if result.here.is_some() {
        all.sort_by_key(|price| (price.here_us.is_none(), price.made != PriceMade::MeasuredHere));
    }
    all
}

/// The number of functions without a price here and the most frequent reason, with its count if there are other reasons; none if all have
/// one.
pub(crate) fn without_price(result: &PricesResult) -> Option<String> {
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    let without = result.prices.iter().filter(|price| price.here_us.is_none());
    for reason in without.filter_map(|price| price.reason.as_deref()) {
        *reasons.entry(reason).or_default() += 1;
    }
    let all: usize = reasons.values().sum();
    let (reason, count) = reasons.into_iter().max_by_key(|(_, count)| *count)?;
    let of_them = if count < all { format!("{count} of them: ") } else { String::new() };
    Some(format!("without a price here: {} ({of_them}{reason})", counted(all as u64, "function")))
}

#[cfg(test)]
pub(crate) mod fixture {
    use hoptax_result::{ConvertedTo, Environment, Interval, Loop, Price, PricesBody, sample};

    use super::*;

    fn interval(low: f64, estimate: f64, high: f64) -> Interval {
        Interval::new(estimate, low, high)
    }

    fn price(id: &str, listed_us: f64, made: PriceMade, here_us: Option<Interval>) -> Price {
        let reason = (made == PriceMade::NoPrice).then(|| "too small on the list".to_owned());
        Price {
            id: id.to_owned(),
            listed_share: Some(interval(
                (listed_us - 0.2) / 20.0,
                listed_us / 20.0,
                (listed_us + 0.2) / 20.0,
            )),
            listed_us: Some(interval(listed_us - 0.2, listed_us, listed_us + 0.2)),
            listed_uncertain_signs: Vec::new(),
            here_us,
            here_has_uncertain_sign: false,
            made,
            reason,
        }
    }

    fn machine(cpu_model: &str, plain_us: f64) -> PricedMachine {
        let environment = Environment {
            cpu_model: cpu_model.to_owned(),
            cpus: 2,
            kernel: "6.18.0".to_owned(),
            proxy_version: Some("1.40.0".to_owned()),
            started_at: "2026-11-22T01:00:00Z".to_owned(),
            ..Environment::default()
        };
        PricedMachine {
            environment,
            plain_us: Some(interval(plain_us - 1.0, plain_us, plain_us + 1.0)),
            never_halted: false,
            loads: vec![in_use(4_000.0, &["lua", "cors"]), in_use(900.0, &["jwt"])],
        }
    }

    /// A load of plain proxying and these functions.
    fn in_use(rate: f64, functions: &[&str]) -> LoadSpec {
        LoadSpec {
            loop_: Loop::Open,
            rate: Some(rate),
            arms: std::iter::once(&"baseline").chain(functions).map(ToString::to_string).collect(),
            ..sample::closed_loop(&format!("in-use-{rate}"), 32)
        }
    }

    /// A price list that was converted to another machine.
    pub(crate) fn converted() -> PricesResult {
        let error =
            ConversionError { functions: 10, machines: 3, median_share: 0.09, factor: 1.5, confidence: 0.9 };
        let body = PricesBody {
            study: "price-list".to_owned(),
            listed: machine("One", 20.0),
            here: Some(ConvertedTo {
                machine: PricedMachine { never_halted: true, ..machine("Other", 40.0) },
                factor: 2.0,
                anchors: ["plain proxying", "jwt"].map(str::to_owned).to_vec(),
                error: Some(error),
            }),
            prices: vec![
                price("jwt", 20.0, PriceMade::MeasuredHere, Some(interval(39.0, 40.0, 41.0))),
                price("lua", 3.6, PriceMade::Converted, Some(interval(4.8, 7.2, 10.8))),
                price("cors", 0.5, PriceMade::NoPrice, None),
            ],
        };
        PricesResult::new(Environment::default(), body)
    }
}
