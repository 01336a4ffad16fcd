//! `hoptax compare`: measures subjects side by side and decides whether they differ.

use std::path::Path;

use hoptax_report::document::Document;
use hoptax_report::documents;
use hoptax_result::{Body, Report};
use hoptax_session::Options;
use hoptax_session::compare::{Compared, Comparison, Wanted, compare};

use crate::arguments::CompareArguments;
use crate::exit::{Code, Failure};
use crate::interrupt;
use crate::print;
use crate::progress::StudyOnTerminal;

/// Runs the command.
pub(crate) fn run(arguments: &CompareArguments) -> Result<Code, Failure> {
    let interrupt = interrupt::listen()?;
    let wanted = Wanted {
        subjects: &arguments.subjects,
        margin_share: arguments.margin,
        until_decided: arguments.until_decided,
        rounds: arguments.rounds,
        folder: arguments.out.as_deref(),
        options: Options {
            envoy: arguments.measure.envoy.as_deref(),
            never_halt: arguments.measure.never_halt.into(),
            thresholds: &arguments.measure.thresholds,
            ..Options::default()
        },
    };
    let terminal = StudyOnTerminal::default();
    let Compared { comparison, folder } = compare(&wanted, &interrupt, &|update| terminal.show(update))?;
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
    print::document_or_json(arguments.json.file(), result, || document().in_folder(folder, "report.html"))?;
    Ok(Code::of(result.verdict))
}
