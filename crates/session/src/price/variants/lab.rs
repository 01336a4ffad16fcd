//! Writes the files that an adapted configuration needs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use hoptax_bootstrap::Adapted;
use hoptax_subject::envoy::given::{FilesError, Given};
use hoptax_subject::lab::{Lab, LabError as CertificatesError, PeerNames};

/// An error of the files of a lab.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LabError {
    /// The certificates of origin and client.
    #[error(transparent)]
    Certificates(#[from] CertificatesError),
    /// The files that the configuration names.
    #[error(transparent)]
    Files(#[from] FilesError),
}

/// Writes the certificates, copies the user's files, and makes the folders. Certificates of the origin and of clients are
/// `origin.pem` and `generator.pem`, with their keys, in the folder that is returned.
///
/// # Errors
/// When a certificate cannot be made, a file cannot be written, or a file to copy does not exist.
pub(crate) fn write_files(given: &Given, adapted: &Adapted, folder: &Path) -> Result<PathBuf, LabError> {
    let certificates = folder.join("certificates");
    let names = &adapted.files;
    let peers = PeerNames { origin: names.origin_names.clone(), generator: names.client_names.clone() };
    let lab = Lab::create(&certificates, [], &peers)?;
    given.write_files(adapted, lab.certificates())?;
    Ok(certificates)
}

/// Makes the folders that a changed configuration writes to; its other files are those of the whole ([`write_files`]).
///
/// # Errors
/// When a folder cannot be made.
pub(crate) fn make_folders(adapted: &Adapted) -> io::Result<()> {
    adapted.files.folders.iter().try_for_each(fs::create_dir_all)
}
