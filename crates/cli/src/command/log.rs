//! `hoptax convert log`: prints a raw log as CSV.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, ErrorKind};

use hoptax_load::log::{LogError, write_csv};

use crate::arguments::LogArguments;
use crate::exit::{Code, Failure};

/// Runs the command.
pub(crate) fn run(arguments: &LogArguments) -> Result<Code, Failure> {
    let in_file = |error: &dyn std::fmt::Display| format!("log `{}`: {error}", arguments.file.display());
    let file = File::open(&arguments.file).map_err(|error| Failure::bad_input(in_file(&error)))?;
    match write_csv(BufReader::new(file), BufWriter::new(io::stdout().lock())) {
        // A closed pipe is not an error.
        Err(LogError::Read(error)) if error.kind() == ErrorKind::BrokenPipe => Ok(Code::Success),
        Err(error) => Err(Failure::bad_input(in_file(&error))),
        Ok(()) => Ok(Code::Success),
    }
}
