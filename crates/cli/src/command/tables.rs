//! The tables of a study by their names.

use clap::ValueEnum;
use hoptax_report::tables::{self, Table};
use hoptax_report::{csv, histograms};
use hoptax_result::StudyResult;
use hoptax_study::summary::response_histograms;

use crate::arguments::ExportTable;

/// A table of a study; none if the study has nothing for it.
pub(super) fn of(result: &StudyResult, table: ExportTable) -> Option<Table> {
    let is_timeline = result.plan.timeline.is_some();
    match table {
        ExportTable::Numbers => Some(tables::numbers(result)),
        ExportTable::Slices => (!is_timeline).then(|| tables::slices(result)),
        ExportTable::Timeline => is_timeline.then(|| tables::timeline(result)),
        ExportTable::Histograms => {
            let times = response_histograms(result);
            (!times.is_empty()).then(|| histograms::table(&times))
        }
    }
}

/// A table as CSV; none if the study has nothing for it.
pub(super) fn csv(result: &StudyResult, table: ExportTable) -> Option<String> {
    of(result, table).map(|table| csv::text(&table))
}

/// The names of the tables of a study.
pub(super) fn names(result: &StudyResult) -> Vec<&'static str> {
    let all = ExportTable::value_variants().iter().copied();
    all.filter(|table| of(result, *table).is_some()).map(ExportTable::as_str).collect()
}
