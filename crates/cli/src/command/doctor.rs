//! `hoptax trust doctor`: says what this machine can and cannot measure.

use std::path::Path;

use hoptax_report::documents;
use hoptax_session::doctor::diagnose;

use crate::arguments::DoctorArguments;
use crate::exit::{Code, Failure};
use crate::print;

/// Runs the command.
pub(crate) fn run(arguments: &DoctorArguments) -> Result<Code, Failure> {
    let diagnosis = diagnose()?;
    let file = arguments.json.file();
    if file != Some(Path::new("-")) {
        print::document(&documents::diagnosis(&diagnosis))?;
    }
    if let Some(path) = file {
        print::write_value(path, &diagnosis)?;
    }
    Ok(if diagnosis.lacks_essentials() { Code::Environment } else { Code::Success })
}
