//! The document of the index `MeshMark` of the arms of a study, and of their value for cost.

mod charts;

use hoptax_result::{MeshMarkArm, MeshMarkResult, ValueForCost};
use hoptax_text::command_line::path_word;

use crate::document::{Document, FindingText, Judgement, Next, Section};
use crate::numbers::{grouped, percent};
use crate::quantity::{Basis, Form, Quantity};
use crate::table::{Cell, Column, Row, Table};
use crate::usable;

/// Maximum number of rows on the first screen, including the line for the rest.
const MOST_ROWS: usize = 12;

/// The document of the marks of the study in `source`, its folder or file.
pub fn meshmark_of(result: &MeshMarkResult, source: &str) -> Document {
    let command = format!("hoptax runs show {}", path_word(source.as_ref()));
    let next = Next::new(command, "prints the costs that the marks come from");
    Document { next: Some(next), ..meshmark(result) }
}

/// The document of the marks of a study with an unknown folder. The most expensive arm comes first, followed by arms whose cost may be
/// zero, and by arms without a cost.
pub fn meshmark(result: &MeshMarkResult) -> Document {
    let mut arms: Vec<&MeshMarkArm> = result.arms.iter().collect();
    let place = |arm: &MeshMarkArm| match arm.value_for_cost {
        Some(ValueForCost { estimate: Some(estimate), .. }) => (0, estimate),
        Some(ValueForCost { low, .. }) => (1, low),
        None => (2, 0.0),
    };
    arms.sort_by(|one, other| {
        let (one, other) = (place(one), place(other));
        one.0.cmp(&other.0).then(one.1.total_cmp(&other.1))
    });
    let mut document =
        Document::new(format!("convert smp meshmark {}", result.study), "", answer(result, &arms));
    let usable = usable::of_whole("values and marks", result.verdict, &result.findings);
    document.verdict = Some(Judgement { verdict: result.verdict, usable });
    document.findings = FindingText::all(&result.findings);
    document.table = Some(table(&arms));
    document.most_rows = Some(MOST_ROWS);
    document.next =
        Some(Next::sitting(&result.study, "measures another sitting, which shows whether the values stay"));
    document.plots.extend(charts::charts(&arms));
    if arms.iter().any(|arm| arm.asks_companion && arm.value_for_cost.is_some()) {
        document.notes.push("*: without the CPU time of the service that the function calls".to_owned());
    }
    document
        .notes
        .push("MeshMark has no interval, and an idle proxy scores best: docs/reference/smp.md".to_owned());
    document.sections.extend(Section::of_lines(
        "Method",
        vec![
            "MeshMark: 100 times the mean share of CPU and memory that is left, with a weight of 0 % as the factor 1; `as printed` \
             multiplies by weights of +50 %. No term covers the work of a proxy: docs/reference/smp.md lists the defects"
                .to_owned(),
            format!(
                "value for cost: requests for each second of CPU time that the arm adds to the one that it is compared with, \
                 1,000,000 / (added us per request), with its interval of {}",
                percent(result.confidence, 0)
            ),
        ],
    ));
    document
}

fn answer(result: &MeshMarkResult, arms: &[&MeshMarkArm]) -> Vec<String> {
    let costly =
        arms.iter().find_map(|arm| Some((arm, value(arm).filter(|value| value.estimate.is_some())?)));
    let value = costly.map_or_else(
        || format!("No arm of {} has a known value for cost", result.study),
        |(arm, value)| {
            format!(
                "`{}` adds most CPU time under {}: one CPU second for each {} requests",
                arm.arm,
                arm.load,
                value.text()
            )
        },
    );
    let marks = arms.iter().filter_map(|arm| arm.mean);
    let (low, high) =
        marks.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), mark| (low.min(mark), high.max(mark)));
    let marks = (low <= high).then(|| {
        let (low, high) = (grouped(low, 1), grouped(high, 1));
        if low == high {
            format!(
                "MeshMark, an index of 0 to 100 for the CPU and memory that are left, is {low} for every arm"
            )
        } else {
            format!("MeshMark, an index of 0 to 100 for the CPU and memory that are left, is {low} to {high}")
        }
    });
    std::iter::once(value).chain(marks).collect()
}

fn table(arms: &[&MeshMarkArm]) -> Table {
    let row = |arm: &&MeshMarkArm| {
        let mark = |mark: Option<f64>| Cell::from(mark.map(|mark| grouped(mark, 1)));
        let name = if arm.asks_companion && arm.value_for_cost.is_some() {
            format!("{} *", arm.arm)
        } else {
            arm.arm.clone()
        };
        Row::new(
            name,
            vec![
                Cell::words(&arm.load),
                value(arm).into(),
                mark(arm.mean),
                mark(arm.product),
                mark(arm.cpu_mue.map(|share| 100.0 * share)),
                mark(arm.memory_mue.map(|share| 100.0 * share)),
            ],
        )
    };
    let columns = [
        Column::text("load", 0),
        Column::new("value for cost", 0),
        Column::new("MeshMark", 1),
        Column::new("as printed", 4),
        Column::new("CPU left %", 2),
        Column::new("memory left %", 3),
    ];
    let title = "value for cost in requests per CPU second added, and MeshMark";
    Table::new(title, "arm", columns, arms.iter().map(row)).without_empty_columns()
}

/// Requests per second of CPU time. The upper end of the interval may be missing.
fn value(arm: &MeshMarkArm) -> Option<Quantity> {
    let value = arm.value_for_cost?;
    let basis =
        if value.estimate.is_some() && value.high.is_some() { Basis::Measured } else { Basis::Bounded };
    Some(Quantity {
        estimate: value.estimate,
        low: Some(value.low),
        high: value.high,
        ..Quantity::empty("requests/s", Form::Level, basis)
    })
}

#[cfg(test)]
mod tests {
    use hoptax_result::{MeshMarkBody, Verdict};

    use super::*;
    use crate::chart::Chart;
    use crate::document::Block;
    use crate::fixture::STYLE;
    use crate::render::terminal;

    fn arm(name: &str, value_for_cost: Option<ValueForCost>) -> MeshMarkArm {
        MeshMarkArm {
            arm: name.to_owned(),
            load: "saturation".to_owned(),
            cpu_mue: Some(0.5),
            memory_mue: Some(0.9),
            product: Some(35.0),
            mean: Some(70.0),
            value_for_cost,
            asks_companion: false,
        }
    }

    fn result(arms: Vec<MeshMarkArm>) -> MeshMarkResult {
        MeshMarkResult::new((), MeshMarkBody { study: "quick".to_owned(), confidence: 0.95, arms })
    }

    #[test]
    fn marks_and_values_with_and_without_an_upper_end() {
        let value = |estimate, low, high| Some(ValueForCost { estimate, low, high });
        let unknown =
            MeshMarkArm { cpu_mue: None, memory_mue: None, product: None, mean: None, ..arm("direct", None) };
        let companion =
            MeshMarkArm { asks_companion: true, ..arm("ext-authz", value(Some(1e4), 9e3, Some(1.2e4))) };
        let result = result(vec![
            unknown,
            arm("lua", value(Some(50_000.0), 48_780.4, Some(51_282.1))),
            arm("route", value(Some(1e6), 2e5, None)),
            arm("same", value(None, 3e5, None)),
            companion,
        ]);
        let plots = meshmark(&result).plots;
        let [Block::Note(_), Block::Chart(values), Block::Chart(marks)] = &plots[0].blocks[..] else {
            panic!("{plots:?}")
        };
        let rows = |chart: &Chart| match chart {
            Chart::Intervals(of) => of.rows.len(),
            other => panic!("{other:?}"),
        };
        assert_eq!((rows(values), rows(marks)), (4, 4), "of five arms, one has neither");
        let text = terminal::screen(&meshmark(&result), STYLE);
        assert!(text.lines().count() <= 40 && text.lines().all(|line| line.chars().count() <= 100), "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn a_void_study_is_said() {
        let void = MeshMarkResult { verdict: Verdict::Void, ..result(vec![arm("lua", None)]) };
        let text = |result: &MeshMarkResult| terminal::screen(&meshmark(result), STYLE);
        assert!(text(&void).contains("void: values and marks cannot be used"));
        assert!(!text(&result(vec![arm("lua", None)])).contains("void"));
    }
}
