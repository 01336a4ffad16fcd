//! The certificates of a study: an authority, and a certificate for every party that uses TLS.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use hoptax_certs::{Authority, CertificateError, KeyKind, Request};
use hoptax_host::link::FAR;

use crate::envoy::bootstrap::TlsSettings;

/// The trust domain of the SPIFFE names.
const TRUST_DOMAIN: &str = "hoptax.test";
/// Validity of certificates, longer than any study.
const SECONDS: i64 = 7 * 24 * 3_600;

/// The name of the generator.
pub const GENERATOR: &str = "generator";
/// The name of the origin.
pub const ORIGIN: &str = "origin";

/// A folder of certificates.
#[derive(Clone, Debug)]
pub struct Lab {
    folder: PathBuf,
}

/// Why certificates are not available.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// They cannot be generated.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// They cannot be written.
    #[error("cannot write certificates to `{}`: {source}", folder.display())]
    File {
        /// The folder.
        folder: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

impl Lab {
    /// Generates certificates for generator, origin and the proxies of these names, and writes them into a folder. The
    /// authority's key is not kept.
    ///
    /// # Errors
    /// When they cannot be generated or written.
    pub fn create<'a>(folder: &Path, proxies: impl IntoIterator<Item = &'a str>) -> Result<Self, LabError> {
        let file = |source| LabError::File { folder: folder.to_owned(), source };
        fs::create_dir_all(folder).map_err(file)?;
        let authority = Authority::new("hoptax study", SECONDS)?;
        fs::write(folder.join("ca.pem"), authority.certificate()).map_err(file)?;
        for name in [GENERATOR, ORIGIN].into_iter().chain(proxies) {
            let signed = authority.sign(&Request {
                names: vec![name.to_owned(), "localhost".to_owned(), "127.0.0.1".to_owned(), FAR.to_string()],
                spiffe: vec![spiffe(name)],
                key: KeyKind::P256,
                seconds: SECONDS,
            })?;
            fs::write(folder.join(format!("{name}.pem")), signed.certificate).map_err(file)?;
            fs::write(folder.join(format!("{name}.key")), signed.key).map_err(file)?;
        }
        Ok(Self { folder: folder.to_owned() })
    }

    /// The certificate of the authority.
    pub fn authority(&self) -> PathBuf {
        self.folder.join("ca.pem")
    }

    /// The certificate of a party.
    pub fn certificate(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.pem"))
    }

    /// The key of a party.
    pub fn key(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.key"))
    }

    /// TLS of `own` for connections with `peer`: its own certificate if it `has_identity`, and the peer's
    /// name if it `asks` for a certificate.
    pub fn tls_settings(&self, own: &str, peer: &str, has_identity: bool, asks: bool) -> TlsSettings {
        TlsSettings {
            authority: self.authority(),
            identity: has_identity.then(|| (self.certificate(own), self.key(own))),
            peer: asks.then(|| spiffe(peer)),
        }
    }
}

fn spiffe(name: &str) -> String {
    format!("spiffe://{TRUST_DOMAIN}/{name}")
}
