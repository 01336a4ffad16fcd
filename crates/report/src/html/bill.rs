//! The page of a bill.

use hoptax_result::{BillResult, BilledPart, BilledReplacement};
use serde::Serialize;

use super::{HtmlError, PageFinding, render};
use crate::bill::{self, Column, columns_of_rounds, columns_of_time};
use crate::findings::groups;
use crate::forest::{Forest, Item, bars};
use crate::numbers::difference;
use crate::side::SideTable;
use crate::words;

/// Number of replacements on the page: a dump of a large proxy has thousands.
const MOST_REPLACEMENTS: usize = 200;

/// The page of a bill.
///
/// # Errors
/// When the template does not evaluate.
pub fn bill(result: &BillResult) -> Result<String, HtmlError> {
    let shown = result.replacements.len().min(MOST_REPLACEMENTS);
    render(
        "bill.html",
        Page {
            configuration: &result.configuration,
            sentences: bill::sentences(result),
            subject: bill::subject(result),
            verdict: result.verdict.as_str(),
            verdict_text: words::verdict(result.verdict, &result.findings),
            plot: plot(result),
            parts: tables(|columns| Some(bill::table(result, columns))),
            changes: tables(|columns| bill::changes(result, columns)),
            adds_up: bill::adds_up(result),
            idle: bill::idle(result),
            untold: bill::untold(result),
            not_measured: bill::not_measured(result),
            findings: groups(&result.findings).iter().map(PageFinding::new).collect(),
            method: bill::method(result),
            replacements: result.replacements.get(..shown).unwrap_or_default(),
            more_replacements: result.replacements.len() - shown,
        },
    )
}

#[derive(Serialize)]
struct Page<'a> {
    configuration: &'a str,
    sentences: Vec<String>,
    subject: String,
    verdict: &'static str,
    verdict_text: &'static str,
    plot: Option<Forest>,
    /// Times, then other resources, if there are any.
    parts: Vec<SideTable>,
    changes: Vec<SideTable>,
    adds_up: Vec<String>,
    idle: Vec<String>,
    untold: Vec<String>,
    not_measured: Vec<String>,
    findings: Vec<PageFinding<'a>>,
    method: Vec<String>,
    replacements: &'a [BilledReplacement],
    /// Replacements that are not on the page.
    more_replacements: usize,
}

/// A table of times, and one of other resources if there are any: side by side, they are wider than most windows.
fn tables(of: impl Fn(&[Column]) -> Option<SideTable>) -> Vec<SideTable> {
    let resources = columns_of_rounds();
    let of_resources = of(&resources).filter(|table| bill::has_value(table, &resources));
    of(&columns_of_time()).into_iter().chain(of_resources).collect()
}

/// The parts with their costs in CPU time, and the interval of the A/A arm.
fn plot(result: &BillResult) -> Option<Forest> {
    let item = |part: &BilledPart| {
        let interval = part.cost.cpu_us_per_request?;
        Some(Item { family: String::new(), label: part.name.clone(), value: difference(&interval), interval })
    };
    let items: Vec<Item> = result.parts.iter().filter_map(item).collect();
    bars(&items, result.same_us)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bill::fixture;

    #[test]
    fn the_page_answers_first_and_has_every_part_and_nothing_is_fetched() {
        let page = bill(&fixture::bill()).unwrap();
        let at = |words: &str| page.find(words).unwrap_or_else(|| panic!("{words}: {page}"));
        assert!(
            at("answers differently from the whole") < at("This proxy costs")
                && at("This proxy costs") < at("The most expensive part")
                && at("The most expensive part") < at("<svg")
        );
        assert!(at("<svg") < at("All numbers") && at("All numbers") < at("<h2>What if"));
        assert!(
            at("Do the parts add up?") < at("Not exercised") && at("Not exercised") < at("What was replaced")
        );
        assert_eq!(page.matches("class=\"bar\"").count(), 3, "one for each measured part");
        for part in &fixture::bill().parts {
            assert!(page.contains(&part.name), "{}", part.name);
        }
        for outside in ["<script", "<link", "url(", "src="] {
            assert!(!page.contains(outside), "{outside}");
        }
    }

    #[test]
    fn text_of_a_file_is_not_markup() {
        let mut result = fixture::bill();
        result.configuration = "<script>".to_owned();
        result.parts[0].name = "\"><img src=x>".to_owned();
        result.replacements[0].what = "`<img src=y>`".to_owned();
        let page = bill(&result).unwrap();
        assert!(!page.contains("<script") && !page.contains("<img"), "{page}");
    }

    #[test]
    fn a_void_bill_has_no_picture_and_a_large_list_of_replacements_is_cut() {
        let mut void = fixture::void();
        let one = void.replacements[0].clone();
        void.replacements = vec![one; MOST_REPLACEMENTS + 5];
        let page = bill(&void).unwrap();
        assert!(!page.contains("<svg") && page.contains("void: "), "{page}");
        assert!(page.contains("200 of 205 nodes") && page.contains("all are in bill.json"), "{page}");
    }
}
