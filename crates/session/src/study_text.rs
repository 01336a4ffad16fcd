//! A study file before it is parsed: its name, its text and its folder.

use std::path::PathBuf;

use crate::failure::Failure;
use crate::library;

/// A study file that was read or made.
#[derive(Clone, Debug)]
pub struct StudyText {
    /// Its name, for messages.
    pub name: String,
    /// Its content.
    pub text: String,
    /// Its folder, at which relative paths in it start.
    pub folder: PathBuf,
}

impl StudyText {
    /// A study file by its path, or a built-in study by its name.
    ///
    /// # Errors
    /// When there is no file with this path and no built-in study with this name.
    pub fn named(study: &str) -> Result<Self, Failure> {
        library::read(study)
    }

    /// A built-in study by its name. Never opens a file, so the name may come from a stranger.
    ///
    /// # Errors
    /// When no built-in study has this name.
    pub fn built_in(study: &str) -> Result<Self, Failure> {
        library::read_built_in(study)
    }
}
