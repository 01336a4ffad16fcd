//! The runs that a result was merged from.

use hoptax_result::{Merged, TimeOf};

use super::cells::{cell, rate};
use crate::numbers::grouped;
use crate::table::Table;

/// The number of runs in the result, if some of the named runs are missing: ` of 2 of 3 runs`.
pub(super) fn incomplete(merged: &Merged) -> Option<String> {
    let all = merged.runs.len() + merged.left_out.len();
    (!merged.left_out.is_empty()).then(|| format!(" of {} of {all} runs", merged.runs.len()))
}

/// A row for each run, with its start relative to the first run.
pub(super) fn runs(merged: &Merged) -> Table {
    let header = ["run", "start s", "for s", "connections", "answered/s", "p50 us", "p99 us", "verdict"];
    let mut rows = Vec::new();
    let starts = merged.runs.iter().map(|run| run.recorded_from_unix_s);
    let first_s = starts.fold(f64::INFINITY, f64::min);
    for run in &merged.runs {
        let percentile =
            |of: f64| cell(run.response.known(&run.bounds, TimeOf::Percentile(of)), run.response.count);
        let cells = vec![
            grouped(run.recorded_from_unix_s - first_s, 1),
            grouped(run.recorded_s, 1),
            grouped(run.connections.into(), 0),
            run.rate.achieved.map_or("withheld".to_owned(), rate),
            percentile(50.0),
            percentile(99.0),
            run.verdict.as_str().to_owned(),
        ];
        rows.push((run.file.clone(), cells));
    }
    for run in &merged.left_out {
        let mut cells = vec![String::new(); header.len() - 2];
        cells.push("left out".to_owned());
        rows.push((run.file.clone(), cells));
    }
    Table::of_words("merged runs", header, rows)
}
