//! `hoptax lab certs`: creates a certificate authority and certificates for tests.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use hoptax_certs::{Authority, KeyKind, Request};

use crate::arguments::CertsArguments;
use crate::exit::{Code, Failure};
use crate::print;

/// Runs the command.
pub(crate) fn run(arguments: &CertsArguments) -> Result<Code, Failure> {
    let seconds = i64::try_from(arguments.valid.as_secs()).unwrap_or(i64::MAX / 4);
    let authority = Authority::new(&format!("hoptax lab {}", arguments.trust_domain), seconds)
        .map_err(Failure::environment)?;
    let mut files =
        vec![("ca.pem".to_owned(), authority.certificate()), ("ca.key".to_owned(), authority.key())];
    for name in &arguments.names {
        let request = Request {
            names: vec![name.clone(), "localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()],
            spiffe: vec![format!("spiffe://{}/{name}", arguments.trust_domain)],
            key: KeyKind::P256,
            seconds,
        };
        let signed = authority.sign(&request).map_err(Failure::bad_input)?;
        files.push((format!("{name}.pem"), signed.certificate));
        files.push((format!("{name}.key"), signed.key));
    }
    let folder = &arguments.folder;
    fs::create_dir_all(folder).map_err(|error| write_error(folder, &error))?;
    let existing: Vec<_> =
        files.iter().map(|(name, _)| folder.join(name)).filter(|path| path.exists()).collect();
    if let Some(path) = existing.first().filter(|_| !arguments.force) {
        return Err(Failure::bad_input(format!(
            "`{}` already exists; choose another folder, or give --force to overwrite it",
            path.display()
        )));
    }
    for (name, text) in files {
        let path = folder.join(name);
        // Create the file anew: an existing file could be readable by others, and keys must not be.
        let _ = fs::remove_file(&path);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(if path.extension().is_some_and(|end| end == "key") {
            0o600
        } else {
            0o644
        });
        options
            .open(&path)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(|error| write_error(&path, &error))?;
        print::result(&path.display().to_string())?;
    }
    Ok(Code::Success)
}

fn write_error(path: &Path, error: &std::io::Error) -> Failure {
    Failure::environment(format!("cannot write `{}`: {error}", path.display()))
}
