//! Reads Parquet files in a separate process: the library panics on damaged files, and trusts the sizes in them.

use std::env;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Command, Stdio};

use hoptax_host::limits::confine;
use hoptax_tools::csv_of_parquet;

use crate::failure::Failure;
use crate::input::refused;

/// The hidden command of that process. It prints what [`parquet_on_stdin`] returns, and succeeds only with a table.
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
    if output.status.success() {
        return Ok(text.into_owned());
    }
    let reason = match text.trim_end() {
        // A process that a signal ended may have printed a part of the table.
        reason if !reason.is_empty() && output.status.code().is_some() => reason.to_owned(),
        _ => format!("it is damaged, or needs over {MOST_MEMORY_BYTES} bytes of memory"),
    };
    Err(refused(file, &[format!("it is not a Parquet file that can be read: {reason}")]))
}

/// The table in the Parquet file on stdin as CSV, or the reason why it has none. Limits the memory and the time of this process.
///
/// # Errors
/// When the kernel refuses a limit.
pub fn parquet_on_stdin() -> Result<Result<String, String>, Failure> {
    confine(MOST_MEMORY_BYTES, MOST_PROCESSOR_S).map_err(Failure::environment)?;
    let mut file = Vec::new();
    let read = io::stdin().read_to_end(&mut file).map_err(|error| format!("it cannot be read: {error}"));
    Ok(read.and_then(|_| csv_of_parquet(file)))
}
