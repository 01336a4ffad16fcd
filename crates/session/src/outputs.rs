//! Writes the files of a run folder, and the output files of a study. If one cannot be written, the others still are.

use std::path::Path;

use hoptax_judge::comparison::with_named;
use hoptax_judge::summary::response_histograms;
use hoptax_report::document::Document;
use hoptax_report::render::{OUTPUTS, html, markdown};
use hoptax_report::{documents, histograms};
use hoptax_result::{Body, ComparisonBody, Report, StudyResult};

use crate::failure::Failure;
use crate::library;
use crate::replaced::replace;
use crate::run_files::RESULT;
use crate::tables::StudyTable;

/// The text of an output file, or why there is none; None if the result has no content for it.
type Text = Option<Result<String, String>>;

/// A file: its name and its contents.
type File = (&'static str, fn(&StudyResult) -> Text);

/// The output files besides the report.
const FILES: [File; 7] = [
    (RESULT, |result| {
        let text = serde_json::to_string_pretty(result).map(|text| text + "\n");
        Some(text.map_err(|error| error.to_string()))
    }),
    ("numbers.csv", |result| StudyTable::Numbers.csv(result).map(Ok)),
    ("slices.csv", |result| StudyTable::Slices.csv(result).map(Ok)),
    ("timeline.csv", |result| StudyTable::Timeline.csv(result).map(Ok)),
    ("histograms.csv", |result| StudyTable::Histograms.csv(result).map(Ok)),
    ("histograms.html", |result| {
        let times = response_histograms(result);
        let page = || html::page(&histograms::document(&result.name, &times));
        (!times.is_empty()).then(|| page().map_err(|error| error.to_string()))
    }),
    ("decisions.md", |result| decisions(result).map(|document| Ok(markdown::text(&document)))),
];

/// The decisions about the arms that a study compares with arms that its file names; none if it compares none.
pub fn decisions(result: &StudyResult) -> Option<Document> {
    documents::decisions(&with_named(result, ComparisonBody::USUAL_MARGIN_SHARE), &result.findings)
}

/// Writes all output files, each atomically; returns one message for each failure.
pub fn write_all(directory: &Path, result: &StudyResult) -> Vec<String> {
    let report = documents::named_study(result, library::is_built_in(&result.name));
    let reports =
        OUTPUTS.iter().map(|output| (format!("report.{}", output.extension), (output.text)(&report)));
    // A result may have no content for some files.
    let others = FILES.iter().filter_map(|(name, text)| Some(((*name).to_owned(), text(result)?)));
    let mut problems = Vec::new();
    for (name, text) in others.chain(reports) {
        let path = directory.join(name);
        let written = text.and_then(|text| replace(&path, &text).map_err(|error| error.to_string()));
        if let Err(error) = written {
            problems.push(format!("cannot write `{}`: {error}", path.display()));
        }
    }
    problems
}

/// Writes a text to a run folder atomically.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    replace(path, text).map_err(|error| Failure::cannot_write(path, error))
}

/// Writes a result to a run folder as JSON.
pub(crate) fn write_json<T: Body>(path: &Path, result: &Report<T>) -> Result<(), Failure> {
    write(path, &(serde_json::to_string_pretty(result).map_err(Failure::environment)? + "\n"))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use hoptax_result::sample;

    use super::*;

    #[test]
    fn a_result_that_cannot_be_written_leaves_the_old_one_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(RESULT);
        fs::write(&path, "old").unwrap();
        let result = sample::study("quick", "2026-11-01T00:00:00Z", 5.0);
        let unfinished = path.with_extension("unfinished");
        symlink("/dev/full", &unfinished).unwrap();
        let problems = write_all(folder.path(), &result);
        assert!(problems.iter().any(|problem| problem.contains(RESULT)), "{problems:?}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        fs::remove_file(unfinished).unwrap();
        write_all(folder.path(), &result);
        assert!(fs::read_to_string(&path).unwrap().ends_with("}\n"));
    }

    /// The file of a user's study is not known to its page, which may be read elsewhere.
    #[test]
    fn the_report_of_a_built_in_study_alone_proposes_it_by_its_name() {
        let proposes = |name: &str| {
            let folder = tempfile::tempdir().unwrap();
            write_all(folder.path(), &sample::study(name, "2026-11-01T00:00:00Z", 5.0));
            let report = fs::read_to_string(folder.path().join("report.md")).unwrap();
            report.contains(&format!("hoptax study {name}"))
        };
        assert_eq!(["quick", "ours"].map(proposes), [true, false]);
    }

    #[test]
    fn a_report_is_whole_json_and_a_folder_that_is_missing_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let result = sample::study("quick", "2026-11-01T00:00:00Z", 5.0);
        let path = folder.path().join("gate.json");
        write_json(&path, &result).unwrap();
        let written: StudyResult = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(written.name, result.name);
        let error = write_json(&folder.path().join("none/gate.json"), &result).unwrap_err().to_string();
        assert!(error.contains("cannot write `") && error.contains("none/gate.json"), "{error}");
    }
}
