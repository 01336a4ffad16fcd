//! Reads Parquet files for `hoptax convert import` in a separate process: the library panics on damaged files, and trusts the sizes in
//! them.

use std::env;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Command, Stdio};

use hoptax_host::limits::confine;
use hoptax_tools::csv_of_parquet;

use super::input::refused;
use crate::exit::{Code, Failure};
use crate::print;

/// The hidden command of that process.
const COMMAND: [&str; 2] = ["convert", "parquet-to-csv"];
/// The most memory that it may use.
const MOST_MEMORY_BYTES: u64 = 1 << 30;
/// The longest that it may compute.
const MOST_PROCESSOR_S: u64 = 60;

/// The table in a Parquet file as CSV; `-` is stdin.
///
/// # Errors
/// When the file cannot be opened, the process cannot be started, or it reads no table.
pub(super) fn csv(file: &Path) -> Result<String, Failure> {
    let run = || {
        let input = if file == Path::new("-") { Stdio::inherit() } else { Stdio::from(File::open(file)?) };
        // A panic message would help only developers of the library.
        Command::new(env::current_exe()?).args(COMMAND).stdin(input).stderr(Stdio::null()).output()
    };
    let output = run().map_err(|error| Failure::cannot_read(file, error))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let reason = match output.status.code() {
        Some(code) if code == Code::Success as i32 => return Ok(text.into_owned()),
        Some(code) if code == Code::BadInput as i32 => text.trim_end().to_owned(),
        _ => format!("it is damaged, or needs over {MOST_MEMORY_BYTES} bytes of memory"),
    };
    Err(refused(file, &[format!("it is not a Parquet file that can be read: {reason}")]))
}

/// Runs the hidden command: a Parquet file on stdin, CSV on stdout, or there the reason with the exit code of invalid input.
pub(crate) fn run() -> Result<Code, Failure> {
    confine(MOST_MEMORY_BYTES, MOST_PROCESSOR_S).map_err(Failure::environment)?;
    let mut file = Vec::new();
    let read = io::stdin().read_to_end(&mut file).map_err(|error| format!("it cannot be read: {error}"));
    match read.and_then(|_| csv_of_parquet(file)) {
        Ok(text) => print::result(&text).map(|()| Code::Success),
        Err(reason) => print::result(&reason).map(|()| Code::BadInput),
    }
}
