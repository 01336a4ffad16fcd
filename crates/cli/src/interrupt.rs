//! Ctrl-C: the first asks for a clean end, the second ends at once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use hoptax_host::child;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;

use crate::exit::{Code, Failure};

/// Whether the user, or whoever started hoptax, asked it to stop.
#[derive(Clone, Debug)]
pub(crate) struct Interrupt {
    asked: Arc<AtomicBool>,
    /// Folders that are removed when it ends at once.
    folders: Arc<Mutex<Vec<PathBuf>>>,
}

impl Interrupt {
    /// Listens for SIGINT and SIGTERM from now on.
    pub(crate) fn listen() -> Result<Self, Failure> {
        let of = |error| Failure::environment(format!("cannot listen for signals: {error}"));
        let interrupt = Self { asked: Arc::default(), folders: Arc::default() };
        for signal in [SIGINT, SIGTERM] {
            flag::register(signal, Arc::clone(&interrupt.asked)).map_err(of)?;
        }
        let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(of)?;
        let folders = Arc::clone(&interrupt.folders);
        // A thread and no handler of the signal: what is to be done is not allowed in one.
        thread::Builder::new()
            .name("interrupt".to_owned())
            .spawn(move || {
                if signals.forever().nth(1).is_some() {
                    end_at_once(&folders);
                }
            })
            .map_err(of)?;
        Ok(interrupt)
    }

    /// The flag that is set when it was asked.
    pub(crate) fn flag(&self) -> &Arc<AtomicBool> {
        &self.asked
    }

    /// Whether it was asked.
    pub(crate) fn was_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// Has a folder removed also when the program ends at once.
    pub(crate) fn remove_at_once(&self, folder: &Path) {
        self.folders.lock().unwrap_or_else(PoisonError::into_inner).push(folder.to_owned());
    }
}

/// Kills what was started, removes what nobody else would, and exits.
#[expect(clippy::exit, reason = "the second Ctrl-C waits for nobody")]
fn end_at_once(folders: &Mutex<Vec<PathBuf>>) -> ! {
    child::kill_all();
    for folder in folders.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        // It may be gone already.
        let _ = fs::remove_dir_all(folder);
    }
    process::exit(Code::Interrupted as i32)
}
