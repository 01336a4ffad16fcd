//! `hoptax trust checks`: lists and explains the validity checks and their thresholds.

use hoptax_checks::about;

use crate::arguments::{ChecksAction, ChecksArguments};
use crate::exit::{Code, Failure};
use crate::print;

/// Runs the command.
pub(crate) fn run(arguments: &ChecksArguments) -> Result<Code, Failure> {
    match (&arguments.action, arguments.thresholds, arguments.json) {
        (Some(ChecksAction::Explain { id }), ..) => {
            print::list(&about::find(id).map_err(Failure::bad_input)?.explained())?;
        }
        (None, true, true) => print::value(&about::thresholds_as_json())?,
        (None, true, false) => print::list(&about::listed_thresholds())?,
        (None, false, true) => print::value(&about::all())?,
        (None, false, false) => print::list(&about::listed())?,
    }
    Ok(Code::Success)
}
