//! TLS arguments of `hoptax load`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use hoptax_session::tls::{ClientTls, IdentityFiles, Versions};

use super::values;

/// The versions that can be chosen.
const TLS_VERSIONS: [(&str, Versions); 2] = [("1.2", Versions::Only12), ("1.3", Versions::Only13)];

/// TLS settings of a client.
#[derive(Debug, Args)]
#[command(next_help_heading = "TLS")]
pub(crate) struct SecurityArguments {
    /// Trust the certificate authorities in this PEM file instead of the system's
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) ca: Option<PathBuf>,
    /// Accept any server certificate
    #[arg(long, conflicts_with = "ca")]
    pub(crate) insecure: bool,
    /// Client certificate for servers that request one, PEM
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "key")]
    pub(crate) cert: Option<PathBuf>,
    /// Private key of the client certificate, PEM
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "cert")]
    pub(crate) key: Option<PathBuf>,
    /// Server name for SNI and certificate verification instead of the URL's host
    #[arg(long, value_name = "NAME")]
    pub(crate) server_name: Option<String>,
    /// TLS version [default: the highest that both sides support]
    #[arg(long, value_name = "VERSION", value_parser = values::one_of(TLS_VERSIONS))]
    pub(crate) tls_version: Option<Versions>,
    /// Offered cipher suites, separated by commas, such as `TLS13_AES_128_GCM_SHA256` [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) tls_ciphers: Vec<String>,
    /// Offered key exchange groups, separated by commas, such as `X25519MLKEM768` [default: all, X25519 first]
    ///
    /// The client sends a key share for the first group.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) tls_groups: Vec<String>,
    /// Resume TLS sessions on new connections [default: on]
    #[arg(long, value_name = "ON|OFF", value_parser = values::one_of([("on", true), ("off", false)]))]
    pub(crate) tls_resumption: Option<bool>,
}

impl From<&SecurityArguments> for ClientTls {
    fn from(arguments: &SecurityArguments) -> Self {
        let identity = arguments.cert.clone().zip(arguments.key.clone());
        Self {
            authorities: arguments.ca.clone(),
            trusts_all: arguments.insecure,
            identity: identity.map(|(certificate, key)| IdentityFiles { certificate, key }),
            server_name: arguments.server_name.clone(),
            versions: arguments.tls_version.unwrap_or(Versions::Both),
            ciphers: arguments.tls_ciphers.clone(),
            groups: arguments.tls_groups.clone(),
            resumes: arguments.tls_resumption,
        }
    }
}
