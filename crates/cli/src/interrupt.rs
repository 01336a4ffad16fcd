//! Ctrl-C, SIGTERM and SIGHUP, which comes when the terminal is closed: the first requests a clean end. Two of Ctrl-C and SIGTERM
//! exit immediately.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use hoptax_host::{child, signals};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;

use crate::exit::{Code, Failure};

/// Whether an interrupt was requested by a signal. A command listens once, before its first phase, and hands this to all of its phases:
/// a later listener would not know of a signal that came between two of them.
#[derive(Clone, Debug)]
pub(crate) struct Interrupt {
    requested: Arc<AtomicBool>,
    /// Folders to remove on an immediate exit.
    folders: Arc<Mutex<Vec<PathBuf>>>,
}

impl Interrupt {
    /// Starts to listen for SIGINT, SIGTERM and SIGHUP. A SIGHUP that is ignored stays so: `nohup` lets a program outlive its terminal.
    pub(crate) fn listen() -> Result<Self, Failure> {
        let interrupt = Self::listen_without_hangup()?;
        if !signals::is_ignored(SIGHUP).map_err(|error| failure(&error))? {
            // Not counted as one of two signals: shell and kernel both send it when a terminal is closed.
            flag::register(SIGHUP, Arc::clone(&interrupt.requested)).map_err(|error| failure(&error))?;
        }
        Ok(interrupt)
    }

    /// Starts to listen for SIGINT and SIGTERM, for a command to which SIGHUP means something else.
    pub(crate) fn listen_without_hangup() -> Result<Self, Failure> {
        let interrupt = Self { requested: Arc::default(), folders: Arc::default() };
        for signal in [SIGINT, SIGTERM] {
            flag::register(signal, Arc::clone(&interrupt.requested)).map_err(|error| failure(&error))?;
        }
        let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(|error| failure(&error))?;
        let folders = Arc::clone(&interrupt.folders);
        // A thread instead of a signal handler: the cleanup is not async-signal-safe.
        thread::Builder::new()
            .name("interrupt".to_owned())
            .spawn(move || {
                if signals.forever().nth(1).is_some() {
                    exit_now(&folders);
                }
            })
            .map_err(|error| failure(&error))?;
        Ok(interrupt)
    }

    /// As after the first signal.
    #[cfg(test)]
    pub(crate) fn requested() -> Self {
        Self { requested: Arc::new(AtomicBool::new(true)), folders: Arc::default() }
    }

    /// The flag that the first signal sets.
    pub(crate) fn flag(&self) -> &Arc<AtomicBool> {
        &self.requested
    }

    /// Whether the first signal has arrived.
    pub(crate) fn is_requested(&self) -> bool {
        self.requested.load(Ordering::Relaxed)
    }

    /// Ends the command if the first signal has arrived: what each phase of a command begins with.
    ///
    /// # Errors
    /// When it has.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.is_requested() { Err(Failure::interrupted()) } else { Ok(()) }
    }

    /// Registers a folder for removal on an immediate exit.
    pub(crate) fn remove_on_exit(&self, folder: &Path) {
        self.folders.lock().unwrap_or_else(PoisonError::into_inner).push(folder.to_owned());
    }
}

fn failure(error: &io::Error) -> Failure {
    Failure::environment(format!("cannot listen for signals: {error}"))
}

/// Kills all children, removes the registered folders, and exits.
#[expect(clippy::exit, reason = "the second Ctrl-C skips the clean end")]
fn exit_now(folders: &Mutex<Vec<PathBuf>>) -> ! {
    child::kill_all();
    for folder in folders.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        // The folder may already be gone.
        let _ = fs::remove_dir_all(folder);
    }
    process::exit(Code::Interrupted as i32)
}
