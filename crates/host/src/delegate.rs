//! Runs a command that does the work of this process.

use std::io;
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use crate::child::Group;

/// How often the command is asked whether it has ended.
const STEP: Duration = Duration::from_millis(20);

/// Runs a command to its end, and returns its exit status. Once `stop` is set, it gets SIGTERM, to end in order: it leads a process
/// group of its own, so neither Ctrl-C in the terminal nor a signal to this process reaches it otherwise. It is killed if this process
/// dies.
///
/// # Errors
/// If it cannot be started, or waiting for it fails.
pub fn run_to_end(command: Command, stop: &AtomicBool) -> io::Result<ExitStatus> {
    let mut group = Group::start(command, &[])?;
    let mut is_asked = false;
    loop {
        if let Some(status) = group.ended()? {
            return Ok(status);
        }
        if !is_asked && stop.load(Ordering::Relaxed) {
            group.signal(Signal::TERM);
            is_asked = true;
        }
        thread::sleep(STEP);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn the_status_is_that_of_the_command() {
        let status = run_to_end(script("exit 7"), &AtomicBool::new(false)).unwrap();
        assert_eq!(status.code(), Some(7));
        assert!(run_to_end(Command::new("/nothing/here"), &AtomicBool::new(false)).is_err());
    }

    #[test]
    fn a_command_that_is_stopped_ends_in_order() {
        let waits = "trap 'exit 5' TERM; while :; do sleep 0.01; done";
        let status = run_to_end(script(waits), &AtomicBool::new(true)).unwrap();
        // Before the trap is set, the signal kills the shell.
        assert!(status.code().is_none_or(|code| code == 5), "{status}");
    }
}
