//! How connections are secured: what is trusted, who one is, and what is agreed to.

use std::sync::Arc;

use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::aws_lc_rs::kx_group;
use rustls::crypto::{
    CryptoProvider, SupportedKxGroup, aws_lc_rs, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{
    ClientConfig, DigitallySignedStruct, RootCertStore, ServerConfig, SignatureScheme,
    SupportedProtocolVersion, version,
};
use thiserror::Error;

use super::hints::GroupHints;
use super::once::Once;

/// The groups that keys are exchanged on, in the order in which they are offered where none is asked for. The order is stated
/// because that of rustls depends on its features, which any dependency may turn on.
const GROUPS: [&dyn SupportedKxGroup; 4] =
    [kx_group::X25519, kx_group::SECP256R1, kx_group::SECP384R1, kx_group::X25519MLKEM768];

/// Sessions that a client remembers.
const SESSIONS: usize = 4096;

/// A certificate with what it is signed by, and its key.
#[derive(Debug)]
pub struct Identity {
    certificates: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl Identity {
    /// Reads both from PEM.
    ///
    /// # Errors
    /// When there is no certificate or no key.
    pub fn from_pem(certificates: &[u8], key: &[u8]) -> Result<Self, SetupError> {
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| SetupError::NoKey)?;
        Ok(Self { certificates: certificates_from_pem(certificates)?, key })
    }
}

/// Reads certificates from PEM.
///
/// # Errors
/// When there is none.
pub fn certificates_from_pem(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, SetupError> {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    certificates.ok().filter(|certificates| !certificates.is_empty()).ok_or(SetupError::NoCertificate)
}

/// The versions of TLS that are spoken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Versions {
    /// 1.2 and 1.3.
    #[default]
    Both,
    /// 1.2 alone.
    Only12,
    /// 1.3 alone.
    Only13,
}

impl Versions {
    fn supported(self) -> Vec<&'static SupportedProtocolVersion> {
        match self {
            Self::Both => vec![&version::TLS13, &version::TLS12],
            Self::Only12 => vec![&version::TLS12],
            Self::Only13 => vec![&version::TLS13],
        }
    }
}

/// How a client's connections are secured.
#[derive(Debug, Default)]
pub struct ClientSecurity {
    /// The authorities that are trusted.
    pub authorities: Vec<CertificateDer<'static>>,
    /// Who the client is, if servers ask.
    pub identity: Option<Identity>,
    /// Whether anybody is taken for the server.
    pub trusts_all: bool,
    /// Whether a server that has proved once who it is, with its certificate and the key of that, is believed from then on. A
    /// client that verifies every time has as much work with a handshake as the server, and finds its own limit instead.
    pub verifies_once: bool,
    /// The versions that are offered.
    pub versions: Versions,
    /// The cipher suites that are offered, by their registered names; all if there is none.
    pub ciphers: Vec<String>,
    /// The groups for the key exchange that are offered, by their registered names, the first with a key of its own; if there
    /// is none, X25519 and then the others that are known.
    pub groups: Vec<String>,
    /// Whether sessions are taken up again.
    pub resumes: bool,
    /// The protocol that is offered (ALPN).
    pub alpn: Option<Vec<u8>>,
}

/// How a server's connections are secured.
#[derive(Debug)]
pub struct ServerSecurity {
    /// Who the server is.
    pub identity: Identity,
    /// The authorities whose clients it takes; it asks for no certificate if there is none.
    pub client_authorities: Vec<CertificateDer<'static>>,
    /// The versions that it takes.
    pub versions: Versions,
    /// Whether sessions can be taken up again.
    pub resumes: bool,
}

/// Why connections cannot be secured like this.
#[derive(Debug, Error)]
pub enum SetupError {
    /// No certificate.
    #[error("there is no certificate in PEM")]
    NoCertificate,
    /// No key.
    #[error("there is no private key in PEM")]
    NoKey,
    /// An unknown cipher suite.
    #[error("there is no cipher suite `{name}`; there are {}", known_ciphers().join(", "))]
    Cipher {
        /// As given.
        name: String,
    },
    /// An unknown group.
    #[error("there is no group `{name}` for the key exchange; there are {}", known_groups().join(", "))]
    Group {
        /// As given.
        name: String,
    },
    /// Anything else.
    #[error("{0}")]
    Refused(String),
}

impl From<rustls::Error> for SetupError {
    fn from(error: rustls::Error) -> Self {
        Self::Refused(error.to_string())
    }
}

fn known_ciphers() -> Vec<String> {
    aws_lc_rs::ALL_CIPHER_SUITES.iter().map(|suite| format!("{:?}", suite.suite())).collect()
}

fn known_groups() -> Vec<String> {
    GROUPS.iter().map(|group| registered(*group)).collect()
}

/// The name under which a group is registered with IANA: `X25519`, `secp256r1`, `X25519MLKEM768`.
pub(super) fn registered(group: &dyn SupportedKxGroup) -> String {
    format!("{:?}", group.name())
}

fn provider(ciphers: &[String], groups: &[String]) -> Result<Arc<CryptoProvider>, SetupError> {
    let mut provider = aws_lc_rs::default_provider();
    provider.kx_groups = GROUPS.to_vec();
    if !groups.is_empty() {
        let group = |name: &String| {
            let found = GROUPS.iter().find(|group| registered(**group) == *name);
            found.copied().ok_or_else(|| SetupError::Group { name: name.clone() })
        };
        provider.kx_groups = groups.iter().map(group).collect::<Result<_, _>>()?;
    }
    if !ciphers.is_empty() {
        let suite = |name: &String| {
            let is_it = |suite: &&rustls::SupportedCipherSuite| format!("{:?}", suite.suite()) == *name;
            let found = aws_lc_rs::ALL_CIPHER_SUITES.iter().find(is_it);
            found.copied().ok_or_else(|| SetupError::Cipher { name: name.clone() })
        };
        provider.cipher_suites = ciphers.iter().map(suite).collect::<Result<_, _>>()?;
    }
    Ok(Arc::new(provider))
}

/// The configuration of a client.
///
/// # Errors
/// When something of it is unknown or does not fit together.
pub fn client_config(security: ClientSecurity) -> Result<Arc<ClientConfig>, SetupError> {
    let provider = provider(&security.ciphers, &security.groups)?;
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&security.versions.supported())?;
    let builder = if security.trusts_all {
        builder.dangerous().with_custom_certificate_verifier(Arc::new(Anybody { provider }))
    } else if security.verifies_once {
        let verifier = Once::of(roots(security.authorities)?, provider)?;
        builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier))
    } else {
        builder.with_root_certificates(roots(security.authorities)?)
    };
    let mut config = match security.identity {
        Some(identity) => builder.with_client_auth_cert(identity.certificates, identity.key)?,
        None => builder.with_no_client_auth(),
    };
    config.resumption = if security.resumes {
        Resumption::in_memory_sessions(SESSIONS)
    } else {
        Resumption::store(Arc::new(GroupHints::default()))
    };
    config.alpn_protocols = security.alpn.into_iter().collect();
    Ok(Arc::new(config))
}

/// The configuration of a server, which speaks HTTP/2 and HTTP/1.1.
///
/// # Errors
/// When something of it does not fit together.
pub fn server_config(security: ServerSecurity) -> Result<Arc<ServerConfig>, SetupError> {
    let provider = provider(&[], &[])?;
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&security.versions.supported())?;
    let builder = if security.client_authorities.is_empty() {
        builder.with_no_client_auth()
    } else {
        let roots = Arc::new(roots(security.client_authorities)?);
        let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider)
            .build()
            .map_err(|error| SetupError::Refused(error.to_string()))?;
        builder.with_client_cert_verifier(verifier)
    };
    let mut config = builder.with_single_cert(security.identity.certificates, security.identity.key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    if security.resumes {
        config.ticketer = aws_lc_rs::Ticketer::new()?;
    } else {
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
    }
    Ok(Arc::new(config))
}

/// The same server, which takes one group alone.
#[cfg(test)]
pub(super) fn restricted_to(server: &ServerConfig, group: &str) -> Arc<ServerConfig> {
    let mut provider = CryptoProvider::clone(server.crypto_provider());
    provider.kx_groups.retain(|known| registered(*known) == group);
    let mut restricted = ServerConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&Versions::Both.supported())
        .expect("both versions are known")
        .with_no_client_auth()
        .with_cert_resolver(Arc::clone(&server.cert_resolver));
    restricted.ticketer = Arc::clone(&server.ticketer);
    Arc::new(restricted)
}

fn roots(authorities: Vec<CertificateDer<'static>>) -> Result<RootCertStore, SetupError> {
    let mut roots = RootCertStore::empty();
    let (_, refused) = roots.add_parsable_certificates(authorities);
    if refused > 0 && roots.is_empty() {
        return Err(SetupError::Refused("no authority among the certificates can be read".to_owned()));
    }
    Ok(roots)
}

/// Takes anybody for the server, and still checks that it has the key of its certificate, which is the greater part of the
/// work of a handshake.
#[derive(Debug)]
struct Anybody {
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
