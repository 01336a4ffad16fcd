//! `hoptax compare`: measures subjects side by side, and decides if they differ.

use std::path::Path;

use hoptax_report::document::Document;
use hoptax_report::documents;
use hoptax_result::{Body, Report};
use hoptax_session::compare::{Compared, Comparison, ComparisonSettings, compare};

use crate::arguments::CompareArguments;
use crate::exit::{Code, Failure};
use crate::{interrupt, print, progress};

/// Runs the command.
pub(crate) fn run(arguments: &CompareArguments) -> Result<Code, Failure> {
    let CompareArguments { run, .. } = arguments;
    let settings = ComparisonSettings {
        subjects: &arguments.subjects,
        margin_share: arguments.margin,
        until_decided: arguments.until_decided,
        rounds: run.rounds,
        folder: run.out.as_deref(),
        options: run.measure.options(),
    };
    let interrupt = interrupt::listen()?;
    let Compared { comparison, folder } = progress::shown(|say| compare(&settings, &interrupt, say))?;
    match comparison {
        Comparison::Subjects(result) => print(arguments, &result, || documents::comparison(&result), &folder),
        Comparison::Studies(result) => {
            print(arguments, &result, || documents::studies_comparison(&result), &folder)
        }
    }
}

fn print<T: Body>(
    arguments: &CompareArguments,
    result: &Report<T>,
    document: impl FnOnce() -> Document,
    folder: &Path,
) -> Result<Code, Failure> {
    print::document_or_json(arguments.run.json.file(), result, || {
        document().in_folder(folder, "report.html")
    })?;
    Ok(Code::from(result.verdict))
}
