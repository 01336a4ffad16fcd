//! Reads the results of studies.

use std::fs;
use std::path::Path;

use hoptax_result::StudyResult;

use crate::failure::Failure;
use crate::run_folder::RESULT;

/// Reads the result of a study from its file or its run folder.
///
/// # Errors
/// As [`read`].
pub fn read_run(path: &Path) -> Result<StudyResult, Failure> {
    if path.is_dir() { read(&path.join(RESULT)) } else { read(path) }
}

/// Reads a study result.
///
/// # Errors
/// When the file cannot be read, or is not the result of a study in a supported format.
pub fn read(path: &Path) -> Result<StudyResult, Failure> {
    let text = fs::read_to_string(path)
        .map_err(|error| Failure::bad_input(format!("cannot read `{}`: {error}", path.display())))?;
    parse(&format!("`{}`", path.display()), &text)
}

/// Reads a study result from its text; `what` names it in errors.
///
/// # Errors
/// When the text is not the result of a study in a supported format.
pub fn parse(what: &str, text: &str) -> Result<StudyResult, Failure> {
    serde_json::from_str(text)
        .map_err(|error| Failure::bad_input(format!("{what} is not a study result: {error}")))
}
