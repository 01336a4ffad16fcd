//! The document of several sittings of a study.

use hoptax_result::{CostMeasure, HoldsFor, SittingArm, SittingsResult, StudyResult};

use super::{named_study, sittings_chart};
use crate::document::{Block, Document, FindingText, Judgement, Section};
use crate::next::Next;
use crate::numbers::{counted, difference, percent_difference};
use crate::table::Table;
use crate::{sittings as by_sitting, usable, words};

/// The document of several sittings: all of them combined as the study `one`, and CPU time by sitting. The next step is another sitting, if
/// the study is built in: the file of any other is not known.
pub fn sittings(result: &SittingsResult, one: &StudyResult, is_built_in: bool) -> Document {
    let mut document = named_study(one, is_built_in);
    let tables = by_sitting::tables(result, Some(one), &by_sitting::CPU);
    document.sections.insert(0, sittings_section(result, tables));
    document
}

/// The document of several sittings without the result of their study, with a next step as in [`sittings`].
pub(crate) fn stored_sittings(result: &SittingsResult, is_built_in: bool) -> Document {
    let answer = answer_of_sittings(result);
    let mut document = Document::new(format!("sittings of {}", result.study), "", answer);
    let usable = usable::of_whole("the costs", result.verdict, &result.findings);
    document.verdict = Some(Judgement { verdict: result.verdict, usable });
    document.findings = FindingText::all(&result.findings);
    let mut tables = by_sitting::tables(result, None, &by_sitting::CPU).into_iter();
    document.table = tables.next();
    let another =
        || Next::sitting(&result.study, "measures another sitting, some hours later, and combines all");
    document.next = is_built_in.then(another);
    document.notes.extend(document.table.as_ref().and_then(Table::meaning_of_mark));
    document.plots.extend(sittings_chart::chart(result));
    document.sections.push(sittings_section(result, tables.collect()));
    document
}

/// The arm with the highest cost over all sittings, and the scope of its interval.
fn answer_of_sittings(result: &SittingsResult) -> Vec<String> {
    let sittings = counted(result.sittings.len() as u64, "sitting");
    let cost = |arm: &SittingArm, measure: CostMeasure| {
        let cost = arm.costs.iter().find(|cost| cost.measure == measure && cost.load.is_none())?;
        cost.combined
    };
    let us = |arm: &SittingArm| cost(arm, CostMeasure::CpuUs);
    let estimate = |arm: &SittingArm| us(arm).map_or(f64::NEG_INFINITY, |cost| cost.estimate);
    let dearest = result.arms.iter().max_by(|one, other| estimate(one).total_cmp(&estimate(other)));
    let Some((arm, us)) = dearest.and_then(|arm| Some((arm, us(arm)?))) else {
        return vec![format!("{sittings} of {}: no sitting states a cost in CPU time", result.study)];
    };
    let share = cost(arm, CostMeasure::CpuShare)
        .map_or_else(String::new, |share| format!("{}, ", percent_difference(&share)));
    let holds_for = match result.holds_for {
        HoldsFor::Machine => "costs hold for this machine",
        HoldsFor::Sitting => "costs hold for one sitting only",
    };
    vec![
        format!(
            "`{}` adds most to `{}`: {share}{} us of CPU time per request",
            arm.id,
            arm.compared_with,
            difference(&us)
        ),
        format!("{sittings} of {}: {holds_for}", result.study),
    ]
}

/// The sittings, the scope of their intervals, and the tables that the document does not have elsewhere.
fn sittings_section(result: &SittingsResult, tables: Vec<Table>) -> Section {
    let mut blocks = vec![Block::Lines(by_sitting::sittings(result)), Block::Note(by_sitting::holds(result))];
    for table in tables {
        blocks.push(Block::Note(words::capitalised(&table.title)));
        blocks.push(Block::Table(table));
    }
    // One sitting has no variation.
    let heading = if result.sittings.len() > 1 { by_sitting::HEADING } else { "The sitting" };
    Section::new(heading, blocks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sittings::fixture;

    #[test]
    fn sittings_without_their_study_have_each_table_once_and_one_sitting_has_no_variation() {
        let titles = |document: &Document| {
            let blocks = document.sections.iter().flat_map(|section| &section.blocks);
            let tables = blocks.filter_map(|block| match block {
                Block::Table(table) => Some(table.title.clone()),
                _ => None,
            });
            document.table.iter().map(|table| table.title.clone()).chain(tables).collect::<Vec<_>>()
        };
        let words = by_sitting::CPU.map(|measure| measure.words().to_owned());
        for (result, heading) in [(fixture::three(), by_sitting::HEADING), (fixture::one(), "The sitting")] {
            let document = stored_sittings(&result, false);
            assert_eq!(titles(&document), words);
            assert_eq!(document.sections.last().unwrap().title, heading);
        }
    }
}
