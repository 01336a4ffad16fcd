//! The document of a price list, or of prices converted to this machine.

mod charts;

use hoptax_result::{PricesResult, Verdict};

use crate::document::{Document, Judgement, Next, Section};
use crate::numbers::{ends, grouped, level, percent_difference, signed};
use crate::prices::{lines, not_carried, table};

/// Maximum number of rows on the first screen, including the line for the rest. Readers look first for the most expensive functions.
const MOST_ROWS: usize = 12;

/// The document of prices.
pub fn prices(result: &PricesResult) -> Document {
    let mut document = Document::new("predict prices", "", answer(result));
    // If there is no room for all columns, keep the price on this machine and the reason why one is missing.
    let order = [("here us", 0), ("interval", 1), ("source", 2), ("listed %", 3), ("listed us", 4)];
    let order = order.into_iter().filter(|_| result.here.is_some());
    let all = table(result);
    document.table =
        Some(order.fold(all, |table, (heading, priority)| table.with_priority(heading, priority)));
    document.most_rows = Some(MOST_ROWS);
    document.plots.extend(charts::charts(result));
    document.notes.extend(result.here.as_ref().and_then(|_| not_carried(result)));
    let usable = match result.verdict {
        Verdict::Sound => "no check of the studies behind the prices warned or failed",
        Verdict::Caution if result.halts_differently() => {
            "processors were kept from halting on one of the two machines only, so carried prices may be off by more"
        }
        Verdict::Caution => {
            "a check of the studies behind the prices warned or failed; prices without support are left out"
        }
        Verdict::Void => "a study behind the prices is void: measure it again",
    };
    document.verdict = Some(Judgement { verdict: result.verdict, usable: usable.to_owned() });
    document.next = Some(match result.here {
        None => Next::new("hoptax predict prices --here", "predicts the prices on this machine"),
        Some(_) => Next::new("hoptax study quick", "measures the most used ones here, in about 6 minutes"),
    });
    document.sections.extend(Section::of_lines("Source", lines(result)));
    document
}

/// Returns sentences on the machine of the prices, and on the highest price.
fn answer(result: &PricesResult) -> Vec<String> {
    let count = result.prices.len();
    let Some(here) = &result.here else {
        let machine = &result.listed.environment.cpu_model;
        let plain = result.listed.plain_us.as_ref();
        let plain = plain.map_or_else(String::new, |us| {
            format!(": plain proxying takes {} us of CPU time per request", level(us))
        });
        let highest = result.prices.iter().find_map(|price| Some((price, price.listed_share?)));
        let highest = highest.map(|(price, share)| {
            format!("`{}` adds most of {count} functions, {}", price.id, percent_difference(&share))
        });
        return std::iter::once(format!("Measured on another machine ({machine}){plain}"))
            .chain(highest)
            .collect();
    };
    let carried = result.prices.iter().filter(|price| price.here_us.is_some()).count();
    let error = here.error.as_ref().map(|error| {
        format!(
            "On known machines, nearly all carried prices were off by at most {} times",
            grouped(error.factor, 2)
        )
    });
    let highest = result.prices.iter().find_map(|price| Some((price, price.here_us?)));
    let highest = highest.map(|(price, us)| {
        format!(
            "`{}` adds most: {} us of CPU time per request ({})",
            price.id,
            signed(us.estimate, 1),
            ends(&us)
        )
    });
    std::iter::once(format!("{carried} of {count} functions of Envoy have a price on this machine"))
        .chain(highest)
        .chain(error)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::STYLE;
    use crate::prices::fixture;
    use crate::render::terminal;

    #[test]
    fn prices_that_were_carried() {
        insta::assert_snapshot!(terminal::details(&prices(&fixture::carried()), STYLE));
    }
}
