//! Certificates for labs: an authority, and certificates signed by it. For tests only.

use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, SanType,
};
use thiserror::Error;
use time::OffsetDateTime;

/// How long before now certificates become valid, to allow for clock skew.
const BEFORE: Duration = Duration::from_hours(1);

/// An authority.
#[derive(Debug)]
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// A certificate and its key.
#[derive(Clone, Debug)]
pub struct Signed {
    /// The certificate in PEM.
    pub certificate: String,
    /// Its key in PEM.
    pub key: String,
}

/// The properties of a certificate.
#[derive(Clone, Debug)]
pub struct Request {
    /// DNS names and addresses.
    pub names: Vec<String>,
    /// The SPIFFE name, as `spiffe://trust.domain/path`, if it has one.
    pub spiffe: Option<String>,
    /// Validity from now, seconds; negative for an expired certificate.
    pub seconds: i64,
}

/// Why a certificate cannot be generated.
#[derive(Debug, Error)]
#[error("cannot make a certificate: {0}")]
pub struct CertificateError(#[from] rcgen::Error);

impl Authority {
    /// A new authority that is valid for this number of seconds.
    ///
    /// # Errors
    /// When no key can be generated.
    pub fn new(name: &str, seconds: i64) -> Result<Self, CertificateError> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        limit(&mut params, seconds);
        Ok(Self { issuer: CertifiedIssuer::self_signed(params, KeyPair::generate()?)? })
    }

    /// Its certificate in PEM.
    pub fn certificate(&self) -> String {
        self.issuer.pem()
    }

    /// Its key in PEM.
    pub fn key(&self) -> String {
        self.issuer.key().serialize_pem()
    }

    /// Signs a certificate for a new key, for use by servers and clients.
    ///
    /// # Errors
    /// When a name is not valid in a certificate.
    pub fn sign(&self, request: &Request) -> Result<Signed, CertificateError> {
        let mut params = CertificateParams::new(request.names.clone())?;
        if let Some(spiffe) = &request.spiffe {
            params.subject_alt_names.push(SanType::URI(spiffe.as_str().try_into()?));
        }
        let first = request.names.first().map_or("hoptax", String::as_str);
        params.distinguished_name.push(DnType::CommonName, first);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        params.use_authority_key_identifier_extension = true;
        limit(&mut params, request.seconds);
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?;
        Ok(Signed { certificate: certificate.pem(), key: key.serialize_pem() })
    }
}

fn limit(params: &mut CertificateParams, seconds: i64) {
    let now = OffsetDateTime::now_utc();
    let end = now + time::Duration::seconds(seconds);
    (params.not_before, params.not_after) = (now.min(end) - BEFORE, end);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn an_authority_signs_names() {
        let authority = Authority::new("lab", 3_600).unwrap();
        assert!(authority.certificate().starts_with("-----BEGIN CERTIFICATE-----"));
        assert!(authority.key().contains("PRIVATE KEY"));
        let request = Request {
            names: vec!["localhost".to_owned(), "127.0.0.1".to_owned()],
            spiffe: Some("spiffe://lab/a".to_owned()),
            seconds: 3_600,
        };
        let signed = authority.sign(&request).unwrap();
        assert_ne!(signed.certificate, authority.sign(&request).unwrap().certificate, "each has its own key");
        let bad = Request { names: vec!["ü".to_owned()], ..request };
        assert!(authority.sign(&bad).is_err());
    }
}
