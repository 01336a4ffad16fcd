//! The folder of a job that starts processes. It is removed when the job ends, after the store has copied its part of the run folder.

use std::path::{Path, PathBuf};

use hoptax_session::Failure;
use tempfile::TempDir;

/// A folder that only the server's user can open.
pub(crate) struct Folder(TempDir);

impl Folder {
    /// The placeholder that clients see for the path of the run folder.
    pub(crate) const SHOWN: &'static str = "FOLDER";

    /// Creates the folder.
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

    /// The run folder inside it, which the session creates.
    pub(crate) fn run(&self) -> PathBuf {
        self.path().join("run")
    }
}
