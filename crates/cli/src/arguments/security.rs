//! The flags of TLS.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

/// How a client's connections are secured.
#[derive(Debug, Args)]
#[command(next_help_heading = "TLS")]
pub(crate) struct SecurityArguments {
    /// Certificates of the authorities that may sign the server's, in PEM, in place of those that the system trusts
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) ca: Option<PathBuf>,
    /// Take any certificate of the server
    #[arg(long, conflicts_with = "ca")]
    pub(crate) insecure: bool,
    /// The client's certificate, in PEM, for servers that ask for one
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "key")]
    pub(crate) cert: Option<PathBuf>,
    /// The key of the client's certificate, in PEM
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "cert")]
    pub(crate) key: Option<PathBuf>,
    /// The name that is asked for (SNI) and that the server's certificate must have, in place of the host of the URL
    #[arg(long, value_name = "NAME")]
    pub(crate) server_name: Option<String>,
    /// The version, in place of the highest that both sides speak
    #[arg(long, value_name = "VERSION")]
    pub(crate) tls_version: Option<TlsVersion>,
    /// The cipher suites that are offered, by their names (`TLS13_AES_128_GCM_SHA256`), with commas between; all if not given
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) tls_ciphers: Vec<String>,
    /// The groups for the key exchange that are offered, by their names (`X25519MLKEM768`), with commas between, the first with a key of its own; all that are known, X25519 first, if not given
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) tls_groups: Vec<String>,
    /// Whether a new connection takes up an earlier session
    #[arg(long, value_name = "ON|OFF", default_value = "on")]
    pub(crate) tls_resumption: OnOff,
}

/// A version of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TlsVersion {
    /// 1.2
    #[value(name = "1.2")]
    V12,
    /// 1.3
    #[value(name = "1.3")]
    V13,
}

/// A protocol in the negotiation of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Alpn {
    /// HTTP/2
    H2,
    /// HTTP/1.1
    #[value(name = "http/1.1")]
    Http1,
    /// No part in the negotiation
    None,
}

impl Alpn {
    /// Its registered name.
    pub(crate) fn name(self) -> Option<&'static [u8]> {
        match self {
            Self::H2 => Some(b"h2"),
            Self::Http1 => Some(b"http/1.1"),
            Self::None => None,
        }
    }
}

/// Yes or no.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnOff {
    /// Yes.
    On,
    /// No.
    Off,
}
