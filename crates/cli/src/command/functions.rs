//! `hoptax functions`: lists the functions of the catalogue, and shows one with its listed price.

use clap::{Args, Subcommand};
use hoptax_report::documents;
use hoptax_session::functions;

use crate::arguments::shared::ListArguments;
use crate::exit::{Code, Failure};
use crate::print;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax functions                  the names of all functions, by family
  hoptax functions --details        what each does, and its knobs
  hoptax functions show jwt         configuration, knobs and listed price

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
        Some(FunctionsAction::Show { id }) if !arguments.list.is_json => {
            print::list(&functions::described(id)?)?;
        }
        action => {
            let id = action.as_ref().map(|FunctionsAction::Show { id }| id.as_str());
            let result = functions::listed(id)?;
            print::document_or_json(arguments.list.file(), &result, || documents::functions(&result))?;
        }
    }
    Ok(Code::Success)
}
