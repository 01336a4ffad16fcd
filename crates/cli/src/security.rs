//! Builds TLS configurations from arguments.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use hoptax_load::{Protocol, Target};
use hoptax_wire::tls::{
    ClientConfig, ClientSecurity, Identity, ServerConfig, ServerSecurity, Versions, certificates_from_pem,
    client_config, server_config,
};

use crate::arguments::{Alpn, OnOff, SecurityArguments, TlsVersion};
use crate::exit::Failure;

/// TLS configuration of a load's connections, which offer `alpn` as their protocol.
pub(crate) fn client(
    arguments: &SecurityArguments,
    alpn: Option<&[u8]>,
) -> Result<Arc<ClientConfig>, Failure> {
    let authorities = match &arguments.ca {
        Some(path) => {
            certificates_from_pem(&read(path)?).map_err(|error| invalid(path, &error.to_string()))?
        }
        None if arguments.insecure => Vec::new(),
        None => rustls_native_certs::load_native_certs().certs,
    };
    let identity = match (&arguments.cert, &arguments.key) {
        (Some(certificate), Some(key)) => Some(identity(certificate, key)?),
        _ => None,
    };
    let is_http3 = alpn == Some(b"h3");
    let security = ClientSecurity {
        authorities,
        identity,
        trusts_all: arguments.insecure,
        versions: match arguments.tls_version {
            None if is_http3 => Versions::Only13,
            Some(TlsVersion::V12) if is_http3 => {
                return Err(Failure::bad_input("HTTP/3 needs TLS 1.3: remove --tls-version"));
            }
            None => Versions::Both,
            Some(TlsVersion::V12) => Versions::Only12,
            Some(TlsVersion::V13) => Versions::Only13,
        },
        ciphers: arguments.tls_ciphers.clone(),
        groups: arguments.tls_groups.clone(),
        // QUIC does not report whether a session was resumed, so resumption is off.
        resumes: arguments.tls_resumption == OnOff::On && !is_http3,
        alpn: alpn.map(<[u8]>::to_vec),
        verifies_once: false,
    };
    client_config(security).map_err(Failure::bad_input)
}

/// A GET request over HTTP/1.1 without TLS, for commands that support nothing else.
pub(crate) fn http1_target(url: &str) -> Result<Target, Failure> {
    let target = Target::new(url, "GET", Vec::new(), Vec::new()).map_err(Failure::bad_input)?;
    if target.protocol == Protocol::Http1 && target.server_name.is_none() {
        return Ok(target);
    }
    Err(Failure::bad_input(format!(
        "`{}`: this command supports only `http://` URLs; `hoptax load` supports other protocols",
        target.url
    )))
}

/// TLS configuration of a server that negotiates these protocols; with a file of `client_authorities`, clients
/// need a certificate that one of them signed, or none if `accepts_anonymous_clients`.
pub(crate) fn server(
    certificate: &Path,
    key: &Path,
    (client_authorities, accepts_anonymous_clients): (Option<&Path>, bool),
    alpn: &[Alpn],
) -> Result<Arc<ServerConfig>, Failure> {
    let client_authorities = match client_authorities {
        Some(path) => {
            certificates_from_pem(&read(path)?).map_err(|error| invalid(path, &error.to_string()))?
        }
        None => Vec::new(),
    };
    let security = ServerSecurity {
        identity: identity(certificate, key)?,
        client_authorities,
        accepts_anonymous_clients,
        versions: Versions::Both,
        resumes: true,
        alpn: alpn.iter().filter_map(|protocol| protocol.name()).map(<[u8]>::to_vec).collect(),
    };
    server_config(security).map_err(Failure::bad_input)
}

fn identity(certificate: &Path, key: &Path) -> Result<Identity, Failure> {
    Identity::from_pem(&read(certificate)?, &read(key)?).map_err(|error| {
        Failure::bad_input(format!("`{}` with `{}`: {error}", certificate.display(), key.display()))
    })
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(path).map_err(|error| invalid(path, &error.to_string()))
}

fn invalid(path: &Path, reason: &str) -> Failure {
    Failure::bad_input(format!("`{}`: {reason}", path.display()))
}
