//! Errors of TLS settings, which list the supported ciphers and groups.

use rustls::InconsistentKeys;
use rustls::crypto::SupportedKxGroup;
use rustls::crypto::aws_lc_rs::{self, kx_group};
use thiserror::Error;

/// Key exchange groups in the default order of preference. The order is stated because that of rustls depends on its
/// features, which any dependency may enable.
pub(super) const GROUPS: [&dyn SupportedKxGroup; 4] =
    [kx_group::X25519, kx_group::SECP256R1, kx_group::SECP384R1, kx_group::X25519MLKEM768];

/// An error of TLS settings.
#[derive(Debug, Error)]
pub enum SetupError {
    /// There is no certificate.
    #[error("the PEM data contains no certificate")]
    NoCertificate,
    /// There is no key.
    #[error("the PEM data contains no private key")]
    NoKey,
    /// An unknown cipher suite.
    #[error("unknown cipher suite `{name}`; supported: {}", known_ciphers().join(", "))]
    Cipher {
        /// As given.
        name: String,
    },
    /// An unknown group.
    #[error("unknown key exchange group `{name}`; supported: {}", known_groups().join(", "))]
    Group {
        /// As given.
        name: String,
    },
    /// The key is that of another certificate.
    #[error("the private key is not that of the certificate: give both of one pair")]
    OtherKey,
    /// Any other error.
    #[error("{0}")]
    Refused(String),
}

impl From<rustls::Error> for SetupError {
    fn from(error: rustls::Error) -> Self {
        match error {
            rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => Self::OtherKey,
            other => Self::Refused(other.to_string()),
        }
    }
}

fn known_ciphers() -> Vec<String> {
    aws_lc_rs::ALL_CIPHER_SUITES.iter().map(|suite| format!("{:?}", suite.suite())).collect()
}

fn known_groups() -> Vec<String> {
    GROUPS.iter().map(|group| registered(*group)).collect()
}

/// The name of a group in the IANA registry: `X25519`, `secp256r1`, `X25519MLKEM768`.
pub(super) fn registered(group: &dyn SupportedKxGroup) -> String {
    format!("{:?}", group.name())
}
