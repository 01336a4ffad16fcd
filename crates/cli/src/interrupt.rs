//! Signals: Ctrl-C, SIGTERM and SIGHUP, which is sent when the terminal is closed. The first one requests a clean end; the second Ctrl-C or
//! SIGTERM exits immediately. To some commands, they mean something else.

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
use crate::print;

/// Starts to listen for SIGINT, SIGTERM and SIGHUP. A SIGHUP that is ignored stays so: `nohup` lets a program outlive its terminal.
pub(crate) fn listen() -> Result<Interrupt, Failure> {
    with_hangup(listen_without_hangup()?)
}

/// The same for a command that ends with its only result: the second signal says that there is none.
pub(crate) fn listen_until_result() -> Result<Interrupt, Failure> {
    listen_until_result_and(|| ())
}

/// The same, with what the first signal calls, on a thread of its own.
pub(crate) fn listen_until_result_and(on_first: impl FnMut() + Send + 'static) -> Result<Interrupt, Failure> {
    with_hangup(ended_by_second(Some("interrupted: no result"), on_first)?)
}

/// Starts to listen for SIGHUP, too.
fn with_hangup(interrupt: Interrupt) -> Result<Interrupt, Failure> {
    if !signals::is_ignored(SIGHUP).map_err(|error| failure(&error))? {
        // Does not count as one of two signals: both the shell and the kernel send it when a terminal is closed.
        flag::register(SIGHUP, Arc::clone(interrupt.flag())).map_err(|error| failure(&error))?;
    }
    Ok(interrupt)
}

/// Starts to listen for SIGINT and SIGTERM, for a command to which SIGHUP means something else.
pub(crate) fn listen_without_hangup() -> Result<Interrupt, Failure> {
    ended_by_second(None, || ())
}

/// An interrupt that SIGINT and SIGTERM request. The first one calls `on_first`. The second one prints `last_words`, and exits.
fn ended_by_second(
    last_words: Option<&'static str>,
    mut on_first: impl FnMut() + Send + 'static,
) -> Result<Interrupt, Failure> {
    let interrupt = requested_by(&[SIGINT, SIGTERM])?;
    let (of_thread, mut is_second) = (interrupt.clone(), false);
    on_each(&[SIGINT, SIGTERM], "interrupt", move |_| {
        if is_second {
            exit_now(&of_thread, last_words);
        }
        is_second = true;
        on_first();
    })?;
    Ok(interrupt)
}

/// An interrupt that these signals request.
pub(crate) fn requested_by(signals: &[i32]) -> Result<Interrupt, Failure> {
    let interrupt = Interrupt::default();
    for signal in signals {
        flag::register(*signal, Arc::clone(interrupt.flag())).map_err(|error| failure(&error))?;
    }
    Ok(interrupt)
}

/// Calls `on_signal` with each of these signals, on a thread with this name: what it does need not be safe in a signal handler.
pub(crate) fn on_each(
    signals: &[i32],
    name: &str,
    on_signal: impl FnMut(i32) + Send + 'static,
) -> Result<(), Failure> {
    let mut signals = Signals::new(signals).map_err(|error| failure(&error))?;
    let listen = move || signals.forever().for_each(on_signal);
    let thread = thread::Builder::new().name(name.to_owned()).spawn(listen);
    thread.map(drop).map_err(|error| failure(&error))
}

fn failure(error: &io::Error) -> Failure {
    Failure::environment(format!("cannot listen for signals: {error}"))
}

/// Kills all children, removes the registered folders, prints the last words, and exits.
#[expect(clippy::exit, reason = "the second Ctrl-C skips the clean end")]
fn exit_now(interrupt: &Interrupt, last_words: Option<&str>) -> ! {
    child::kill_all();
    interrupt.remove_folders();
    if let Some(words) = last_words {
        print::last_error(words);
    }
    process::exit(Code::Interrupted as i32)
}
