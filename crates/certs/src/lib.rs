//! Certificates for labs: an authority, and certificates signed by it. For tests only.
//!
//! A crate of its own, although it is short: `bootstrap` and the tests of `wire` use it, neither may depend on the other, and no crate is
//! below both.

pub mod folder;

use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ECDSA_P521_SHA512, PKCS_RSA_SHA256,
    RsaKeySize, SanType,
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
    /// SPIFFE names, as `spiffe://trust.domain/path`. Workloads have one; a stub that stands for several workloads has
    /// the names of all.
    pub spiffe: Vec<String>,
    /// The key, which determines most of the cost of a handshake.
    pub key: KeyKind,
    /// Validity from now, seconds; negative for an expired certificate.
    pub seconds: i64,
}

/// Algorithm and size of a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyKind {
    /// ECDSA on P-256.
    #[default]
    P256,
    /// ECDSA on P-384.
    P384,
    /// ECDSA on P-521.
    P521,
    /// RSA with 2048 bits.
    Rsa2048,
    /// RSA with 3072 bits.
    Rsa3072,
    /// RSA with 4096 bits.
    Rsa4096,
}

impl KeyKind {
    /// Algorithm and size in words.
    pub fn name(self) -> &'static str {
        match self {
            Self::P256 => "ECDSA P-256",
            Self::P384 => "ECDSA P-384",
            Self::P521 => "ECDSA P-521",
            Self::Rsa2048 => "RSA 2048",
            Self::Rsa3072 => "RSA 3072",
            Self::Rsa4096 => "RSA 4096",
        }
    }

    fn generate(self) -> Result<KeyPair, rcgen::Error> {
        let rsa = |size| KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, size);
        match self {
            Self::P256 => KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256),
            Self::P384 => KeyPair::generate_for(&PKCS_ECDSA_P384_SHA384),
            Self::P521 => KeyPair::generate_for(&PKCS_ECDSA_P521_SHA512),
            Self::Rsa2048 => rsa(RsaKeySize::_2048),
            Self::Rsa3072 => rsa(RsaKeySize::_3072),
            Self::Rsa4096 => rsa(RsaKeySize::_4096),
        }
    }
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
        for spiffe in &request.spiffe {
            params.subject_alt_names.push(SanType::URI(spiffe.as_str().try_into()?));
        }
        let first = request.names.first().map_or("hoptax", String::as_str);
        params.distinguished_name.push(DnType::CommonName, first);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        params.use_authority_key_identifier_extension = true;
        limit(&mut params, request.seconds);
        let key = request.key.generate()?;
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
    use super::*;

    #[test]
    fn an_authority_signs_names() {
        let authority = Authority::new("lab", 3_600).unwrap();
        assert!(authority.certificate().starts_with("-----BEGIN CERTIFICATE-----"));
        assert!(authority.key().contains("PRIVATE KEY"));
        let request = Request {
            names: vec!["localhost".to_owned(), "127.0.0.1".to_owned()],
            spiffe: vec!["spiffe://lab/a".to_owned()],
            key: KeyKind::P256,
            seconds: 3_600,
        };
        let signed = authority.sign(&request).unwrap();
        assert_ne!(signed.certificate, authority.sign(&request).unwrap().certificate, "each has its own key");
        let bad = Request { names: vec!["ü".to_owned()], ..request };
        assert!(authority.sign(&bad).is_err());
    }
    #[test]
    fn a_larger_key_makes_a_larger_certificate() {
        let authority = Authority::new("lab", 3_600).unwrap();
        let size = |key| {
            let request = Request { names: vec!["a".to_owned()], spiffe: Vec::new(), key, seconds: 3_600 };
            authority.sign(&request).unwrap().certificate.len()
        };
        // Keys of RSA take seconds to make: a test of `hoptax-bootstrap` has a certificate with each kind of key.
        let sizes = [KeyKind::P256, KeyKind::P384, KeyKind::P521].map(size);
        assert!(sizes.is_sorted(), "{sizes:?}");
    }
}
