//! `hoptax predict scale`: fits how the rate of a study's arms grows with a size.

use std::path::Path;

use hoptax_report::documents;
use hoptax_result::{ScaleResult, StudyResult, Verdict};
use hoptax_session::results::read;

use crate::arguments::ScaleArguments;
use crate::exit::{Code, Failure};
use crate::print;

/// The result in a run folder.
const RESULT: &str = "result.json";

/// Runs the command.
pub(crate) fn run(arguments: &ScaleArguments) -> Result<Code, Failure> {
    let study = study(&arguments.result)?;
    let result = hoptax_predict::scale::scale(&study, arguments.over.into()).map_err(Failure::bad_input)?;
    print::document_or_json(arguments.json.file(), &result, || documents::scale(&result))?;
    Ok(code(&result))
}

/// Reads the result of a study from its file or its run folder.
fn study(path: &Path) -> Result<StudyResult, Failure> {
    if path.is_dir() { read(&path.join(RESULT)) } else { read(path) }
}

fn code(result: &ScaleResult) -> Code {
    let has_fit = result.series.iter().any(|series| series.fit.is_some());
    if result.verdict == Verdict::Void || !has_fit { Code::Void } else { Code::Success }
}
