//! `hoptax functions`: lists the functions of the catalogue, with their listed prices.

use hoptax_session::functions;

use crate::arguments::{FunctionsAction, FunctionsArguments};
use crate::exit::{Code, Failure};
use crate::print;

/// Runs the command.
pub(crate) fn run(arguments: &FunctionsArguments) -> Result<Code, Failure> {
    match &arguments.action {
        Some(FunctionsAction::Show { id }) if arguments.json => {
            print::result(&functions::described_as_json(id)?.to_string())?;
        }
        Some(FunctionsAction::Show { id }) => print::list(&functions::described(id)?)?,
        None if arguments.json => print::result(&functions::list_as_json()?.to_string())?,
        None => print::list(&functions::list()?)?,
    }
    Ok(Code::Success)
}
