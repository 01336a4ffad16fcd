//! The chart of prices: the listed cost of each function, or its cost on this machine.

use hoptax_result::{CostMeasure, Price, PriceMade, PricesResult};

use crate::chart::{Chart, IntervalRow, Intervals, Tone};
use crate::document::Section;
use crate::prices::{here, listed, name, priced_first};

/// The functions with a price, in the order of the table; none without one.
pub(super) fn charts(result: &PricesResult) -> Option<Section> {
    let is_converted = result.here.is_some();
    let row = |price: &Price| {
        let number = if is_converted { here(price) } else { listed(price, CostMeasure::CpuShare) };
        Some(IntervalRow {
            name: name(result, price),
            kind: price.made.words(),
            tone: if price.made == PriceMade::Converted { Tone::Third } else { Tone::Own },
            number: number?,
            note: None,
        })
    };
    let rows = priced_first(result).into_iter().filter_map(row).collect();
    let (title, note) = if is_converted {
        let note = "Converted: the listed price times the factor by which this machine is slower; its interval is the error of converted \
                    prices on known machines, a factor both ways, and ± its longer side. Functions without a price here are in the table.";
        ("Price of each function here", note)
    } else {
        ("Price of each function, as listed", "Hollow and grey: the interval contains zero.")
    };
    let unit = if is_converted { "us" } else { "% of plain proxying" };
    let what = format!("CPU time of the proxy that a function adds to a request, {unit}");
    let chart = Intervals::new(title, &what, rows);
    Section::of_charts(title, note, chart.map(Chart::Intervals))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::interval_rows;
    use crate::prices::fixture;
    use crate::quantity::Basis;

    fn rows(result: &PricesResult) -> Vec<IntervalRow> {
        interval_rows(&charts(result)).concat()
    }

    #[test]
    fn converted_prices_are_told_from_measured_ones_and_those_without_support_are_left_out() {
        let rows = rows(&fixture::converted());
        let all: Vec<(&str, &str, Tone)> =
            rows.iter().map(|row| (row.name.as_str(), row.kind, row.tone)).collect();
        assert_eq!(all, [("jwt (900/s)", "measured here", Tone::Own), ("lua", "converted", Tone::Third)]);
        assert_eq!([&rows[0].number.basis, &rows[1].number.basis], [&Basis::Measured, &Basis::Predicted]);
    }

    #[test]
    fn a_list_that_was_not_converted_is_drawn_as_listed() {
        let mut listed = fixture::converted();
        listed.here = None;
        let all = rows(&listed);
        assert!(all.len() == 3 && all.iter().all(|row| row.number.unit == "%"), "as the order: {all:?}");
        listed.prices.iter_mut().for_each(|price| price.listed_share = None);
        assert!(rows(&listed).is_empty());
    }
}
