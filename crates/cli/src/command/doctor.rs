//! `hoptax trust doctor`: reports what this machine can and cannot measure.

use std::path::Path;

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
    let diagnosis = diagnose()?;
    let file = arguments.json.file();
    // A diagnosis is not a result, so `hoptax runs show` cannot print its details from a file.
    if file != Some(Path::new("-")) {
        print::document(&documents::diagnosis(&diagnosis))?;
    }
    print::write_json(file, &diagnosis)?;
    Ok(if diagnosis.lacks_essentials() { Code::Environment } else { Code::Success })
}
