//! TLS configurations of clients and servers, from the files that users name.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hoptax_load::ConnectError;
use hoptax_load::trial::TrialError;
use hoptax_text::file::bytes_up_to;
use hoptax_wire::tls::{
    ClientConfig, ClientSecurity, Identity, ServerConfig, ServerSecurity, SetupError, certificates_from_pem,
    client_config, server_config,
};

use crate::failure::Failure;

pub use hoptax_wire::tls::Versions;

/// The most bytes of a file of certificates; those of all authorities of a system have far fewer.
const MOST_BYTES: u64 = 16 << 20;

/// A certificate and its private key, as PEM files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentityFiles {
    /// The certificate.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

/// TLS of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientTls {
    /// The trusted certificate authorities, as a PEM file; none for those of the system.
    pub authorities: Option<PathBuf>,
    /// True to accept every server certificate.
    pub trusts_all: bool,
    /// The client's certificate.
    pub identity: Option<IdentityFiles>,
    /// The server name to request and verify instead of the host.
    pub server_name: Option<String>,
    /// The offered versions.
    pub versions: Versions,
    /// The offered cipher suites; empty for all.
    pub ciphers: Vec<String>,
    /// The offered key exchange groups; empty for all.
    pub groups: Vec<String>,
    /// True to resume sessions; None if not given, which resumes them.
    pub resumes: Option<bool>,
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
            resumes: None,
        }
    }
}

impl ClientTls {
    /// True if sessions are resumed.
    pub fn resumes(&self) -> bool {
        self.resumes.unwrap_or(true)
    }

    /// The first option that is given, as users write it.
    pub(crate) fn first_option(&self) -> Option<&'static str> {
        let Self { authorities, trusts_all, identity, server_name, versions, ciphers, groups, resumes } =
            self;
        let given = [
            (authorities.is_some(), "--ca"),
            (*trusts_all, "--insecure"),
            (identity.is_some(), "--cert"),
            (server_name.is_some(), "--server-name"),
            (*versions != Versions::Both, "--tls-version"),
            (!ciphers.is_empty(), "--tls-ciphers"),
            (!groups.is_empty(), "--tls-groups"),
            (resumes.is_some(), "--tls-resumption"),
        ];
        given.into_iter().find_map(|(is_given, option)| is_given.then_some(option))
    }

    /// The configuration of connections that offer `alpn`.
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
            // QUIC does not report session resumption, so it is switched off.
            resumes: self.resumes() && !is_http3,
            alpn: alpn.map(<[u8]>::to_vec),
            verifies_once: false,
        };
        client_config(security).map_err(|error| refused(self.identity.as_ref(), &error))
    }

    /// The failure of a trial with these settings. If it was because no authority of the given file signed the server's certificate, it
    /// names that file: that `--ca` is missing would be wrong.
    pub(crate) fn failed(&self, error: &TrialError) -> Failure {
        match (error, &self.authorities) {
            (TrialError::Connect(ConnectError::Untrusted { address, .. }), Some(path)) => {
                Failure::environment(format!(
                    "the handshake with {address} failed: no authority in `{}` signed the server's certificate; give the one that \
                     did with --ca",
                    path.display()
                ))
            }
            _ => Failure::environment(error),
        }
    }
}

/// TLS of a server.
#[derive(Clone, Debug)]
pub struct ServerTls {
    /// The server's certificate.
    pub identity: IdentityFiles,
    /// The authorities that client certificates must be signed by, as a PEM file; none to request no certificates.
    pub client_authorities: Option<PathBuf>,
    /// True to accept clients without a certificate as well.
    pub accepts_anonymous_clients: bool,
    /// The protocols that are negotiated, the preferred one first.
    pub protocols: Vec<Alpn>,
}

/// A protocol that TLS negotiates (ALPN).
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Alpn {
    /// HTTP/2
    H2,
    /// HTTP/1.1
    #[value(name = "http/1.1")]
    Http1,
    /// HTTP/3, on the UDP port with the same number
    H3,
    /// No negotiation
    None,
}

impl Alpn {
    /// Its registered name, if it is negotiated over TCP.
    fn name(self) -> Option<&'static [u8]> {
        match self {
            Self::H2 => Some(b"h2"),
            Self::Http1 => Some(b"http/1.1"),
            Self::H3 | Self::None => None,
        }
    }
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
            alpn: self.protocols.iter().filter_map(|one| one.name()).map(<[u8]>::to_vec).collect(),
        };
        server_config(security).map_err(|error| refused(Some(&self.identity), &error))
    }
}

impl IdentityFiles {
    fn read(&self) -> Result<Identity, Failure> {
        let Self { certificate, key } = self;
        Identity::from_pem(&read(certificate)?, &read(key)?).map_err(|error| self.refused(&error))
    }

    fn refused(&self, error: &SetupError) -> Failure {
        let Self { certificate, key } = self;
        Failure::bad_input(format!("`{}` with `{}`: {error}", certificate.display(), key.display()))
    }
}

/// The failure of settings with this identity, which is named if it is to blame.
fn refused(identity: Option<&IdentityFiles>, error: &SetupError) -> Failure {
    match (identity, error) {
        (Some(files), SetupError::OtherKey) => files.refused(error),
        _ => Failure::bad_input(error),
    }
}

/// Reads a file and parses its bytes.
fn parsed<T>(path: &Path, parse: fn(&[u8]) -> Result<T, SetupError>) -> Result<T, Failure> {
    parse(&read(path)?).map_err(|error| invalid(path, &error))
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    bytes_up_to(path, MOST_BYTES).map_err(|error| invalid(path, &error))
}

fn invalid(path: &Path, reason: &dyn fmt::Display) -> Failure {
    Failure::bad_input(format!("`{}`: {reason}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_key_of_another_certificate_is_refused_with_both_files() {
        let folder = tempfile::tempdir().unwrap();
        let names = ["a".to_owned(), "b".to_owned()];
        hoptax_certs::folder::write(folder.path(), &names, 60, false).unwrap();
        let files = |certificate: &str, key: &str| IdentityFiles {
            certificate: folder.path().join(certificate),
            key: folder.path().join(key),
        };
        let server = |identity: IdentityFiles| ServerTls {
            identity,
            client_authorities: None,
            accepts_anonymous_clients: false,
            protocols: vec![Alpn::H2],
        };
        let client = |identity: IdentityFiles| ClientTls {
            identity: Some(identity),
            trusts_all: true,
            ..ClientTls::default()
        };
        assert!(server(files("a.pem", "a.key")).config().is_ok());
        assert!(client(files("b.pem", "b.key")).config(None).is_ok());
        let wrong = || files("a.pem", "b.key");
        for refused in [server(wrong()).config().map(drop), client(wrong()).config(None).map(drop)] {
            let refused = refused.unwrap_err().to_string();
            for part in ["a.pem` with `", "b.key`: the private key is not that of the certificate"] {
                assert!(refused.contains(part), "{refused}");
            }
        }
        fs::write(folder.path().join("a.key"), "no key").unwrap();
        assert!(server(files("a.pem", "a.key")).config().unwrap_err().to_string().contains("no private key"));
    }
}
