//! `hoptax predict scale`: fits how the rate of a study's arms grows with a size.

use hoptax_report::documents;
use hoptax_session::results::read_run;

use crate::arguments::ScaleArguments;
use crate::exit::{Code, Failure};
use crate::print;

/// Runs the command.
pub(crate) fn run(arguments: &ScaleArguments) -> Result<Code, Failure> {
    let study = read_run(&arguments.result)?;
    let result = hoptax_predict::scale::scale(&study, arguments.over).map_err(Failure::bad_input)?;
    print::document_or_json(arguments.json.file(), &result, || {
        documents::scale_of(&result, &arguments.result.display().to_string())
    })?;
    let has_fit = result.series.iter().any(|series| series.fit.is_some());
    Ok(if has_fit { Code::from(result.verdict) } else { Code::Void })
}
