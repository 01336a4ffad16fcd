//! A certificate verifier that verifies each server only in the first handshake.
//!
//! Verifying two signatures is a third of a client's handshake cost, and gives no information after the first
//! time. Keys are still exchanged in each handshake, so the server's work is the same as for any client.

use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use super::SetupError;

/// Verifies every certificate once per name, and once that the server has its key.
#[derive(Debug)]
pub(super) struct VerifyOnce {
    verifier: Arc<WebPkiServerVerifier>,
    /// Verified certificates, with the name that they were verified for.
    certificates: Mutex<Vec<(CertificateDer<'static>, ServerName<'static>)>>,
    /// Certificates whose key a server has proved to have.
    keys: Mutex<Vec<CertificateDer<'static>>>,
}

impl VerifyOnce {
    /// A verifier that trusts these authorities.
    pub(super) fn new(roots: RootCertStore, provider: Arc<CryptoProvider>) -> Result<Self, SetupError> {
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build();
        let verifier = verifier.map_err(|error| SetupError::Refused(error.to_string()))?;
        Ok(Self { verifier, certificates: Mutex::default(), keys: Mutex::default() })
    }

    /// Verifies a signature unless the key has already been proved.
    fn signature(
        &self,
        certificate: &CertificateDer<'_>,
        verify: impl FnOnce() -> Result<HandshakeSignatureValid, Error>,
    ) -> Result<HandshakeSignatureValid, Error> {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        if keys.iter().any(|known| known == certificate) {
            return Ok(HandshakeSignatureValid::assertion());
        }
        let valid = verify()?;
        keys.push(certificate.clone().into_owned());
        Ok(valid)
    }
}

impl ServerCertVerifier for VerifyOnce {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let mut certificates = self.certificates.lock().unwrap_or_else(PoisonError::into_inner);
        if certificates.iter().any(|(known, of)| known == certificate && of == name) {
            return Ok(ServerCertVerified::assertion());
        }
        let verified = self.verifier.verify_server_cert(certificate, intermediates, name, ocsp, now)?;
        certificates.push((certificate.clone().into_owned(), name.to_owned()));
        Ok(verified)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signature(certificate, || self.verifier.verify_tls12_signature(message, certificate, signed))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signature(certificate, || self.verifier.verify_tls13_signature(message, certificate, signed))
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.verifier.supported_verify_schemes()
    }
}
