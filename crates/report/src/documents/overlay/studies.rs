//! Studies beside each other: the costs of their common arms, and the levels of the reference arms of these.

use std::collections::BTreeSet;

use hoptax_result::{ArmKind, ArmResult, CostMeasure, Decision, Interval, StudyResult};
use hoptax_text::list::named;

use super::Named;
use super::decided::{Compared, Found, MARGIN_SHARE, bounded, chart, decided, notes, table as differences};
use crate::chart::{Chart, Outcome, OverlaidRun, Overlay, OverlayDifference, OverlayRow, OverlayView};
use crate::document::{Block, Document, Section};
use crate::numbers::counted;
use crate::quantity::{Basis, Quantity};
use crate::rows::{Asked, arm_level, baselines, cell, reference_level, rows, unit_name};
use crate::sittings::scaled;
use crate::table::{Cell, Column, Row, Table};
use crate::words::capitalised;

/// Maximum number of arms that a note names.
const NAMED: usize = 6;

/// The word for differing costs that have no decision.
const NOT_DECIDED: &str = "not decided";

/// The title of the levels.
const LEVELS: &str = "levels of the arms that costs are differences from";

/// The document of studies. The first is the reference. None if no arm has a cost in two of them.
pub(super) fn overlaid(runs: &[Named<'_, StudyResult>]) -> Option<Document> {
    let (reference, others) = runs.split_first()?;
    let arms: Vec<&ArmResult> = rows(reference.result)
        .into_iter()
        .map(|row| row.arm)
        .filter(|arm| arm.compared_with.is_some() && arm.kind != ArmKind::Direct)
        .collect();
    let measures = || CostMeasure::all().into_iter().filter(|measure| *measure != CostMeasure::CpuShare);
    let views: Vec<OverlayView> = measures().filter_map(|measure| view(runs, &arms, measure)).collect();
    let first = views.first()?;
    let mut levels = Vec::new();
    for run in others {
        levels.extend(measures().flat_map(|measure| levels_of(reference.result, run, measure)));
    }
    let mut document = Document::new("", "", Vec::new());
    for (place, run) in runs.iter().enumerate().skip(1) {
        // The levels of other reference arms have their own table.
        let is_cpu = |level: &&Compared| level.run == run.name && level.words == CostMeasure::CpuUs.words();
        let level = levels.iter().find(is_cpu);
        let level = level.map(|level| format!("CPU time of `{}` {}", level.part, level.in_words()));
        let parts: Vec<String> = decisions(first, place).into_iter().chain(level).collect();
        let change = parts.join("; ");
        document.answer.push(match parts.as_slice() {
            [] => format!("{} has no cost in {} in common with {}", run.name, first.heading, reference.name),
            _ => format!("{} against {}: {change}", run.name, reference.name),
        });
        if others.len() == 1 && !parts.is_empty() {
            document.changes.push(change);
        }
    }
    document.table = Some(table(runs, first));
    let folded = views.iter().skip(1).map(|view| Section::folded(table(runs, view)));
    document.sections.extend(differences(LEVELS.to_owned(), "arm", &reference.name, None, &levels));
    document.sections.extend(folded);
    document.notes.extend(not_in_all(runs));
    document.notes.extend(notes(&reference.name));
    let mut rows = views.iter().flat_map(|view| &view.rows);
    if rows.any(|row| (1..runs.len()).any(|place| is_not_decided(row, place))) {
        document.notes.push(format!(
            "{NOT_DECIDED}: the numbers differ and their intervals have no width, or the level of their reference arm is unknown or may be \
             zero"
        ));
    }
    let title = "Costs of the same arms in each run";
    let names = runs.iter().map(|run| OverlaidRun { name: run.name.clone(), tone: run.tone }).collect();
    let overlay = Chart::Overlay(Overlay { title: title.to_owned(), runs: names, views });
    document.plots.push(Section::new(title, vec![Block::chart(overlay)]));
    let axis = format!("difference from {}, %", reference.name);
    let subject = |one: &Compared| match others {
        [_] => one.part.clone(),
        _ => format!("{} in {}", one.part, one.run),
    };
    document.plots.extend(chart(&capitalised(LEVELS), axis, &levels, subject));
    Some(document)
}

/// The costs of all arms in a measure; none if no arm has one in two runs.
fn view(runs: &[Named<'_, StudyResult>], arms: &[&ArmResult], measure: CostMeasure) -> Option<OverlayView> {
    let mut found: Vec<(OverlayRow, Option<Interval>)> =
        arms.iter().map(|arm| row(runs, arm, measure)).collect();
    found.retain(|(row, _)| row.costs.iter().any(Option::is_some));
    let has_differences = found.iter().any(|(row, _)| {
        row.differences.iter().any(Option::is_some) || (1..runs.len()).any(|place| is_not_decided(row, place))
    });
    if !has_differences {
        return None;
    }
    let mut margins = found.iter().filter_map(|(_, level)| *level).map(|level| MARGIN_SHARE * level.estimate);
    let margin = margins.next();
    let is_same = margin.is_some_and(|margin| margins.all(|other| (other - margin).abs() < 1e-9 * margin));
    Some(OverlayView {
        heading: measure.name().to_owned(),
        axis: measure.words().to_owned(),
        margin: margin.filter(|_| is_same),
        rows: found.into_iter().map(|(row, _)| row).collect(),
    })
}

/// The arm of a run with the same id and the same reference arm as `arm`.
fn counterpart<'a>(run: &Named<'a, StudyResult>, arm: &ArmResult) -> Option<&'a ArmResult> {
    run.result.arm(&arm.id).filter(|own| own.compared_with == arm.compared_with)
}

/// An arm of the reference in each run, and the level in the reference study of which its differences are shares.
fn row(
    runs: &[Named<'_, StudyResult>],
    arm: &ArmResult,
    measure: CostMeasure,
) -> (OverlayRow, Option<Interval>) {
    let of = |run: &Named<'_, StudyResult>| {
        let own = counterpart(run, arm)?;
        let asked = Asked { measure, load: None, is_measurable: !own.hops.is_empty() };
        match cell(run.result, own, &asked, measure.interval(&own.cost)) {
            Cell::Quantity(quantity) => Some(quantity),
            Cell::Empty | Cell::Text(_) => None,
        }
    };
    let interval =
        |run: &Named<'_, StudyResult>| Some(scaled(measure.interval(&counterpart(run, arm)?.cost)?, measure));
    let reference = runs.first();
    let of_reference = reference.and_then(interval);
    let compared_with = arm.compared_with.as_deref().unwrap_or_default();
    let level = reference.and_then(|run| reference_level(run.result, arm, measure));
    let costs: Vec<Option<Quantity>> = runs.iter().map(of).collect();
    let first = costs.first().and_then(Option::as_ref);
    let by_bounds = |cost: Option<&Quantity>| {
        let (first, cost, level) = (first?, cost?, Quantity::level(&level?, unit_name(measure)));
        let is_bounded = [first, cost].iter().any(|one| one.basis == Basis::Bounded);
        let value = bounded(first, cost).filter(|_| is_bounded)?;
        let text = format!("{} of {compared_with}", value.bounded_share(&level).with_unit());
        Some(OverlayDifference { value, text, outcome: Outcome::Undecided })
    };
    let difference = |run: &Named<'_, StudyResult>| {
        let found = decided(&of_reference?, &interval(run)?, &level?)?;
        Some(OverlayDifference {
            value: Quantity::difference(&found.difference, unit_name(measure)),
            text: format!("{} of {compared_with}", found.percent().with_unit()),
            outcome: found.decision.into(),
        })
    };
    let others = runs.iter().zip(&costs).skip(1);
    let found = others.map(|(run, cost)| difference(run).or_else(|| by_bounds(cost.as_ref())));
    let differences = std::iter::once(None).chain(found).collect();
    let row = OverlayRow { name: arm.id.clone(), summary: arm.summary.clone(), costs, differences };
    (row, level)
}

/// The levels of all reference arms in a measure.
fn levels_of(reference: &StudyResult, run: &Named<'_, StudyResult>, measure: CostMeasure) -> Vec<Compared> {
    let one = |arm: &ArmResult| {
        let of_reference = arm_level(arm, measure)?;
        let other = arm_level(run.result.arm(&arm.id)?, measure)?;
        let found = decided(&of_reference, &other, &of_reference)?;
        Some(Compared {
            run: run.name.clone(),
            part: arm.id.clone(),
            measure: measure.name().to_owned(),
            words: measure.words().to_owned(),
            unit: unit_name(measure),
            reference: Quantity::level(&of_reference, unit_name(measure)),
            found: Found::Decided(found),
        })
    };
    baselines(reference).into_iter().filter_map(one).collect()
}

/// How many costs of a run differ, and which of the differing costs differs most; none without a difference.
fn decisions(view: &OverlayView, place: usize) -> Option<String> {
    let all: Vec<(&OverlayRow, &OverlayDifference)> =
        view.rows.iter().filter_map(|row| Some((row, row.differences.get(place)?.as_ref()?))).collect();
    if all.is_empty() {
        return None;
    }
    let count = |outcome: Outcome| all.iter().filter(|(_, one)| one.outcome == outcome).count();
    let size = |one: &OverlayDifference| one.value.estimate.unwrap_or_default().abs();
    // A larger difference without a decision may be due to chance.
    let decided = all.iter().filter(|(_, one)| one.outcome == Outcome::Different);
    let largest = decided.max_by(|(_, one), (_, other)| size(one).total_cmp(&size(other)));
    let [different, equivalent, undecided] =
        [Decision::Different, Decision::Equivalent, Decision::Undecided].map(|one| count(one.into()));
    let of_all = format!(
        "of {} in {}, {different} different, {equivalent} equivalent, {undecided} undecided",
        counted(all.len() as u64, "cost"),
        view.heading
    );
    let largest = largest.map(|(row, one)| {
        format!(" (the largest difference is that of `{}`: {})", row.name, one.value.with_unit())
    });
    Some(of_all + &largest.unwrap_or_default())
}

/// The costs of a measure: a column for each run, then the difference of each from the reference with the decision.
fn table(runs: &[Named<'_, StudyResult>], view: &OverlayView) -> Table {
    let others: Vec<&Named<'_, StudyResult>> = runs.iter().skip(1).collect();
    let mut columns: Vec<Column> = runs.iter().map(|run| Column::new(run.name.clone(), 2)).collect();
    for run in &others {
        let of =
            |word: &str| if others.len() == 1 { word.to_owned() } else { format!("{}: {word}", run.name) };
        columns.push(Column::new(of("difference"), 1));
        columns.push(Column::text(of("decision"), 0));
    }
    let row = |row: &OverlayRow| {
        let mut cells: Vec<Cell> = row.costs.iter().cloned().map(Cell::from).collect();
        for (place, difference) in row.differences.iter().enumerate().skip(1) {
            let (value, decision) = match difference {
                None if is_not_decided(row, place) => (Cell::Empty, Cell::words(NOT_DECIDED)),
                Some(one) => (Cell::Quantity(one.value.clone()), Cell::words(words(one.outcome))),
                None => (Cell::Empty, Cell::Empty),
            };
            cells.extend([value, decision]);
        }
        Row { summary: row.summary.clone(), ..Row::new(row.name.clone(), cells) }
    };
    Table::new(format!("costs in each run: {}", view.axis), "arm", columns, view.rows.iter().map(row))
}

/// True if the costs of a run and of the reference differ, but a decision is impossible because they lack intervals.
fn is_not_decided(row: &OverlayRow, place: usize) -> bool {
    let cost = |place: usize| row.costs.get(place)?.as_ref()?.estimate;
    let is_open = row.differences.get(place).is_some_and(Option::is_none);
    is_open && cost(0).zip(cost(place)).is_some_and(|(one, other)| (other - one).abs() > 0.0)
}

fn words(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Different => "different",
        Outcome::Equivalent => "equivalent",
        Outcome::Undecided => "undecided",
        Outcome::Failed => "failed",
        Outcome::Passed => "passed",
    }
}

/// The arms that some run lacks or compares with another arm; none if there are none.
fn not_in_all(runs: &[Named<'_, StudyResult>]) -> Option<String> {
    let arms = runs.iter().flat_map(|run| &run.result.arms);
    let lacking: BTreeSet<&str> = arms
        .filter(|arm| runs.iter().any(|run| counterpart(run, arm).is_none()))
        .map(|arm| arm.id.as_str())
        .collect();
    let lacking: Vec<&str> = lacking.into_iter().collect();
    (!lacking.is_empty()).then(|| {
        let count = counted(lacking.len() as u64, "arm");
        format!("{count} not in every run, or compared with another arm there: {}", named(&lacking, NAMED))
    })
}
