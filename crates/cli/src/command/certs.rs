//! `hoptax lab certs`: creates a certificate authority and certificates for tests.

use hoptax_certs::folder::{FolderError, write};

use crate::arguments::CertsArguments;
use crate::exit::{Code, Failure};
use crate::print;

/// Runs the command.
pub(crate) fn run(arguments: &CertsArguments) -> Result<Code, Failure> {
    let CertsArguments { folder, names, valid, force } = arguments;
    let seconds = i64::try_from(valid.as_secs()).unwrap_or(i64::MAX / 4);
    let written = write(folder, names, seconds, *force).map_err(|error| match error {
        FolderError::Exists(_) | FolderError::Certificate(_) => Failure::bad_input(error),
        FolderError::Write { .. } => Failure::environment(error),
    })?;
    written.iter().try_for_each(|path| print::result(&path.display().to_string()))?;
    Ok(Code::Success)
}
