//! `hoptax runs cleanup`: removes files that killed studies left in their folders.

use std::path::Path;

use hoptax_session::cleanup::clean_up;

use crate::arguments::CleanupArguments;
use crate::exit::{Code, Failure};
use crate::print;

/// Runs the command.
pub(crate) fn run(arguments: &CleanupArguments) -> Result<Code, Failure> {
    let mut on_removed = |path: &Path| print::result(&format!("removed {}", path.display()));
    clean_up(&arguments.folder, &mut on_removed, &print::say)?;
    Ok(Code::Success)
}
