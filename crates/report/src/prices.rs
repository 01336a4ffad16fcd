//! Prices as lines and a table, for all outputs.

use std::collections::BTreeMap;

use hoptax_result::{CarryError, Price, PriceMade, PricedMachine, PricesResult};

use crate::numbers::{counted, decimals, difference, ends, grouped, level, or_dash, percent, signed};
use crate::rows::in_percent;
use crate::table::Table;

/// The source of the prices, how they were converted, and their errors.
pub(crate) fn lines(result: &PricesResult) -> Vec<String> {
    let mut lines = vec![format!("listed: study `{}` on {}", result.study, machine(&result.listed))];
    let Some(here) = &result.here else { return lines };
    lines.push(format!("here: {}", machine(&here.machine)));
    if result.prices.iter().any(|price| price.made == PriceMade::Carried) {
        lines.push(format!(
            "carried by {} and {}: a function costs {} times its listed price",
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
        "{}, {} processors{}, Linux {}, Envoy {}, {}; plain proxying {} us",
        environment.cpu_model,
        environment.cpus,
        if machine.never_halted { " kept from halting" } else { "" },
        environment.kernel,
        environment.proxy_version.as_deref().unwrap_or("?"),
        environment.started_at,
        machine.plain_us.as_ref().map_or_else(|| "?".to_owned(), level)
    )
}

/// Errors of converted prices for functions whose true price is known.
fn error(error: &CarryError) -> String {
    format!(
        "{} functions carried between {} known machines were off by {} at the median; the intervals here are a factor of {} both ways \
         and cover {} % of other functions on such machines",
        error.functions,
        error.machines,
        percent(error.median_share, 0),
        grouped(error.factor, 2),
        grouped((error.confidence * 100.0).floor(), 0)
    )
}

/// One row per function.
pub(crate) fn table(result: &PricesResult) -> Table {
    let is_carried = result.here.is_some();
    let row = |price: &Price| {
        let share = price.listed_share.as_ref().map(in_percent);
        let here = price.here_us.as_ref();
        let here = [here.map(|us| signed(us.estimate, decimals(us.half_width()))), here.map(ends)];
        let listed = [&share, &price.listed_us].map(|one| one.as_ref().map(difference));
        let here = here.into_iter().filter(|_| is_carried);
        let mut cells: Vec<String> = here.chain(listed).map(or_dash).collect();
        if is_carried {
            let why = price.reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
            cells.push(format!("{}{why}", price.made.words()));
        }
        (price.id.clone(), cells)
    };
    let columns: &[&str] = if is_carried {
        &["function", "here us", "interval", "listed %", "listed us", "source"]
    } else {
        &["function", "%", "us"]
    };
    let title = "CPU time of the proxy that a function adds to a request, % of plain proxying and us";
    let rows = priced_first(result).into_iter().map(row);
    Table::of_words(title, columns.iter().copied(), rows).with_words(&["source"])
}

/// The functions with a price here, followed by those without one.
pub(crate) fn priced_first(result: &PricesResult) -> Vec<&Price> {
    let mut all: Vec<&Price> = result.prices.iter().collect();
    all.sort_by_key(|price| result.here.is_some() && price.here_us.is_none());
    all
}

/// The number of functions without a price here and the most frequent reason, with its count if there are other reasons; none if all have
/// one.
pub(crate) fn not_carried(result: &PricesResult) -> Option<String> {
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
    use hoptax_result::{CarriedTo, Environment, Interval, Price, PricesBody};

    use super::*;

    fn interval(low: f64, estimate: f64, high: f64) -> Interval {
        Interval { estimate, low, high }
    }

    fn price(id: &str, listed_us: f64, made: PriceMade, here_us: Option<Interval>) -> Price {
        let reason = (made == PriceMade::NotCarried).then(|| "too small on the list".to_owned());
        Price {
            id: id.to_owned(),
            listed_share: Some(interval(
                (listed_us - 0.2) / 20.0,
                listed_us / 20.0,
                (listed_us + 0.2) / 20.0,
            )),
            listed_us: Some(interval(listed_us - 0.2, listed_us, listed_us + 0.2)),
            here_us,
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
        }
    }

    /// A price list that was converted to another machine.
    pub(crate) fn carried() -> PricesResult {
        let error =
            CarryError { functions: 10, machines: 3, median_share: 0.09, factor: 1.5, confidence: 0.9 };
        let body = PricesBody {
            study: "price-list".to_owned(),
            listed: machine("One", 20.0),
            here: Some(CarriedTo {
                machine: PricedMachine { never_halted: true, ..machine("Other", 40.0) },
                factor: 2.0,
                anchors: ["plain proxying", "jwt"].map(str::to_owned).to_vec(),
                error: Some(error),
            }),
            prices: vec![
                price("jwt", 20.0, PriceMade::Measured, Some(interval(39.0, 40.0, 41.0))),
                price("lua", 3.6, PriceMade::Carried, Some(interval(4.8, 7.2, 10.8))),
                price("cors", 0.5, PriceMade::NotCarried, None),
            ],
        };
        PricesResult::new(Environment::default(), body)
    }
}
