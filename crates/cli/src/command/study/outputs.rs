//! Writes the output files of a study. A failure to write one does not affect the others.

use std::fs;
use std::path::Path;

use hoptax_report::{histograms, html, markdown};
use hoptax_result::StudyResult;
use hoptax_study::comparison::{USUAL_MARGIN_SHARE, with_named};
use hoptax_study::summary::response_histograms;

use crate::arguments::ExportTable;
use crate::command::tables;

/// The text of an output file, or why there is none; None if the result has nothing to write there.
type Text = Option<Result<String, String>>;

/// An output file: its name and its contents.
type Output = (&'static str, fn(&StudyResult) -> Text);

/// The output files.
const FILES: [Output; 9] = [
    ("result.json", |result| {
        let text = serde_json::to_string_pretty(result).map(|text| text + "\n");
        Some(text.map_err(|error| error.to_string()))
    }),
    ("report.md", |result| Some(Ok(markdown::study(result)))),
    ("report.html", |result| Some(html::study(result).map_err(|error| error.to_string()))),
    ("numbers.csv", |result| tables::csv(result, ExportTable::Numbers).map(Ok)),
    ("slices.csv", |result| tables::csv(result, ExportTable::Slices).map(Ok)),
    ("timeline.csv", |result| tables::csv(result, ExportTable::Timeline).map(Ok)),
    ("histograms.csv", |result| tables::csv(result, ExportTable::Histograms).map(Ok)),
    ("histograms.html", |result| {
        let times = response_histograms(result);
        (!times.is_empty()).then(|| histograms::page(&result.name, &times).map_err(|error| error.to_string()))
    }),
    ("decisions.md", |result| markdown::decisions(&with_named(result, USUAL_MARGIN_SHARE)).map(Ok)),
];

/// Writes all output files; returns one message for each failure.
pub(crate) fn write_all(directory: &Path, result: &StudyResult) -> Vec<String> {
    let mut problems = Vec::new();
    for (name, text) in FILES {
        let Some(text) = text(result) else { continue };
        let path = directory.join(name);
        if let Err(error) = text.and_then(|text| fs::write(&path, text).map_err(|error| error.to_string())) {
            problems.push(format!("cannot write `{}`: {error}", path.display()));
        }
    }
    problems
}
