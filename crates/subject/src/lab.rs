//! The certificates of a study: an authority, and a certificate for every party that uses TLS.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use hoptax_certs::{Authority, CertificateError, KeyKind, Request, Signed};
use hoptax_host::link::FAR;
use hoptax_host::network::SERVERS;

/// The trust domain of the SPIFFE names.
const TRUST_DOMAIN: &str = "hoptax.test";
/// Validity of certificates, longer than any study.
const SECONDS: i64 = 7 * 24 * 3_600;

/// The name of the generator.
pub const GENERATOR: &str = "generator";
/// The name of the origin.
pub const ORIGIN: &str = "origin";

/// A folder of certificates, and the authority that signed them.
#[derive(Debug)]
pub struct Lab {
    folder: PathBuf,
    certificates: Certificates,
}

/// Additional names that given configurations expect in the certificates of their peers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PeerNames {
    /// Names in the certificate of the origin: DNS names and SPIFFE names.
    pub origin: BTreeSet<String>,
    /// Names in the certificate of the generator.
    pub generator: BTreeSet<String>,
}

/// An authority that signs certificates with any names. A certificate is reused for the same names and kind of key, because many proxies of
/// a study may have the same configuration, and large keys take seconds.
#[derive(Debug)]
pub struct Certificates {
    authority: Authority,
    signed: RefCell<BTreeMap<(BTreeSet<String>, KeyKind), Signed>>,
}

impl Certificates {
    /// The certificate of the authority.
    pub fn authority_pem(&self) -> String {
        self.authority.certificate()
    }

    /// A certificate with these names and this kind of key. Names that begin with `spiffe://` are SPIFFE names.
    ///
    /// # Errors
    /// When a name is not valid in a certificate.
    pub fn sign(&self, names: &BTreeSet<String>, key: KeyKind) -> Result<Signed, CertificateError> {
        let of = (names.clone(), key);
        if let Some(signed) = self.signed.borrow().get(&of) {
            return Ok(signed.clone());
        }
        let (spiffe, dns) = names.iter().cloned().partition(is_spiffe);
        let signed = self.authority.sign(&Request { names: dns, spiffe, key, seconds: SECONDS })?;
        self.signed.borrow_mut().insert(of, signed.clone());
        Ok(signed)
    }
}

/// TLS of one side of a connection: its files, and the expected peer. One-way TLS if the client has no identity and the
/// server expects no peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsSettings {
    /// The authority that both sides trust, PEM.
    pub authority: PathBuf,
    /// Its own certificate and key, PEM; none for a client without one.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// The SPIFFE name of the peer; none for a server that requests no client certificate.
    pub peer: Option<String>,
}

/// Reason why certificates are not available.
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
    /// Generates certificates for the generator, the origin and the proxies with these names, and writes them into a folder. The
    /// authority's key is not written.
    ///
    /// # Errors
    /// When they cannot be generated or written.
    pub fn create<'a>(
        folder: &Path,
        proxies: impl IntoIterator<Item = &'a str>,
        peers: &PeerNames,
    ) -> Result<Self, LabError> {
        let file = |source| LabError::File { folder: folder.to_owned(), source };
        fs::create_dir_all(folder).map_err(file)?;
        let authority = Authority::new("hoptax lab", SECONDS)?;
        fs::write(folder.join("ca.pem"), authority.certificate()).map_err(file)?;
        let certificates = Certificates { authority, signed: RefCell::default() };
        let none = BTreeSet::new();
        for name in [GENERATOR, ORIGIN].into_iter().chain(proxies) {
            let more = match name {
                GENERATOR => peers.generator.iter(),
                ORIGIN => peers.origin.iter(),
                _ => none.iter(),
            };
            let (more_spiffe, more_names): (Vec<String>, Vec<String>) = more.cloned().partition(is_spiffe);
            let usual = [name.to_owned(), "localhost".to_owned(), "127.0.0.1".to_owned(), FAR.to_string()];
            let usual = usual.into_iter().chain(SERVERS.map(|address| address.to_string()));
            let signed = certificates.authority.sign(&Request {
                names: usual.chain(more_names).collect(),
                spiffe: [spiffe(name)].into_iter().chain(more_spiffe).collect(),
                key: KeyKind::P256,
                seconds: SECONDS,
            })?;
            fs::write(folder.join(format!("{name}.pem")), signed.certificate).map_err(file)?;
            fs::write(folder.join(format!("{name}.key")), signed.key).map_err(file)?;
        }
        Ok(Self { folder: folder.to_owned(), certificates })
    }

    /// Returns the authority that signs further certificates.
    pub fn certificates(&self) -> &Certificates {
        &self.certificates
    }

    /// The folder of all certificates and keys, `NAME.pem` and `NAME.key` for each party.
    pub fn folder(&self) -> &Path {
        &self.folder
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

#[expect(clippy::ptr_arg, reason = "`partition` passes a reference to its items")]
fn is_spiffe(name: &String) -> bool {
    name.starts_with("spiffe://")
}

fn spiffe(name: &str) -> String {
    format!("spiffe://{TRUST_DOMAIN}/{name}")
}
