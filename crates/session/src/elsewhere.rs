//! The run folder of a study whose slices are measured elsewhere: in the pods of a cluster.

use std::path::{Path, PathBuf};

use hoptax_result::StudyResult;

use crate::failure::Failure;
use crate::{outputs, run_folder};

/// Makes the run folder: `out`, or one that is named after the study and the time.
///
/// # Errors
/// When it cannot be made, or holds a result that would be overwritten without `force`.
pub fn folder(out: Option<&Path>, study: &str, force: bool) -> Result<PathBuf, Failure> {
    let path = run_folder::path_of(out, study);
    run_folder::check_free(&path, force)?;
    run_folder::make_folder(&path)
}

/// Writes the files of a result to its run folder; returns one message for each failure.
pub fn write(folder: &Path, result: &StudyResult) -> Vec<String> {
    outputs::write_all(folder, result)
}
