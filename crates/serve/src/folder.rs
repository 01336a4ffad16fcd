//! The folder of a job that starts processes. It is removed at the end of the job, once the store has what it keeps of a run folder.

use std::path::{Path, PathBuf};

use hoptax_session::Failure;
use tempfile::TempDir;

/// A folder that only the user of the server opens.
pub(crate) struct Folder(TempDir);

impl Folder {
    /// The word that clients read for the run folder.
    pub(crate) const SHOWN: &'static str = "FOLDER";

    /// Creates it.
    ///
    /// # Errors
    /// When it cannot be created.
    pub(crate) fn create() -> Result<Self, Failure> {
        let folder = tempfile::Builder::new().prefix("hoptax-serve-").tempdir();
        let failed = |error| Failure::environment(format!("cannot create a temporary folder: {error}"));
        Ok(Self(folder.map_err(failed)?))
    }

    /// Its path.
    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// The run folder in it, which the session creates.
    pub(crate) fn run(&self) -> PathBuf {
        self.path().join("run")
    }
}
