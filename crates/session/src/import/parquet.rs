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
const NO_TABLE: i32 = 2;
/// Its exit code if this machine refuses it something, which it says on stderr.
const LACKS_SOMETHING: i32 = 3;
/// The most memory that it may use.
const MOST_MEMORY_BYTES: u64 = 1 << 30;
/// The longest that it may compute.
const MOST_PROCESSOR_S: u64 = 60;

/// The table in a Parquet file as CSV; `-` is stdin.
///
/// # Errors
/// When the file cannot be opened, the process cannot be started or lacks something, or it reads no table.
pub(super) fn csv(file: &Path) -> Result<String, Failure> {
    let input = if file == Path::new("-") {
        Stdio::inherit()
    } else {
        Stdio::from(File::open(file).map_err(|error| Failure::cannot_read(file, error))?)
    };
    let run = || Command::new(env::current_exe()?).args(COMMAND).stdin(input).output();
    let output = run().map_err(|error| lacking(file, &error.to_string()))?;
    table(file, &output)
}

/// The table that the process printed.
fn table(file: &Path, output: &Output) -> Result<String, Failure> {
    let text = String::from_utf8_lossy(&output.stdout);
    let no_table =
        |reason: &str| refused(file, &[format!("it is not a Parquet file that can be read: {reason}")]);
    match output.status.code() {
        Some(0) => Ok(text.into_owned()),
        Some(NO_TABLE) => Err(no_table(text.trim_end())),
        Some(LACKS_SOMETHING) => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(lacking(file, said.trim_end().trim_start_matches("hoptax: ")))
        }
        // What a panic prints would help only developers of the library.
        _ => Err(no_table(&format!(
            "it is damaged, or needs over {} MiB of memory or {MOST_PROCESSOR_S} s",
            MOST_MEMORY_BYTES >> 20
        ))),
    }
}

/// The failure of the process for a reason that is not in the file.
fn lacking(file: &Path, reason: &str) -> Failure {
    Failure::environment(format!("`{}`: the process that reads it failed: {reason}", file.display()))
}

/// The table in the Parquet file on stdin as CSV, or the reason why it has none. Limits the memory and the time of this process.
///
/// # Errors
/// When the kernel refuses a limit.
pub fn parquet_on_stdin() -> Result<Result<String, String>, Failure> {
    confine(MOST_MEMORY_BYTES, MOST_PROCESSOR_S).map_err(Failure::environment)?;
    let mut file = Vec::new();
    let read = io::stdin().read_to_end(&mut file).map_err(|error| error.to_string());
    Ok(read.and_then(|_| csv_of_parquet(file)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::*;
    use crate::failure::Kind;

    #[test]
    fn a_part_of_a_table_is_no_reason_and_what_the_machine_refuses_is_no_fault_of_the_file() {
        let ended = |wait_status: i32, printed: &str, said: &str| {
            let status = ExitStatus::from_raw(wait_status);
            let output = Output { status, stdout: printed.into(), stderr: said.into() };
            table(Path::new("x"), &output).map_err(|failure| (failure.kind, failure.to_string()))
        };
        assert_eq!(ended(0, "arm\nlua\n", ""), Ok("arm\nlua\n".to_owned()));
        let refused = "`x`: it is not a Parquet file that can be read: ";
        let damage = format!("{refused}it is damaged, or needs over 1024 MiB of memory or 60 s");
        let no_footer = ended(NO_TABLE << 8, "no footer\n", "");
        assert_eq!(no_footer, Err((Kind::BadInput, format!("{refused}no footer"))));
        // The code of a panic, and a signal.
        for damaged in [ended(101 << 8, "arm\n", "panicked"), ended(9, "arm\n", "")] {
            assert_eq!(damaged, Err((Kind::BadInput, damage.clone())));
        }
        let full = ended(LACKS_SOMETHING << 8, "arm\nlua\n", "hoptax: cannot write to stdout: disk full\n");
        let message = "`x`: the process that reads it failed: cannot write to stdout: disk full".to_owned();
        assert_eq!(full, Err((Kind::Environment, message)));
    }
}
