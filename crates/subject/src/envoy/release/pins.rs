//! SHA-256 of Envoy's program in the wheels of releases, so that no package index, and nobody between, delivers another one.

use std::fs::File;
use std::path::Path;

use super::error::ReleaseError;
use crate::digest::sha256_of_reader;

/// Releases with the SHA-256 of their program for `x86_64`. Results of these releases state the same (`proxy_sha256`).
const PROGRAMS: [(&str, &str); 5] = [
    ("1.36.4", "5a398095d8c1dd363ecc10b6b9dbd82154a8fbb5eb15510d5fb7cbdb9d0b0e59"),
    ("1.37.0", "a05a7120b8de49d23ef8ee95419f460d715791920e6f447b904cb898bce4ab6a"),
    ("1.38.3", "a9a8a174b50ec2606dc6f73b31f7602e0de2a73dbc090141c31460f5613d179d"),
    ("1.39.3", "f61653fb5f7645129d3092a82f21ce3e6f70d0a75fe2e861b0e7417790f2c200"),
    ("1.40.0", "8aa137a7d00994ce43f613556f5a120709229f63bedb86eedde5ccbc402c2b80"),
];

/// Returns the SHA-256 that the program of a release must have; None for a release that is not listed, and on other processors.
pub(super) fn pinned(version: &str) -> Option<&'static str> {
    let is_known = cfg!(target_arch = "x86_64");
    PROGRAMS.iter().find(|(of, _)| is_known && *of == version).map(|(_, sha256)| *sha256)
}

/// Verifies the program of a wheel. Returns false if its hash is not known, so that it cannot be verified.
///
/// # Errors
/// When it is not that of the release, or cannot be read.
pub(super) fn verify(version: &str, program: &Path) -> Result<bool, ReleaseError> {
    let Some(pinned) = pinned(version) else { return Ok(false) };
    let found = File::open(program).and_then(sha256_of_reader).map_err(|error| ReleaseError::Unusable {
        program: program.to_owned(),
        cause: format!("it cannot be read: {error}"),
    })?;
    if found == pinned {
        return Ok(true);
    }
    Err(ReleaseError::OtherProgram { version: version.to_owned(), found, pinned })
}

#[cfg(test)]
mod tests {
    use super::super::PINNED_VERSION;
    use super::*;

    #[test]
    fn another_program_than_that_of_the_release_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("envoy");
        std::fs::write(&program, "another program").unwrap();
        // Nothing is known of it.
        assert!(!verify("0.0.1", &program).unwrap());
        if cfg!(target_arch = "x86_64") {
            let refused = verify(PINNED_VERSION, &program).unwrap_err().to_string();
            assert!(
                refused.contains(PINNED_VERSION) && refused.contains("nothing was installed"),
                "{refused}"
            );
            let missing = verify(PINNED_VERSION, &folder.path().join("none")).unwrap_err().to_string();
            assert!(missing.contains("cannot be read"), "{missing}");
        }
    }

    #[test]
    fn the_default_release_is_pinned() {
        assert_eq!(pinned(PINNED_VERSION).is_some(), cfg!(target_arch = "x86_64"));
    }
}
