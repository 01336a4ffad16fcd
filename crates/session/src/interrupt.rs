//! Interrupts: a flag that signals set, and the folders to remove if the command ends at once.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tempfile::TempDir;

use crate::failure::Failure;

/// A request to end, which a signal sets. A command installs the handler once, before its first phase, and passes this value to all phases:
/// a handler installed later would miss a signal that arrives between two phases.
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    requested: Arc<AtomicBool>,
    /// Folders to remove on an immediate exit.
    folders: Arc<Mutex<Vec<PathBuf>>>,
}

impl Interrupt {
    /// The flag that the first signal sets.
    pub fn flag(&self) -> &Arc<AtomicBool> {
        &self.requested
    }

    /// True if the first signal has arrived.
    pub fn is_requested(&self) -> bool {
        self.requested.load(Ordering::Relaxed)
    }

    /// Returns an error if the first signal has arrived. Each phase of a command begins with this check.
    ///
    /// # Errors
    /// When the first signal has arrived.
    pub fn check(&self) -> Result<(), Failure> {
        if self.is_requested() { Err(Failure::interrupted()) } else { Ok(()) }
    }

    /// A temporary folder for a command, `hoptax-COMMAND-…`, which is also removed on an immediate exit.
    ///
    /// # Errors
    /// When it cannot be created.
    pub(crate) fn temporary_folder(&self, command: &str) -> Result<TempDir, Failure> {
        let prefix = format!("hoptax-{command}-");
        let folder = tempfile::Builder::new().prefix(&prefix).tempdir();
        let folder = folder
            .map_err(|error| Failure::environment(format!("cannot create a temporary folder: {error}")))?;
        self.remove_on_exit(folder.path());
        Ok(folder)
    }

    /// Registers a folder for removal on an immediate exit.
    pub(crate) fn remove_on_exit(&self, folder: &Path) {
        self.folders.lock().unwrap_or_else(PoisonError::into_inner).push(folder.to_owned());
    }

    /// Removes the registered folders, before an immediate exit.
    pub fn remove_folders(&self) {
        for folder in self.folders.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            // The folder may already be gone.
            let _ = fs::remove_dir_all(folder);
        }
    }
}
