//! The document of a price list, or of prices converted to this machine.

mod charts;

use hoptax_result::{PricesResult, Verdict};

use crate::document::{Document, Judgement, Next, Section};
use crate::load_rate::at_load;
use crate::numbers::{decimals, ends, grouped, level, percent_difference, signed};
use crate::prices::{covered, lines, name, own_loads, table, usual_load, without_price};
use crate::table::Table;

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
    document.notes.extend(result.here.as_ref().and_then(|_| without_price(result)));
    document.notes.extend(own_loads(result));
    document.notes.extend(document.table.as_ref().and_then(Table::meaning_of_mark));
    let usable = match result.verdict {
        Verdict::Sound => "no check of the studies behind the prices warned or failed",
        Verdict::Caution if result.halts_differently() => {
            "processors were kept from halting on one of the two machines only, so converted prices have wide intervals"
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
            let at = usual_load(&result.listed).map(|load| format!(" {}", at_load(load)));
            format!(
                ": plain proxying takes {} us of CPU time per request{}",
                level(us),
                at.unwrap_or_default()
            )
        });
        let highest = result.prices.iter().find_map(|price| Some((price, price.listed_share?)));
        let highest = highest.map(|(price, share)| {
            let name = name(result, price);
            format!("`{name}` adds most of {count} functions, {}", percent_difference(&share))
        });
        return std::iter::once(format!("Measured on the machine of this list ({machine}){plain}"))
            .chain(highest)
            .collect();
    };
    let priced = result.prices.iter().filter(|price| price.here_us.is_some()).count();
    let error = here.error.as_ref().map(|error| {
        format!(
            "Converted prices are within a factor of {} for {} % of functions, on machines like the known ones",
            grouped(error.factor, 2),
            covered(error)
        )
    });
    let highest = result.prices.iter().find_map(|price| Some((price, price.here_us?)));
    let highest = highest.map(|(price, us)| {
        format!(
            "`{}` adds most: {} us of CPU time per request ({})",
            price.id,
            signed(us.estimate, decimals(us.half_width())),
            ends(&us)
        )
    });
    std::iter::once(format!("{priced} of {count} listed functions have a price on this machine"))
        .chain(highest)
        .chain(error)
        .collect()
}

#[cfg(test)]
mod tests {
    use hoptax_result::{CostMeasure, Interval};

    use super::*;
    use crate::fixture::STYLE;
    use crate::prices::fixture;
    use crate::render::terminal;

    #[test]
    fn prices_that_were_converted() {
        insta::assert_snapshot!(terminal::details(&prices(&fixture::converted()), STYLE));
    }

    #[test]
    fn a_list_names_its_load_and_marks_functions_of_another_one() {
        let mut listed = fixture::converted();
        listed.here = None;
        let document = prices(&listed);
        let answer = &document.answer[0];
        // A list of the user may be of this machine.
        assert!(answer.starts_with("Measured on the machine of this list ("), "{answer}");
        assert!(answer.ends_with("us of CPU time per request at 4,000 requests/s"), "{answer}");
        let table = document.table.unwrap();
        assert!(table.title.ends_with("and us; at 4,000 requests/s"), "{}", table.title);
        let names: Vec<&str> = table.rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["jwt (900/s)", "lua", "cors"]);
        let own = "(900/s): listed at 900 requests/s, like the plain proxying that it is a share of";
        assert_eq!(document.notes, [own]);
        // Results of earlier versions have no loads.
        listed.listed.loads.clear();
        let text = terminal::details(&prices(&listed), STYLE);
        assert!(text.contains("plain proxying and us:\n") && !text.contains("requests/s"), "{text}");
    }

    #[test]
    fn the_answer_states_the_share_that_the_factor_holds_for_and_no_digit_beyond_the_interval() {
        let mut result = fixture::converted();
        let error = result.here.as_mut().and_then(|here| here.error.as_mut()).unwrap();
        (error.factor, error.confidence) = (1.334, 0.839);
        for price in result.prices.iter_mut().filter(|price| price.here_us.is_some()) {
            price.here_us = Some(Interval::new(228.1, 171.0, 304.2));
        }
        let answer = prices(&result).answer;
        assert!(
            answer[1].contains("adds most: +228 us of CPU time per request (+171 to +304)"),
            "{answer:?}"
        );
        assert!(answer[2].starts_with("Converted prices are within a factor of 1.33 for 83 % of functions"));
    }

    #[test]
    fn prices_that_were_measured_here_come_first() {
        let mut result = fixture::converted();
        result.prices.swap(0, 1);
        let table = prices(&result).table.unwrap();
        let names: Vec<&str> = table.rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["jwt (900/s)", "lua", "cors"]);
    }

    #[test]
    fn a_price_whose_sign_is_not_supported_is_marked_in_table_and_chart() {
        let mut result = fixture::converted();
        let cells = |result: &PricesResult| prices(result).table.unwrap().texts_of("cors");
        let notes = |result: &PricesResult| prices(result).notes.concat();
        assert_eq!(cells(&result)[2..4], ["+2.50 ±1.00", "+0.50 ±0.20"]);
        assert!(!notes(&result).contains("may be zero"));
        let cors = &mut result.prices[2];
        cors.listed_uncertain_signs = vec![CostMeasure::CpuUs];
        cors.here_us = Some(Interval::around(-0.1, 0.3));
        assert_eq!(
            cells(&result),
            ["-0.10 ?", "-0.40 to +0.20", "+2.50 ±1.00", "+0.50 ±0.20 ?", "no price: too small on the list"]
        );
        assert!(notes(&result).contains("?: may be zero, or of the other sign"));
        let page = crate::render::json::text(&prices(&result)).unwrap();
        assert!(page.contains("-0.10 ±0.30 ?"), "the chart: {page}");
    }
}
