//! TLS configurations of clients and servers, from the files that users name.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hoptax_wire::tls::{
    ClientConfig, ClientSecurity, Identity, ServerConfig, ServerSecurity, SetupError, certificates_from_pem,
    client_config, server_config,
};

use crate::failure::Failure;

pub use hoptax_wire::tls::Versions;

/// A certificate and its private key, as PEM files.
#[derive(Clone, Debug)]
pub struct IdentityFiles {
    /// The certificate.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

/// TLS of a client.
#[derive(Clone, Debug)]
pub struct ClientTls {
    /// The certificate authorities that are trusted, as a PEM file; none for those of the system.
    pub authorities: Option<PathBuf>,
    /// True if every server certificate is accepted.
    pub trusts_all: bool,
    /// The client's certificate.
    pub identity: Option<IdentityFiles>,
    /// The server name that is requested and verified, instead of the host.
    pub server_name: Option<String>,
    /// The versions that are offered.
    pub versions: Versions,
    /// The cipher suites that are offered; none for all.
    pub ciphers: Vec<String>,
    /// The key exchange groups that are offered; none for all.
    pub groups: Vec<String>,
    /// True if sessions are resumed.
    pub resumes: bool,
}

impl Default for ClientTls {
    fn default() -> Self {
        Self {
            authorities: None,
            trusts_all: false,
            identity: None,
            server_name: None,
            versions: Versions::Both,
            ciphers: Vec::new(),
            groups: Vec::new(),
            resumes: true,
        }
    }
}

impl ClientTls {
    /// The configuration of connections that offer `alpn` as their protocol.
    pub(crate) fn config(&self, alpn: Option<&[u8]>) -> Result<Arc<ClientConfig>, Failure> {
        let authorities = match &self.authorities {
            Some(path) => parsed(path, certificates_from_pem)?,
            None if self.trusts_all => Vec::new(),
            None => rustls_native_certs::load_native_certs().certs,
        };
        let is_http3 = alpn == Some(b"h3");
        let security = ClientSecurity {
            authorities,
            identity: self.identity.as_ref().map(IdentityFiles::read).transpose()?,
            trusts_all: self.trusts_all,
            versions: match self.versions {
                Versions::Both if is_http3 => Versions::Only13,
                Versions::Only12 if is_http3 => {
                    return Err(Failure::bad_input("HTTP/3 needs TLS 1.3: remove --tls-version"));
                }
                versions => versions,
            },
            ciphers: self.ciphers.clone(),
            groups: self.groups.clone(),
            // QUIC does not report resumed sessions, so resumption is off.
            resumes: self.resumes && !is_http3,
            alpn: alpn.map(<[u8]>::to_vec),
            verifies_once: false,
        };
        client_config(security).map_err(Failure::bad_input)
    }
}

/// TLS of a server.
#[derive(Clone, Debug)]
pub struct ServerTls {
    /// The server's certificate.
    pub identity: IdentityFiles,
    /// The authorities of which clients need a certificate, as a PEM file.
    pub client_authorities: Option<PathBuf>,
    /// True if clients without a certificate are accepted, too.
    pub accepts_anonymous_clients: bool,
    /// The registered names of the protocols that are negotiated.
    pub alpn: Vec<Vec<u8>>,
}

impl ServerTls {
    /// The configuration.
    ///
    /// # Errors
    /// When a file cannot be read or is invalid.
    pub fn config(&self) -> Result<Arc<ServerConfig>, Failure> {
        let parse = |path: &PathBuf| parsed(path, certificates_from_pem);
        let client_authorities = self.client_authorities.as_ref().map(parse).transpose()?;
        let security = ServerSecurity {
            identity: self.identity.read()?,
            client_authorities: client_authorities.unwrap_or_default(),
            accepts_anonymous_clients: self.accepts_anonymous_clients,
            versions: Versions::Both,
            resumes: true,
            alpn: self.alpn.clone(),
        };
        server_config(security).map_err(Failure::bad_input)
    }
}

impl IdentityFiles {
    fn read(&self) -> Result<Identity, Failure> {
        let Self { certificate, key } = self;
        Identity::from_pem(&read(certificate)?, &read(key)?).map_err(|error| {
            Failure::bad_input(format!("`{}` with `{}`: {error}", certificate.display(), key.display()))
        })
    }
}

/// Reads a file and parses its bytes.
fn parsed<T>(path: &Path, parse: fn(&[u8]) -> Result<T, SetupError>) -> Result<T, Failure> {
    parse(&read(path)?).map_err(|error| invalid(path, &error))
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(path).map_err(|error| invalid(path, &error))
}

fn invalid(path: &Path, reason: &dyn fmt::Display) -> Failure {
    Failure::bad_input(format!("`{}`: {reason}", path.display()))
}
