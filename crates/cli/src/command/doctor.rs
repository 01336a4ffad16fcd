//! `hoptax trust doctor`: reports what this machine can and cannot measure.

use clap::Args;
use hoptax_report::documents;
use hoptax_session::doctor::diagnose;

use crate::arguments::shared::JsonArguments;
use crate::exit::{Code, Failure};
use crate::print;

#[derive(Debug, Args)]
#[command(after_help = "\
Looks at processors, wake-ups, other work, limits, privileges and programs for about a second.
It installs nothing and changes nothing.

Examples:
  hoptax trust doctor
  hoptax trust doctor --json -

Exit codes:
  0  loads can be sent and CPU costs measured, perhaps with limits
  3  a requirement of these is missing, such as Envoy")]
pub(crate) struct DoctorArguments {
    #[command(flatten)]
    json: JsonArguments,
}

/// Runs the command.
pub(crate) fn run(arguments: &DoctorArguments) -> Result<Code, Failure> {
    let result = diagnose()?;
    print::document_or_json(arguments.json.file(), &result, || documents::doctor(&result))?;
    Ok(if result.lacks_essentials() { Code::Environment } else { Code::Success })
}
