//! Writes the files that an adapted configuration needs.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use hoptax_bootstrap::{Adapted, Problem};
use hoptax_certs::{Authority, CertificateError, KeyKind, Request};

use crate::given::Given;

/// Validity of certificates, longer than any measurement.
const SECONDS: i64 = 7 * 24 * 3_600;

/// Why the files of a lab cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// A certificate cannot be made.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// A file cannot be written.
    #[error("cannot write `{}`: {source}", path.display())]
    File {
        /// The path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Files that the configuration names do not exist.
    #[error("{}", list(.0))]
    Missing(Vec<Problem>),
}

fn list(problems: &[Problem]) -> String {
    let lines = problems.iter().map(|problem| format!("{}: {}", problem.place, problem.message));
    lines.collect::<Vec<_>>().join("\n")
}

/// Writes the certificates, copies the user's files, and makes the folders. Certificates of the origin and of clients are
/// `origin.pem` and `client.pem`, with their keys, in the folder of the others; it is returned.
///
/// # Errors
/// When a certificate cannot be made, a file cannot be written, or a file to copy does not exist.
pub fn write_files(given: &Given, adapted: &Adapted, folder: &Path) -> Result<PathBuf, LabError> {
    let write = |path: &Path, bytes: &[u8]| {
        let parent = path.parent().map_or(Ok(()), fs::create_dir_all);
        parent
            .and_then(|()| fs::write(path, bytes))
            .map_err(|source| LabError::File { path: path.to_owned(), source })
    };
    let certificates = folder.join("certificates");
    let authority = Authority::new("hoptax price", SECONDS)?;
    write(&certificates.join("ca.pem"), authority.certificate().as_bytes())?;
    let sign = |certificate: &Path, key: &Path, names: &BTreeSet<String>, kind: KeyKind| {
        let (spiffe, names): (Vec<String>, Vec<String>) =
            names.iter().cloned().partition(|name| name.starts_with("spiffe://"));
        let signed = authority.sign(&Request { names, spiffe, key: kind, seconds: SECONDS })?;
        write(certificate, signed.certificate.as_bytes())?;
        write(key, signed.key.as_bytes())
    };
    for identity in &adapted.files.identities {
        sign(&identity.certificate, &identity.key, &identity.names, identity.kind)?;
    }
    for (peer, names) in [("origin", &adapted.files.origin_names), ("client", &adapted.files.client_names)] {
        let own = ["localhost", "127.0.0.1"].map(str::to_owned);
        let names = names.iter().cloned().chain(own).collect();
        let [certificate, key] = ["pem", "key"].map(|end| certificates.join(format!("{peer}.{end}")));
        sign(&certificate, &key, &names, KeyKind::default())?;
    }
    let mut missing = Vec::new();
    for copied in &adapted.files.copies {
        let Some(from) = given.locate(&copied.from) else {
            let message = format!("file `{}` does not exist; place it beside the configuration", copied.from);
            missing.push(Problem { place: copied.place.clone(), message });
            continue;
        };
        let bytes = fs::read(&from).map_err(|source| LabError::File { path: from, source })?;
        write(&copied.to, &bytes)?;
    }
    for folder in &adapted.files.folders {
        fs::create_dir_all(folder).map_err(|source| LabError::File { path: folder.clone(), source })?;
    }
    if missing.is_empty() { Ok(certificates) } else { Err(LabError::Missing(missing)) }
}
