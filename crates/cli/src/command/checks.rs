//! `hoptax trust checks`: lists and explains the validity checks and their thresholds.

use clap::{Args, Subcommand};
use hoptax_checks::about;
use hoptax_report::documents::{self, ChecksBody, ChecksResult};

use crate::arguments::shared::ListArguments;
use crate::exit::{Code, Failure};
use crate::print;

#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  hoptax trust checks                     the names of all checks, by what they judge
  hoptax trust checks --details           what each protects from, and all thresholds
  hoptax trust checks explain send-lag    explain one check, with its source"
)]
pub(crate) struct ChecksArguments {
    #[command(subcommand)]
    action: Option<ChecksAction>,
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
    if let Some(ChecksAction::Explain { id }) = &arguments.action {
        print::list(&about::find(id).map_err(Failure::bad_input)?.explained())?;
    } else {
        let result = ChecksResult::new((), ChecksBody::of_this_program());
        print::document_or_json(arguments.list.file(), &result, || documents::checks(&result))?;
    }
    Ok(Code::Success)
}
