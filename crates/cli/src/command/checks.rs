//! `hoptax trust checks`: lists and explains the validity checks and their thresholds.

use clap::{Args, Subcommand};
use hoptax_checks::about;

use crate::arguments::shared::ListArguments;
use crate::exit::{Code, Failure};
use crate::print;

#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  hoptax trust checks                     list all checks and what they protect from
  hoptax trust checks explain send-lag    explain one check, with its source"
)]
pub(crate) struct ChecksArguments {
    #[command(subcommand)]
    action: Option<ChecksAction>,
    /// List thresholds instead of checks
    #[arg(long)]
    thresholds: bool,
    #[command(flatten)]
    list: ListArguments,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ChecksAction {
    /// Explain one check
    Explain {
        /// Check id, as in findings
        id: String,
    },
}

/// Runs the command.
pub(crate) fn run(arguments: &ChecksArguments) -> Result<Code, Failure> {
    match (&arguments.action, arguments.thresholds, arguments.list.is_json) {
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
