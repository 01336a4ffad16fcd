//! The kind of key in a user's certificate.

use hoptax_certs::KeyKind;
use serde_json::Value;
use x509_parser::pem::Pem;
use x509_parser::public_key::PublicKey;

use crate::adapt::Context;

/// The kind of key of a `TlsCertificate`; none if its certificate cannot be read, or if the lab has no such key.
pub(super) fn of_certificate(context: &Context<'_>, certificate: &Value) -> Option<KeyKind> {
    of_pem(&context.content(certificate.get("certificate_chain")?)?)
}

/// The kind of key of the first certificate in PEM.
pub(in crate::adapt) fn of_pem(bytes: &[u8]) -> Option<KeyKind> {
    let pem = Pem::iter_from_buffer(bytes).next()?.ok()?;
    let certificate = pem.parse_x509().ok()?;
    let key = certificate.public_key().parsed().ok()?;
    match (&key, key.key_size()) {
        (PublicKey::EC(_), 0..=256) => Some(KeyKind::P256),
        (PublicKey::EC(_), 257..=384) => Some(KeyKind::P384),
        (PublicKey::EC(_), _) => Some(KeyKind::P521),
        (PublicKey::RSA(_), 0..=2048) => Some(KeyKind::Rsa2048),
        (PublicKey::RSA(_), 2049..=3072) => Some(KeyKind::Rsa3072),
        (PublicKey::RSA(_), _) => Some(KeyKind::Rsa4096),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use hoptax_certs::{Authority, Request};

    use super::*;

    #[test]
    fn each_kind_of_key_is_recognised_in_a_certificate() {
        let authority = Authority::new("lab", 60).unwrap();
        for key in [
            KeyKind::P256,
            KeyKind::P384,
            KeyKind::P521,
            KeyKind::Rsa2048,
            KeyKind::Rsa3072,
            KeyKind::Rsa4096,
        ] {
            let request = Request { names: vec!["a".to_owned()], spiffe: Vec::new(), key, seconds: 60 };
            assert_eq!(of_pem(authority.sign(&request).unwrap().certificate.as_bytes()), Some(key));
        }
        assert_eq!(of_pem(b"no certificate"), None);
    }
}
