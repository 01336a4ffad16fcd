//! `hoptax functions`: lists the functions of the catalogue, with their listed prices.

use clap::{Args, Subcommand};
use hoptax_session::functions;

use crate::arguments::shared::ListArguments;
use crate::exit::{Code, Failure};
use crate::print;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax functions                  all functions, by family
  hoptax functions show jwt         configuration, knobs and listed price
  hoptax functions --json

Functions are those of the stock Envoy, without extensions of its contrib build such as
`per_worker_subset`.")]
pub(crate) struct FunctionsArguments {
    #[command(subcommand)]
    action: Option<FunctionsAction>,
    #[command(flatten)]
    list: ListArguments,
}

#[derive(Debug, Subcommand)]
pub(crate) enum FunctionsAction {
    /// Show the configuration fragment, the knobs and the listed price of a function
    Show {
        /// Function id
        id: String,
    },
}

/// Runs the command.
pub(crate) fn run(arguments: &FunctionsArguments) -> Result<Code, Failure> {
    match &arguments.action {
        Some(FunctionsAction::Show { id }) if arguments.list.is_json => {
            print::value(&functions::described_as_json(id)?)?;
        }
        Some(FunctionsAction::Show { id }) => print::list(&functions::described(id)?)?,
        None if arguments.list.is_json => print::value(&functions::list_as_json()?)?,
        None => print::list(&functions::list()?)?,
    }
    Ok(Code::Success)
}
