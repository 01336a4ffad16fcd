//! TLS configuration: trusted authorities, identities, versions, cipher suites and groups.

use std::sync::Arc;

use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{
    ClientConfig, DigitallySignedStruct, RootCertStore, ServerConfig, SignatureScheme,
    SupportedProtocolVersion, version,
};

use super::sessions::Sessions;
use super::setup_error::{GROUPS, SetupError, registered};
use super::verify_once::VerifyOnce;

/// A certificate chain and its key.
#[derive(Debug)]
pub struct Identity {
    certificates: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl Identity {
    /// Parses both from PEM.
    ///
    /// # Errors
    /// When there is no certificate or no key.
    pub fn from_pem(certificates: &[u8], key: &[u8]) -> Result<Self, SetupError> {
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| SetupError::NoKey)?;
        Ok(Self { certificates: certificates_from_pem(certificates)?, key })
    }
}

/// Parses certificates from PEM.
///
/// # Errors
/// When there is none.
pub fn certificates_from_pem(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, SetupError> {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    certificates.ok().filter(|certificates| !certificates.is_empty()).ok_or(SetupError::NoCertificate)
}

/// Supported TLS versions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Versions {
    /// 1.2 and 1.3.
    #[default]
    Both,
    /// 1.2 only.
    Only12,
    /// 1.3 only.
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

/// TLS settings of a client.
#[derive(Debug, Default)]
pub struct ClientSecurity {
    /// The trusted authorities.
    pub authorities: Vec<CertificateDer<'static>>,
    /// The client's identity, for servers that request one.
    pub identity: Option<Identity>,
    /// True if every server certificate is accepted.
    pub trusts_all: bool,
    /// True if a server that has once proved its identity, by its certificate and key, is trusted from then on. A client that verifies
    /// every time has as much work per handshake as the server, and measures its own limit instead.
    pub verifies_once: bool,
    /// The versions offered.
    pub versions: Versions,
    /// The cipher suites offered, by their registered names; all if empty.
    pub ciphers: Vec<String>,
    /// The key exchange groups offered, by their registered names, the first with a key share; if empty, X25519 and
    /// then the other supported groups.
    pub groups: Vec<String>,
    /// True if sessions are resumed.
    pub resumes: bool,
    /// The ALPN protocol offered.
    pub alpn: Option<Vec<u8>>,
}

/// TLS settings of a server.
#[derive(Debug)]
pub struct ServerSecurity {
    /// The server's identity.
    pub identity: Identity,
    /// The authorities of accepted client certificates; none are requested if empty.
    pub client_authorities: Vec<CertificateDer<'static>>,
    /// True if a client may present no certificate although one is requested.
    pub accepts_anonymous_clients: bool,
    /// The versions accepted.
    pub versions: Versions,
    /// True if sessions can be resumed.
    pub resumes: bool,
    /// The ALPN protocols, the preferred one first; without any, the server does not take part in the negotiation.
    pub alpn: Vec<Vec<u8>>,
}

impl ServerSecurity {
    /// The usual settings: no client certificates, all versions, no resumption and no protocols.
    pub fn new(identity: Identity) -> Self {
        Self {
            identity,
            client_authorities: Vec::new(),
            accepts_anonymous_clients: false,
            versions: Versions::Both,
            resumes: false,
            alpn: Vec::new(),
        }
    }
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
/// When a setting is unknown or inconsistent with others.
pub fn client_config(security: ClientSecurity) -> Result<Arc<ClientConfig>, SetupError> {
    let provider = provider(&security.ciphers, &security.groups)?;
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&security.versions.supported())?;
    let builder = if security.trusts_all {
        builder.dangerous().with_custom_certificate_verifier(Arc::new(NoVerifier { provider }))
    } else if security.verifies_once {
        let verifier = VerifyOnce::new(roots(security.authorities)?, provider)?;
        builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier))
    } else {
        builder.with_root_certificates(roots(security.authorities)?)
    };
    let mut config = match security.identity {
        Some(identity) => builder.with_client_auth_cert(identity.certificates, identity.key)?,
        None => builder.with_no_client_auth(),
    };
    let sessions = if security.resumes { Sessions::kept() } else { Sessions::groups_only() };
    config.resumption = Resumption::store(Arc::new(sessions));
    config.alpn_protocols = security.alpn.into_iter().collect();
    Ok(Arc::new(config))
}

/// The same configuration with these ALPN protocols, the preferred one first, and with an empty store of sessions and
/// groups: its handshakes do not affect those of the original.
pub fn offering(config: &ClientConfig, protocols: &[&[u8]]) -> Arc<ClientConfig> {
    let mut config = config.clone();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    config.resumption = Resumption::disabled();
    Arc::new(config)
}

/// The configuration of a server.
///
/// # Errors
/// When settings are inconsistent.
pub fn server_config(security: ServerSecurity) -> Result<Arc<ServerConfig>, SetupError> {
    let provider = provider(&[], &[])?;
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&security.versions.supported())?;
    let builder = if security.client_authorities.is_empty() {
        builder.with_no_client_auth()
    } else {
        let roots = Arc::new(roots(security.client_authorities)?);
        let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider);
        let verifier =
            if security.accepts_anonymous_clients { verifier.allow_unauthenticated() } else { verifier };
        let verifier = verifier.build().map_err(|error| SetupError::Refused(error.to_string()))?;
        builder.with_client_cert_verifier(verifier)
    };
    let mut config = builder.with_single_cert(security.identity.certificates, security.identity.key)?;
    config.alpn_protocols = security.alpn;
    if security.resumes {
        config.ticketer = aws_lc_rs::Ticketer::new()?;
    } else {
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
    }
    Ok(Arc::new(config))
}

/// The same server, restricted to one group.
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

/// Accepts any server certificate, but still checks that the server has its key, which is most of the work of a
/// handshake.
#[derive(Debug)]
struct NoVerifier {
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for NoVerifier {
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
