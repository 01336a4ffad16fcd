//! Running a program to its end for what it prints, with bounds on both: one that hangs or prints without end is killed.

use std::io::{self, PipeReader, Read};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;

use crate::child::Group;

/// How often it is looked whether the program has ended, or is to be.
const POLL: Timespec = Timespec { tv_sec: 0, tv_nsec: 5_000_000 };
/// Bytes that a program may print.
const MAX_BYTES: usize = 1 << 20;

/// What a program answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// How it ended.
    pub status: ExitStatus,
    /// Its output and errors, in the order in which it wrote them.
    pub text: String,
}

/// Why a program gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// It cannot be run.
    #[error(transparent)]
    Run(#[from] io::Error),
    /// It did not end.
    #[error("it did not end within {} s", .0.as_secs_f64())]
    Hangs(Duration),
    /// It printed without end.
    #[error("it printed more than {MAX_BYTES} bytes")]
    Endless,
    /// The caller asked to stop.
    #[error("it was interrupted")]
    Stopped,
}

/// Runs `command` without input and returns what it printed. After `patience`, after a megabyte of output, or when `stop` is set, it
/// is killed, with what it started.
///
/// # Errors
/// When it cannot be run, or had to be killed.
pub fn ask(mut command: Command, patience: Duration, stop: &AtomicBool) -> Result<Response, AskError> {
    let (mut reader, writer) = io::pipe()?;
    rustix::io::ioctl_fionbio(&reader, true).map_err(io::Error::from)?;
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    // This takes the command, and with it the other end of the pipe, which has to be closed here.
    let mut group = Group::start(command, &[])?;
    let began = Instant::now();
    let mut printed = Vec::new();
    let mut is_closed = false;
    loop {
        // Asked before the pipe is read to its end, so that nothing that was printed is missed.
        let ended = group.ended()?;
        is_closed |= read(&mut reader, &mut printed)?;
        if let Some(status) = ended {
            return Ok(Response { status, text: String::from_utf8_lossy(&printed).into_owned() });
        }
        if stop.load(Ordering::Relaxed) {
            return Err(AskError::Stopped);
        }
        if began.elapsed() > patience {
            return Err(AskError::Hangs(patience));
        }
        // A program that has closed its output would be reported at once, again and again.
        let mut fds = [PollFd::new(&reader, PollFlags::IN)];
        let (watched, _) = fds.split_at_mut(usize::from(!is_closed));
        match poll(watched, Some(&POLL)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(io::Error::from(error).into()),
        }
    }
}

/// Reads what there is; true when there will be no more.
fn read(reader: &mut PipeReader, printed: &mut Vec<u8>) -> Result<bool, AskError> {
    let mut buffer = [0; 8192];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return Ok(true),
            Ok(count) => printed.extend_from_slice(buffer.get(..count).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
        if printed.len() > MAX_BYTES {
            return Err(AskError::Endless);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Longer than any machine is busy: it is never waited for.
    const LONG: Duration = Duration::from_mins(10);

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn output_and_errors_are_answered_in_their_order() {
        let answer = ask(shell("echo one; echo two >&2; exit 3"), LONG, &AtomicBool::new(false)).unwrap();
        assert_eq!((answer.text.as_str(), answer.status.code()), ("one\ntwo\n", Some(3)));
    }

    #[test]
    fn one_that_closed_its_output_is_waited_for() {
        let script = "exec >&- 2>&-; sleep 0.05; exit 4";
        let answer = ask(shell(script), LONG, &AtomicBool::new(false)).unwrap();
        assert_eq!(answer.status.code(), Some(4));
    }

    #[test]
    fn what_it_left_behind_does_not_keep_the_answer_back() {
        let answer = ask(shell("sleep 1000 & echo done"), LONG, &AtomicBool::new(false)).unwrap();
        assert_eq!(answer.text, "done\n");
    }

    #[test]
    fn one_that_hangs_is_given_up() {
        let patience = Duration::from_millis(50);
        let error = ask(shell("exec sleep 1000"), patience, &AtomicBool::new(false)).unwrap_err();
        assert!(matches!(error, AskError::Hangs(_)), "{error}");
    }

    #[test]
    fn one_that_prints_without_end_is_given_up() {
        let error = ask(shell("exec yes"), LONG, &AtomicBool::new(false)).unwrap_err();
        assert!(matches!(error, AskError::Endless), "{error}");
    }

    #[test]
    fn a_request_to_stop_ends_it() {
        let error = ask(shell("exec sleep 1000"), LONG, &AtomicBool::new(true)).unwrap_err();
        assert!(matches!(error, AskError::Stopped), "{error}");
    }

    #[test]
    fn a_program_that_is_not_there_cannot_be_run() {
        let error = ask(Command::new("/nonexistent"), LONG, &AtomicBool::new(false)).unwrap_err();
        assert!(matches!(error, AskError::Run(_)), "{error}");
    }
}
