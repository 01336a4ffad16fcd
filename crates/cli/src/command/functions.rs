//! `hoptax functions`: lists the functions of the catalogue, with their listed prices.

use hoptax_session::functions;

use crate::arguments::{FunctionsAction, FunctionsArguments};
use crate::exit::{Code, Failure};
use crate::print;

/// Runs the command.
pub(crate) fn run(arguments: &FunctionsArguments) -> Result<Code, Failure> {
    match &arguments.action {
        Some(FunctionsAction::Show { id }) if arguments.json => {
            print::value(&functions::described_as_json(id)?)?;
        }
        Some(FunctionsAction::Show { id }) => print::list(&functions::described(id)?)?,
        None if arguments.json => print::value(&functions::list_as_json()?)?,
        None => print::list(&functions::list()?)?,
    }
    Ok(Code::Success)
}
