//! `hoptax convert log`: prints a raw log as CSV.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, ErrorKind};
use std::path::PathBuf;

use clap::{Args, ValueHint};
use hoptax_load::log::{LogError, write_csv};

use crate::exit::{Code, Failure};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hoptax load -q 1000 --log requests.log http://127.0.0.1:8080/
  hoptax convert log requests.log > requests.csv")]
pub(crate) struct LogArguments {
    /// Log file of `hoptax load --log`
    #[arg(value_hint = ValueHint::FilePath)]
    file: PathBuf,
}

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
