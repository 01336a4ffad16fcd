//! Runs a command to completion and captures its output, with limits on time and output size.

use std::io::{self, PipeReader, Read};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;

use crate::child::Group;

/// Interval between checks for exit, timeout and interruption.
const POLL_INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 5_000_000 };
/// Maximum output of [`run`], bytes.
const MAX_OUTPUT_BYTES: usize = 1 << 20;

/// The result of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandOutput {
    /// Its exit status.
    pub status: ExitStatus,
    /// Its stdout and stderr, interleaved as written. Invalid UTF-8 is replaced.
    pub text: String,
}

/// An error of [`run`].
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The program cannot be started.
    #[error(transparent)]
    Start(#[from] io::Error),
    /// It did not exit in time.
    #[error("timed out after {} s", .0.as_secs_f64())]
    TimedOut(Duration),
    /// It output too much.
    #[error("output exceeds {0} bytes")]
    TooMuchOutput(usize),
    /// The caller requested a stop.
    #[error("interrupted")]
    Interrupted,
}

/// Runs `command` with empty stdin and returns its output. After `timeout`, after 1 MiB of output, or when `stop` is set, it is
/// killed, together with the processes that it started.
///
/// # Errors
/// If it cannot be started, or was killed.
pub fn run(command: Command, timeout: Duration, stop: &AtomicBool) -> Result<CommandOutput, CommandError> {
    run_with_limit(command, timeout, MAX_OUTPUT_BYTES, stop)
}

/// Like [`run`], with this limit on the output, bytes.
///
/// # Errors
/// As [`run`].
pub fn run_with_limit(
    mut command: Command,
    timeout: Duration,
    max_output_bytes: usize,
    stop: &AtomicBool,
) -> Result<CommandOutput, CommandError> {
    let (mut reader, writer) = io::pipe()?;
    rustix::io::ioctl_fionbio(&reader, true).map_err(io::Error::from)?;
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    // Consumes `command` and with it the write end of the pipe, which must be closed in this process.
    let mut group = Group::start(command, &[])?;
    let began = Instant::now();
    let mut output = Vec::new();
    let mut is_closed = false;
    loop {
        // Checked before the pipe is drained, so no output is missed.
        let ended = group.ended()?;
        is_closed |= read(&mut reader, &mut output, max_output_bytes)?;
        if let Some(status) = ended {
            return Ok(CommandOutput { status, text: String::from_utf8_lossy(&output).into_owned() });
        }
        if stop.load(Ordering::Relaxed) {
            return Err(CommandError::Interrupted);
        }
        if began.elapsed() > timeout {
            return Err(CommandError::TimedOut(timeout));
        }
        // A closed pipe is always ready and would turn this loop into busy waiting.
        let mut fds = [PollFd::new(&reader, PollFlags::IN)];
        let (watched, _) = fds.split_at_mut(usize::from(!is_closed));
        match poll(watched, Some(&POLL_INTERVAL)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(io::Error::from(error).into()),
        }
    }
}

/// Reads the available output; true at its end.
fn read(reader: &mut PipeReader, output: &mut Vec<u8>, max_bytes: usize) -> Result<bool, CommandError> {
    let mut buffer = [0; 8192];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return Ok(true),
            Ok(count) => output.extend_from_slice(buffer.get(..count).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
        if output.len() > max_bytes {
            return Err(CommandError::TooMuchOutput(max_bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A timeout that is never reached.
    const LONG: Duration = Duration::from_mins(10);

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn stdout_and_stderr_are_returned_in_order() {
        let result = run(shell("echo one; echo two >&2; exit 3"), LONG, &AtomicBool::new(false)).unwrap();
        assert_eq!((result.text.as_str(), result.status.code()), ("one\ntwo\n", Some(3)));
    }

    #[test]
    fn a_command_that_closed_its_output_is_waited_for() {
        let script = "exec >&- 2>&-; sleep 0.05; exit 4";
        let result = run(shell(script), LONG, &AtomicBool::new(false)).unwrap();
        assert_eq!(result.status.code(), Some(4));
    }

    #[test]
    fn a_background_process_does_not_delay_the_result() {
        let result = run(shell("sleep 1000 & echo done"), LONG, &AtomicBool::new(false)).unwrap();
        assert_eq!(result.text, "done\n");
    }

    #[test]
    fn a_hanging_command_times_out() {
        let timeout = Duration::from_millis(50);
        let error = run(shell("exec sleep 1000"), timeout, &AtomicBool::new(false)).unwrap_err();
        assert!(matches!(error, CommandError::TimedOut(_)), "{error}");
    }

    #[test]
    fn endless_output_is_an_error() {
        let error = run(shell("exec yes"), LONG, &AtomicBool::new(false)).unwrap_err();
        assert!(matches!(error, CommandError::TooMuchOutput(_)), "{error}");
    }

    #[test]
    fn a_stop_request_kills_the_command() {
        let error = run(shell("exec sleep 1000"), LONG, &AtomicBool::new(true)).unwrap_err();
        assert!(matches!(error, CommandError::Interrupted), "{error}");
    }

    #[test]
    fn a_missing_program_is_an_error() {
        let error = run(Command::new("/nonexistent"), LONG, &AtomicBool::new(false)).unwrap_err();
        assert!(matches!(error, CommandError::Start(_)), "{error}");
    }
}
