//! Writes an authority and certificates for names to a folder, for tests with other programs.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::{Authority, CertificateError, KeyKind, Request};

/// The trust domain of the SPIFFE IDs.
const TRUST_DOMAIN: &str = "hoptax.test";

/// Why a folder has no certificates.
#[derive(Debug, Error)]
pub enum FolderError {
    /// A file is there already.
    #[error("`{}` already exists; choose another folder, or give --force to overwrite it", .0.display())]
    Exists(PathBuf),
    /// The files of a name would overwrite those of the authority, or of the same name.
    #[error("two certificates would be written to `{file}`: {}", remedy(.name))]
    Taken {
        /// The name.
        name: String,
        /// The file of its certificate.
        file: String,
    },
    /// The folder is a file.
    #[error("`{}` is a file, and the certificates need a folder: choose another name", .0.display())]
    NoFolder(PathBuf),
    /// A name is not valid in a certificate.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// A file cannot be written.
    #[error("cannot write `{}`: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// The name of the files of the authority.
const AUTHORITY: &str = "ca";

/// What to do about a name whose files another certificate has.
fn remedy(name: &str) -> &'static str {
    if name == AUTHORITY { "the authority has it; choose another name" } else { "give each name once" }
}

/// Writes `ca.pem` and `NAME.pem` for each name, with their keys in `.key` files, valid for so many seconds. A certificate is also valid
/// on this machine, and has the SPIFFE ID `spiffe://hoptax.test/NAME`. Returns the files. Those that are there are overwritten with
/// `force` only.
///
/// # Errors
/// When a file is there, a name is not valid, two certificates would have the same file, or the folder cannot be written.
pub fn write(
    folder: &Path,
    names: &[String],
    seconds: i64,
    force: bool,
) -> Result<Vec<PathBuf>, FolderError> {
    if folder.exists() && !folder.is_dir() {
        return Err(FolderError::NoFolder(folder.to_owned()));
    }
    let is_taken = |(index, name): &(usize, &String)| {
        name.as_str() == AUTHORITY || names.iter().take(*index).any(|earlier| earlier == *name)
    };
    if let Some((_, name)) = names.iter().enumerate().find(is_taken) {
        return Err(FolderError::Taken { name: name.clone(), file: format!("{name}.pem") });
    }
    let authority = Authority::new(&format!("hoptax lab {TRUST_DOMAIN}"), seconds)?;
    let mut files = vec![(AUTHORITY.to_owned(), authority.certificate(), authority.key())];
    for name in names {
        let request = Request {
            names: [name.as_str(), "localhost", "127.0.0.1", "::1"].map(str::to_owned).into(),
            spiffe: vec![format!("spiffe://{TRUST_DOMAIN}/{name}")],
            key: KeyKind::P256,
            seconds,
        };
        let signed = authority.sign(&request)?;
        files.push((name.clone(), signed.certificate, signed.key));
    }
    let files = files.into_iter().flat_map(|(name, certificate, key)| {
        [
            (folder.join(format!("{name}.pem")), certificate, 0o644),
            (folder.join(format!("{name}.key")), key, 0o600),
        ]
    });
    let files: Vec<(PathBuf, String, u32)> = files.collect();
    if let Some((path, ..)) = files.iter().find(|(path, ..)| path.exists() && !force) {
        return Err(FolderError::Exists(path.clone()));
    }
    let failed = |path: &Path, source| FolderError::Write { path: path.to_owned(), source };
    fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
    for (path, text, mode) in &files {
        // Create the file anew: an existing file could be readable by others, and keys must not be.
        let _ = fs::remove_file(path);
        let file = OpenOptions::new().write(true).create_new(true).mode(*mode).open(path);
        file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| failed(path, error))?;
    }
    Ok(files.into_iter().map(|(path, ..)| path).collect())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn keys_are_readable_by_their_owner_only_and_overwritten_only_if_that_is_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let write = |names: &[&str], force| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            super::write(folder.path(), &names, 60, force)
        };
        let written = write(&["a"], false).unwrap();
        let names = ["ca.pem", "ca.key", "a.pem", "a.key"].map(|name| folder.path().join(name));
        assert_eq!(written, names);
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(names.map(|path| mode(&path)), [0o644, 0o600, 0o644, 0o600]);
        assert!(matches!(write(&["b"], false), Err(FolderError::Exists(path)) if path.ends_with("ca.pem")));
        assert!(write(&["b"], true).is_ok());
        assert!(matches!(write(&["ü"], true), Err(FolderError::Certificate(_))));
    }

    #[test]
    fn a_name_does_not_overwrite_the_authority_or_another_name_and_a_folder_is_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let refused = |path: &Path, names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            super::write(path, &names, 60, true).unwrap_err().to_string()
        };
        assert_eq!(
            refused(folder.path(), &["a", "ca"]),
            "two certificates would be written to `ca.pem`: the authority has it; choose another name"
        );
        let twice = refused(folder.path(), &["a", "b", "a"]);
        assert_eq!(twice, "two certificates would be written to `a.pem`: give each name once");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let no_folder = refused(&file, &["a"]);
        assert!(no_folder.ends_with("is a file, and the certificates need a folder: choose another name"));
    }
}
