//! Reads Parquet files in a separate process: the library panics on damaged files, and trusts the sizes in them.

use std::env;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use hoptax_host::limits::confine;
use hoptax_tools::csv_of_parquet;

use crate::failure::Failure;
use crate::input::refused;

/// The hidden command of that process. It prints what [`parquet_on_stdin`] returns, and succeeds only with a table.
const COMMAND: [&str; 2] = ["convert", "parquet-to-csv"];
/// The exit code of that process after the reason why there is no table: that of invalid input. A process that ends with another one may
/// have printed a part of the table.
pub const NO_TABLE: i32 = 2;
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
    let no_table =
        |reason: String| refused(file, &[format!("it is not a Parquet file that can be read: {reason}")]);
    table(&output).map_err(no_table)
}

/// The table that the process printed, or the reason why there is none.
fn table(output: &Output) -> Result<String, String> {
    let text = String::from_utf8_lossy(&output.stdout);
    match output.status.code() {
        Some(0) => Ok(text.into_owned()),
        Some(NO_TABLE) => Err(text.trim_end().to_owned()),
        _ => Err(format!("it is damaged, or needs over {MOST_MEMORY_BYTES} bytes of memory")),
    }
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

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::*;

    #[test]
    fn a_part_of_a_table_is_no_reason() {
        let ended = |wait_status: i32, printed: &str| {
            let status = ExitStatus::from_raw(wait_status);
            table(&Output { status, stdout: printed.as_bytes().to_vec(), stderr: Vec::new() })
        };
        let exited = |code: i32, printed: &str| ended(code << 8, printed);
        assert_eq!(exited(0, "arm\nlua\n"), Ok("arm\nlua\n".to_owned()));
        assert_eq!(exited(NO_TABLE, "no footer\n"), Err("no footer".to_owned()));
        // The code of a failed write, that of a panic, and a signal.
        for damaged in [exited(3, "arm\nlua\n"), exited(101, "arm\n"), ended(9, "arm\n")] {
            assert!(damaged.unwrap_err().starts_with("it is damaged, or needs over "));
        }
    }
}
