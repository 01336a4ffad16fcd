//! The document of the bill of a configuration.

mod headlines;

use std::collections::BTreeMap;

use hoptax_result::{
    BillResult, BilledPart, Charge, CostMeasure, Finding, Interval, Measure, Place, RoundMeasure, Verdict,
};
use hoptax_text::command_line::path_word;

use crate::bill::{
    self, activity, adds_up, columns_of_rounds, columns_of_time, idle, method, not_measured,
    without_statistic,
};
use crate::chart::{Chart, Waterfall, WaterfallPart, WaterfallTotal};
use crate::document::{Block, Document, FindingText, Judgement, Next, Section};
use crate::environment;
use crate::more_rounds;
use crate::next::Again;
use crate::quantity::Quantity;
use crate::rows::{bounded, unit_name};
use crate::sittings;
use crate::table::{Cell, Column, Row, Table};
use crate::usable;

/// Maximum number of notes below the table. If there are more, all are in sections of their own.
const MOST_NOTES: usize = 3;

/// Maximum number of replacements on a page. A dump of a large proxy has thousands.
const MOST_REPLACEMENTS: usize = 200;

/// The document of a bill.
pub fn bill(result: &BillResult) -> Document {
    document(result, None)
}

/// The document of a bill that can be continued.
pub fn bill_of(result: &BillResult, again: Again<'_>) -> Document {
    document(result, Some(again))
}

fn document(result: &BillResult, again: Option<Again<'_>>) -> Document {
    let mut document = Document::of(
        result,
        format!("price {}", result.configuration),
        bill::subject(result),
        bill::sentences(result),
    );
    document.verdict = Some(Judgement { verdict: result.verdict, usable: usable::of_bill(result) });
    document.table = Some(parts(result));
    document.headlines = headlines::headlines(result);
    document.notes = withheld(result);
    document.notes.extend(document.table.as_ref().and_then(Table::meaning_of_mark));
    let notes = bill::notes(result);
    let has_all_notes = notes.len() <= MOST_NOTES;
    document.notes.extend(notes.into_iter().take(MOST_NOTES));
    document.next = next(result, again);
    document.findings = FindingText::all_named(&result.findings, |arm| name_of_arm(result, arm));
    let chart = waterfall(result).map(|chart| vec![Block::chart(Chart::Waterfall(Box::new(chart)))]);
    document.plots.extend(chart.map(|blocks| Section::new("Cost of each part", blocks)));
    let all = Block::Table(bill::table(result, &columns_of_time()));
    document.sections.push(Section::new("Time, cores and money of each part", vec![all]).fold());
    let resources = columns_of_rounds();
    let of_resources = bill::table(result, &resources);
    if bill::has_value(&of_resources, &resources) {
        let title = "Resources of each part".to_owned();
        document.sections.push(Section::new(title, vec![Block::Table(of_resources)]));
    }
    document.sections.extend(bill::changes(result, &bill::all_columns()).map(Section::of_table));
    // Sections would repeat notes that are all below the table.
    if !has_all_notes {
        document.sections.extend(Section::of_sentences("Sum of the parts", &adds_up(result)));
        document.sections.extend(Section::of_lines("Not exercised", idle(result)));
        document.sections.extend(Section::of_lines("No statistic", without_statistic(result)));
        document.sections.extend(Section::of_lines("Not measured", not_measured(result)));
    }
    document.sections.extend(Section::of_sentences("Method", &method(result)));
    document.sections.extend(replacements(result));
    document.sections.extend(environment::section(&result.environment, &result.program));
    document
}

/// The name in the table of the arm without a part, of an arm with a change, or of another arm.
fn name_of_arm(result: &BillResult, arm: &str) -> Option<String> {
    let is_it = |one: &Option<String>| one.as_deref() == Some(arm);
    let part = result.parts.iter().find(|part| is_it(&part.arm)).map(|part| part.name.clone());
    let change = || result.changes.iter().find(|one| is_it(&one.arm)).map(|one| one.change.clone());
    let other = || match arm {
        BillResult::SAME => Some(format!("{} (A/A)", BillResult::WHOLE)),
        BillResult::ALL_OFF => Some("rest".to_owned()),
        _ => None,
    };
    part.or_else(change).or_else(other)
}

/// Returns the reasons why measured parts have no cost in CPU time, one line each.
fn withheld(result: &BillResult) -> Vec<String> {
    let mut by_reason: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let unknown = result.parts.iter().filter(|part| part.cost.cpu_us_per_request.is_none());
    for (part, arm) in unknown.filter_map(|part| Some((part, part.arm.as_deref()?))) {
        let place = Place { arm, compared_with: Some(BillResult::WHOLE), load: None, measure: Measure::Cpu };
        let reason = reason(result, &place);
        by_reason.entry(reason.to_owned()).or_default().push(&part.name);
    }
    by_reason
        .into_iter()
        .map(|(reason, parts)| format!("no interval for {}: {reason}", parts.join(", ")))
        .collect()
}

/// Returns the reason why a number is missing.
fn reason<'r>(result: &'r BillResult, place: &Place<'_>) -> &'r str {
    let is_reason = |finding: &&Finding| {
        let anywhere = Place { load: finding.load.as_deref(), ..*place };
        finding.withholds_number_or_vague_level(&anywhere)
    };
    let found = result.findings.iter().find(is_reason);
    found.map_or("too few slices count", |finding| finding.message.as_str())
}

/// CPU time, share, p50 and memory of each part, then the rest and the whole.
fn parts(result: &BillResult) -> Table {
    let measured = result.parts.iter().filter(|part| part.arm.is_some());
    let mut rows: Vec<Row> = measured
        .map(|part| Row {
            summary: format!("{}, {}", part.kind, part.place),
            ..Row::new(
                &part.name,
                cells(&part.cost, &part.kind, &activity(&part.activity), Quantity::difference),
            )
        })
        .collect();
    let level = |name: &str, charge: &Charge| Row::new(name, cells(charge, "", "", Quantity::level));
    rows.extend(result.rest.as_ref().map(|rest| level("rest", rest)));
    rows.push(level("whole", &result.whole));
    let columns = [
        Column::new("CPU us", 0),
        Column::new("of the whole %", 1),
        Column::new("p50 us", 2),
        Column::new("memory MiB", 3),
        Column::text("kind", 5),
        Column::text("activity", 4),
    ];
    Table::new("cost of each part per request", "part", columns, rows).without_empty_columns()
}

type Make = fn(&Interval, &'static str) -> Quantity;

/// Intervals, or the bounds of withheld numbers.
fn cells(charge: &Charge, kind: &str, activity: &str, make: Make) -> Vec<Cell> {
    let cell = |measure: CostMeasure| {
        let bound = || charge.bounds.0.iter().find(|bound| bound.measure == measure).map(bounded);
        Cell::from(quantity(charge, measure, make).or_else(bound))
    };
    vec![
        cell(CostMeasure::CpuUs),
        cell(CostMeasure::CpuShare),
        cell(CostMeasure::ResponseP50Us),
        cell(CostMeasure::OfRounds(RoundMeasure::MEMORY)),
        Cell::Text(kind.to_owned()),
        Cell::Text(activity.to_owned()),
    ]
}

/// More rounds, if they would decide how well the parts add up; otherwise a change of the configuration.
fn next(result: &BillResult, again: Option<Again<'_>>) -> Option<Next> {
    let file = path_word(result.configuration.as_ref());
    let command = again.map_or_else(|| format!("hoptax price {file}"), |again| again.command.to_owned());
    let needed = result.sum.as_ref().and_then(|sum| sum.rounds_until_decided);
    if let Some(rounds) = more_rounds::within_reach(needed).filter(|rounds| *rounds > result.rounds) {
        return Some(Next::of_rounds(&command, again, rounds, "decides whether the parts add up"));
    }
    if result.verdict == Verdict::Caution && 4 * result.rounds <= more_rounds::MOST {
        let purpose = "narrows the intervals; if others use this machine, use a quieter one";
        return Some(Next::of_rounds(&command, again, 4 * result.rounds, purpose));
    }
    (result.verdict != Verdict::Void && result.changes.is_empty()).then(|| {
        Next::new(format!("hoptax compare {file} new.yaml"), "decides whether a change of it costs more")
    })
}

/// Numbers to which a part adds in addition to CPU time, with their names.
const OTHERS: [(CostMeasure, &str); 2] = [
    (CostMeasure::ResponseP50Us, "p50 of the response time, us"),
    (CostMeasure::OfRounds(RoundMeasure::MEMORY), "memory, MiB"),
];

/// The number of a charge in a measure, in the unit of tables.
fn quantity(charge: &Charge, measure: CostMeasure, make: Make) -> Option<Quantity> {
    let number = charge.number(measure)?.times(sittings::unit(measure));
    Some(make(&number, unit_name(measure)).with_sign(charge.uncertain_signs.contains(&measure)))
}

/// Returns a waterfall of the costs of the parts on top of the rest, up to the whole; none if no part has a cost.
fn waterfall(result: &BillResult) -> Option<Waterfall> {
    let (measures, also): (Vec<CostMeasure>, Vec<WaterfallTotal>) = OTHERS
        .into_iter()
        .filter_map(|(measure, name)| {
            let whole = quantity(&result.whole, measure, Quantity::level)?;
            Some((measure, WaterfallTotal { name: name.to_owned(), whole, price_per_hour: None }))
        })
        .unzip();
    let part = |part: &BilledPart| {
        let cost = part.cost.cpu_us_per_request?;
        let is_uncertain = part.cost.uncertain_signs.contains(&CostMeasure::CpuUs);
        let cost = Quantity::difference(&cost, "us").with_sign(is_uncertain);
        let also =
            measures.iter().map(|measure| quantity(&part.cost, *measure, Quantity::difference)).collect();
        Some(WaterfallPart { name: part.name.clone(), kind: part.kind.clone(), cost, also })
    };
    let parts: Vec<WaterfallPart> = result.parts.iter().filter_map(part).collect();
    let level = |charge: &Charge| charge.cpu_us_per_request.map(|us| Quantity::level(&us, "us"));
    // The sum of the costs of the single parts, minus their cost together.
    let interaction = result.sum.as_ref().map(|sum| sum.interaction_us.times(-1.0));
    (!parts.is_empty()).then(|| Waterfall {
        title: "CPU time per request, from what is left without the parts to the whole".to_owned(),
        axis: "CPU time per request, us".to_owned(),
        unit: "us",
        rest: result.rest.as_ref().and_then(level),
        parts,
        together: interaction.map(|us| Quantity::difference(&us, "us")),
        whole: level(&result.whole),
        also,
        rate: result.rate,
        price_per_core_hour: result.price_per_core_hour,
        hours_per_month: result.hours_per_month,
        graph: None,
    })
}

/// The parts of the configuration that were replaced to run it on this machine.
fn replacements(result: &BillResult) -> Option<Section> {
    let shown = result.replacements.iter().take(MOST_REPLACEMENTS);
    let rows: Vec<Row> = shown
        .map(|one| Row::new(&one.place, vec![Cell::Text(one.node.clone()), Cell::Text(one.with.clone())]))
        .collect();
    if rows.is_empty() {
        return None;
    }
    let all = result.replacements.len();
    let of = if rows.len() < all {
        format!("{} of {all}; all are in bill.json", rows.len())
    } else {
        all.to_string()
    };
    let title = format!("replaced nodes of the configuration, so that it runs on this machine: {of}");
    let columns = [Column::text("node", 0), Column::text("replaced by", 0)];
    Some(Section::folded(Table::new(title, "place", columns, rows)))
}

#[cfg(test)]
mod tests {
    use hoptax_result::{Bound, BoundOf, Bounds, Measured, Severity};

    use super::*;
    use crate::bill::fixture;
    use crate::fixture::STYLE;
    use crate::numbers::UNCERTAIN_SIGN;
    use crate::render::{csv, html, markdown, terminal};

    #[test]
    fn a_bill_with_an_interaction_and_an_idle_part() {
        insta::assert_snapshot!(terminal::screen(&bill(&fixture::bill()), STYLE));
        insta::assert_snapshot!(markdown::text(&bill(&fixture::bill())));
    }

    #[test]
    fn costs_whose_sign_is_not_supported_are_marked_in_every_table_of_every_output() {
        let mut result = fixture::bill();
        let marks = |result: &BillResult| {
            let document = bill(result);
            let page = html::page(&document).unwrap();
            let outputs = [
                terminal::screen(&document, STYLE),
                terminal::details(&document, STYLE),
                markdown::text(&document),
                csv::text(&document),
                page.split("id=\"document\">").last().unwrap().to_owned(),
            ];
            outputs.map(|text| {
                (text.matches(UNCERTAIN_SIGN).count(), text.contains("of the other sign, once all costs"))
            })
        };
        let before = marks(&result);
        assert!(before[..3].iter().all(|(_, is_explained)| !is_explained), "{before:?}");
        result.parts[0].cost.uncertain_signs = vec![CostMeasure::CpuUs, CostMeasure::ResponseP50Us];
        result.changes[0].difference.uncertain_signs = vec![CostMeasure::CpuUs];
        let after = marks(&result);
        assert!(after[..3].iter().all(|(_, is_explained)| *is_explained), "{after:?}");
        let added: Vec<usize> =
            before.iter().zip(after).map(|((before, _), (after, _))| after - before).collect();
        // On the screen the part's CPU time and p50; all tables also have its cores and price, and those of the change.
        assert!(added[0] == 2 && added[1..].iter().all(|added| *added >= 2 + 4 + 3), "{added:?}");
    }

    #[test]
    fn findings_name_arms_as_the_table_does() {
        let mut result = fixture::bill();
        let of = |arm: &str| Finding { arm: Some(arm.to_owned()), ..fixture::bill().findings[0].clone() };
        let scope = |result: &BillResult| bill(result).findings.swap_remove(0).scope;
        result.findings = vec![of("no-lua"), of(BillResult::SAME), of(BillResult::ALL_OFF)];
        assert_eq!(scope(&result), " [lua, whole (A/A), rest]");
        result.findings = vec![of("what-if-1"), of(BillResult::WHOLE), of("baseline")];
        assert_eq!(scope(&result), " [lua -> add-header/native, whole, baseline]");
    }

    #[test]
    fn the_document_answers_first_and_the_bars_of_the_parts_add_what_they_cost_together() {
        let document = bill(&fixture::bill());
        let [first, second, third, ..] = document.answer.as_slice() else { panic!("{document:?}") };
        assert!(
            first.contains("answers differently from the whole") && second.starts_with("This proxy costs")
        );
        assert!(third.starts_with("The most expensive part"));
        let [Block::Chart(chart)] = document.plots[0].blocks.as_slice() else { panic!("{document:?}") };
        let Chart::Waterfall(waterfall) = chart.as_ref() else { panic!("{chart:?}") };
        assert_eq!(waterfall.parts.len(), 3, "one for each measured part");
        // The bars of the parts add up to the cost of the parts together.
        let parts: f64 = waterfall.parts.iter().filter_map(|part| part.cost.estimate).sum();
        let added = parts + waterfall.together.as_ref().and_then(|one| one.estimate).unwrap();
        let together = fixture::bill().sum.unwrap().together_us.estimate;
        assert!((added - together).abs() < 1e-9, "{added}: {waterfall:?}");
        let titles: Vec<&str> = document.sections.iter().map(|section| section.title.as_str()).collect();
        let at = |words: &str| titles.iter().position(|title| title.starts_with(words)).unwrap();
        assert!(at("Sum of the parts") < at("Not exercised") && at("Not exercised") < at("Replaced nodes"));
        let page = html::page(&document).unwrap();
        for part in &fixture::bill().parts {
            assert!(page.contains(&part.name), "{}", part.name);
        }
    }

    #[test]
    fn the_next_step_keeps_the_measured_rounds_of_a_known_folder() {
        let mut result = fixture::bill();
        result.verdict = Verdict::Caution;
        let next = |result: &BillResult, missing: Option<&str>| {
            let command = "hoptax price envoy.yaml --rate 3000";
            bill_of(result, Again { command, folder: "my runs/1".as_ref(), missing }).next.unwrap()
        };
        let more = |result: &BillResult| next(result, None).command;
        let continued = |rounds: u32| {
            format!("hoptax price envoy.yaml --rate 3000 --resume 'my runs/1' --rounds {rounds}")
        };
        let needed = result.rounds + 7;
        result.sum.as_mut().unwrap().rounds_until_decided = Some(needed);
        assert_eq!(more(&result), continued(needed));
        let purpose = next(&result, Some("the value of the header")).purpose;
        assert_eq!(purpose, "decides whether the parts add up, with the value of the header");
        // No round is missing, so the same number would measure nothing.
        result.sum.as_mut().unwrap().rounds_until_decided = Some(result.rounds);
        assert_eq!(more(&result), continued(4 * result.rounds));
        let anew = format!("hoptax price envoy.yaml --rounds {}", 4 * result.rounds);
        assert_eq!(bill(&result).next.unwrap().command, anew);
    }

    #[test]
    fn a_note_is_said_once_if_all_have_room_below_the_table() {
        let mut result = fixture::bill();
        result.second_study = None;
        result.parts.retain(|part| part.not_measured.is_none());
        result.changes.clear();
        result.lacking.clear();
        let count = |result: &BillResult| markdown::text(&bill(result)).matches("one by one").count();
        assert_eq!((bill::notes(&result).len() <= MOST_NOTES, count(&result)), (true, 1));
        result.lacking = ["a", "b", "c"].map(str::to_owned).to_vec();
        assert_eq!(count(&result), 2, "the section has all of them");
    }

    #[test]
    fn a_void_bill_has_no_answer_though_its_numbers_are_known() {
        let mut result = fixture::bill();
        result.verdict = Verdict::Void;
        let why = "the proxy waited".to_owned();
        result.findings =
            vec![Finding::new("x", Severity::Fail, Measured::us(1.0, 0.0), why, "stop other work")];
        let text = terminal::screen(&bill(&result), STYLE);
        let first = text.lines().find(|line| !line.is_empty()).unwrap();
        assert!(first.starts_with("No bill, because the study is void: the proxy waited. Stop"), "{text}");
        assert!(!text.contains("This proxy costs"), "{text}");
    }

    #[test]
    fn a_part_without_a_cost_has_its_reason_below_the_table() {
        let mut result = fixture::bill();
        let part = result.parts.iter_mut().find(|part| part.arm.is_some()).unwrap();
        part.cost.cpu_us_per_request = None;
        let (arm, name) = (part.arm.clone(), part.name.clone());
        let text = terminal::screen(&bill(&result), STYLE);
        assert!(text.contains(&format!("no interval for {name}: too few slices count")), "{text}");
        let why = "its processors idled".to_owned();
        let finding = Finding::new("x", Severity::Info, Measured::us(1.0, 0.0), why, "");
        result.findings = vec![Finding { arm, measures: vec![Measure::Cpu], withholds: true, ..finding }];
        let text = terminal::screen(&bill(&result), STYLE);
        assert!(text.contains(&format!("no interval for {name}: its processors idled")), "{text}");
    }

    #[test]
    fn what_is_withheld_is_bounded_where_the_study_bounds_it() {
        let mut result = fixture::bill();
        let part = result.parts.iter_mut().find(|part| part.arm.is_some()).unwrap();
        part.cost.cpu_us_per_request = None;
        let bound =
            |of, low, high| Bounds(Bound::new(of, CostMeasure::CpuUs, low, high).into_iter().collect());
        part.cost.bounds = bound(BoundOf::Cost, Some(-20.0), Some(300.0));
        let name = part.name.clone();
        result.whole.cpu_us_per_request = None;
        result.whole.bounds = bound(BoundOf::Level, Some(50.0), None);
        let text = terminal::screen(&bill(&result), STYLE);
        let row = text.lines().find(|line| line.starts_with(&name)).unwrap();
        assert!(row.contains("-20 to +300"), "{text}");
        assert!(
            text.contains("This proxy costs ≥ 50.0 us of CPU time per request at 3,000 requests/s;"),
            "{text}"
        );
        let row = text.lines().find(|line| line.starts_with("whole")).unwrap();
        assert!(row.contains("≥ 50"), "{text}");
    }

    #[test]
    fn a_void_bill_states_no_number_and_a_large_list_of_replacements_is_cut() {
        let mut void = fixture::void();
        let text = terminal::screen(&bill(&void), STYLE);
        assert!(!text.contains('±') && text.contains("void: "), "{text}");
        let one = void.replacements[0].clone();
        void.replacements = vec![one; MOST_REPLACEMENTS + 5];
        let document = bill(&void);
        assert!(document.plots.is_empty());
        assert!(
            document
                .sections
                .iter()
                .any(|section| section.title.ends_with("200 of 205; all are in bill.json"))
        );
    }
}
