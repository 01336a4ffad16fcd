//! Errors of writing files, with a remedy for each.

use std::io;
use std::path::{Path, PathBuf};

/// A file or a folder cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write `{}`: {cause}\n{}", path.display(), remedy(cause))]
pub struct WriteError {
    /// Its path.
    path: PathBuf,
    /// The cause.
    cause: io::Error,
}

impl WriteError {
    /// The error for this path.
    pub(super) fn new(path: &Path, cause: io::Error) -> Self {
        Self { path: path.to_owned(), cause }
    }

    /// A function that converts the error of an operation on this path.
    pub(super) fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |cause| Self::new(path, cause)
    }
}

fn remedy(cause: &io::Error) -> &'static str {
    match cause.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some space there (an install of Envoy takes 150 MB or more), or set XDG_CACHE_HOME to a folder elsewhere"
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "let your user write there, or set XDG_CACHE_HOME to a folder of yours"
        }
        _ => "set XDG_CACHE_HOME to another folder",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_and_a_folder_of_another_user_are_helped_differently() {
        let text = |kind: io::ErrorKind| WriteError::new(Path::new("/cache/envoy"), kind.into()).to_string();
        let (full, denied) = (text(io::ErrorKind::StorageFull), text(io::ErrorKind::PermissionDenied));
        assert!(
            full.starts_with("cannot write `/cache/envoy`: ") && full.contains("free some space"),
            "{full}"
        );
        assert!(denied.contains("let your user write there"), "{denied}");
        let other = text(io::ErrorKind::NotADirectory);
        assert!(other.ends_with("\nset XDG_CACHE_HOME to another folder"), "{other}");
    }
}
