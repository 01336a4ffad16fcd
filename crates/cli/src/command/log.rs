//! `hoptax convert log`: prints a raw log as CSV.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, ErrorKind, Write};

use hoptax_load::log::{Entry, LogError, read_log};

use crate::arguments::LogArguments;
use crate::exit::{Code, Failure};

const COLUMNS: &str = "intended_ns,offered_ns,started_ns,connected_ns,written_ns,first_byte_ns,ended_ns,connection,status,outcome,blocked,connected";

/// Runs the command.
pub(crate) fn run(arguments: &LogArguments) -> Result<Code, Failure> {
    let in_file = |error: &dyn std::fmt::Display| format!("log `{}`: {error}", arguments.file.display());
    let file = File::open(&arguments.file).map_err(|error| Failure::bad_input(in_file(&error)))?;
    match write(BufReader::new(file), BufWriter::new(io::stdout().lock())) {
        // A closed pipe is not an error.
        Err(LogError::Read(error)) if error.kind() == ErrorKind::BrokenPipe => Ok(Code::Success),
        Err(error) => Err(Failure::bad_input(in_file(&error))),
        Ok(()) => Ok(Code::Success),
    }
}

fn write(log: impl io::Read, mut out: impl Write) -> Result<(), LogError> {
    writeln!(out, "{COLUMNS}")?;
    read_log(log, |entry| Ok::<(), LogError>(writeln!(out, "{}", row(entry))?))?;
    Ok(out.flush()?)
}

fn row(entry: &Entry) -> String {
    let moment = |moment: Option<u64>| moment.map_or_else(String::new, |ns| ns.to_string());
    format!(
        "{},{},{},{},{},{},{},{},{},{},{},{}",
        entry.intended_ns,
        moment(entry.offered_ns),
        moment(entry.started_ns),
        moment(entry.connected_ns),
        moment(entry.written_ns),
        moment(entry.first_byte_ns),
        moment(entry.ended_ns),
        entry.connection,
        entry.status,
        entry.outcome.label(),
        entry.blocked,
        entry.connected
    )
}
