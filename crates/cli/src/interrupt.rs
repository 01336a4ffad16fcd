//! Ctrl-C, SIGTERM and SIGHUP, which is sent when the terminal is closed. The first signal requests a clean end; the second Ctrl-C or
//! SIGTERM exits immediately.

use std::io;
use std::process;
use std::sync::Arc;
use std::thread;

use hoptax_host::{child, signals};
use hoptax_session::Interrupt;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;

use crate::exit::{Code, Failure};

/// Starts to listen for SIGINT, SIGTERM and SIGHUP. A SIGHUP that is ignored stays so: `nohup` lets a program outlive its terminal.
pub(crate) fn listen() -> Result<Interrupt, Failure> {
    let interrupt = listen_without_hangup()?;
    if !signals::is_ignored(SIGHUP).map_err(|error| failure(&error))? {
        // Does not count as one of two signals: both the shell and the kernel send it when a terminal is closed.
        flag::register(SIGHUP, Arc::clone(interrupt.flag())).map_err(|error| failure(&error))?;
    }
    Ok(interrupt)
}

/// Starts to listen for SIGINT and SIGTERM, for a command to which SIGHUP means something else.
pub(crate) fn listen_without_hangup() -> Result<Interrupt, Failure> {
    let interrupt = Interrupt::default();
    for signal in [SIGINT, SIGTERM] {
        flag::register(signal, Arc::clone(interrupt.flag())).map_err(|error| failure(&error))?;
    }
    let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(|error| failure(&error))?;
    let of_thread = interrupt.clone();
    // A thread instead of a signal handler: the cleanup is not async-signal-safe.
    thread::Builder::new()
        .name("interrupt".to_owned())
        .spawn(move || {
            if signals.forever().nth(1).is_some() {
                exit_now(&of_thread);
            }
        })
        .map_err(|error| failure(&error))?;
    Ok(interrupt)
}

fn failure(error: &io::Error) -> Failure {
    Failure::environment(format!("cannot listen for signals: {error}"))
}

/// Kills all children, removes the registered folders, and exits.
#[expect(clippy::exit, reason = "the second Ctrl-C skips the clean end")]
fn exit_now(interrupt: &Interrupt) -> ! {
    child::kill_all();
    interrupt.remove_folders();
    process::exit(Code::Interrupted as i32)
}
