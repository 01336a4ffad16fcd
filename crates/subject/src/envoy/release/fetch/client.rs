//! Requests to a package index, and explanations of their failures.

use std::sync::Arc;
use std::time::Duration;

use rustls_native_certs::{load_certs_from_paths, load_native_certs};
use ureq::config::RedirectAuthHeaders;
use ureq::http::{Response, StatusCode, Uri};
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, Body, ResponseExt};

use super::address::shown;
use super::error::FetchError;
use super::settings::Source;

/// Time limit for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// Longest silence of a server that is responding. The download of a whole wheel has no time limit.
const SILENCE_TIMEOUT: Duration = Duration::from_mins(1);

const NETWORK: &str =
    "check the network; behind a proxy, set HTTPS_PROXY; with an index of your own, set PIP_INDEX_URL";
const PROXY: &str = "check HTTPS_PROXY (or ALL_PROXY), and whether NO_PROXY should name the index";
const AUTHORITIES: &str = "if your network inspects TLS, set PIP_CERT or SSL_CERT_FILE to the certificate of its authority; a machine \
     without certificate authorities needs the package `ca-certificates`";
const CREDENTIALS: &str = "if the index needs a user, write it into the address: PIP_INDEX_URL=https://USER:TOKEN@HOST/PATH, or `index-url` in pip.conf";
const INDEX: &str = "check the address of the index: PIP_INDEX_URL, or `index-url` in pip.conf";
const LATER: &str = "try again later, or use another index: PIP_INDEX_URL, or `index-url` in pip.conf";

/// A client of an index.
pub(super) struct Client {
    agent: Agent,
    source: Source,
}

impl Client {
    /// A client with the certificate authorities that the user trusts.
    ///
    /// # Errors
    /// When the certificate authorities that the user names cannot be read.
    pub(super) fn new(source: &Source) -> Result<Self, FetchError> {
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::from(authorities(source)?))
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
            .build();
        let agent = Agent::config_builder()
            .tls_config(tls)
            .proxy(source.proxy.clone())
            // An index over HTTPS must not redirect to plain HTTP.
            .https_only(source.is_of_https())
            .http_status_as_error(false)
            .redirect_auth_headers(RedirectAuthHeaders::SameHost)
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .timeout_per_read(Some(SILENCE_TIMEOUT))
            .user_agent(concat!("hoptax/", env!("CARGO_PKG_VERSION")))
            .accept_encoding("identity")
            .build()
            .new_agent();
        Ok(Self { agent, source: source.clone() })
    }

    /// The response to a request that succeeds.
    ///
    /// # Errors
    /// When the request fails.
    pub(super) fn get(&self, address: &str, accept: &str) -> Result<Response<Body>, FetchError> {
        let request = self.agent.get(address).header("Accept", accept);
        let request = match self.source.credentials_for(address) {
            Some(credentials) => request.header("Authorization", credentials),
            None => request,
        };
        let response = request.call().map_err(|error| self.failed(address, &error))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        // The address may differ from the requested one after redirects.
        let (address, cause) = (shown(&response.get_uri().to_string()), format!("it answers {status}"));
        Err(FetchError::Request { address, cause, advice: advice(status) })
    }

    /// The error of a request, or of a response that breaks off.
    pub(super) fn failed(&self, address: &str, error: &ureq::Error) -> FetchError {
        let (cause, advice) = explained(error);
        let uri = address.parse::<Uri>().ok();
        let proxy = self.source.proxy.as_ref().filter(|proxy| uri.is_none_or(|uri| !proxy.is_no_proxy(&uri)));
        let by = proxy
            .map_or_else(String::new, |proxy| format!(", by the proxy {}:{}", proxy.host(), proxy.port()));
        FetchError::Request { address: shown(address), cause: format!("{cause}{by}"), advice }
    }
}

/// The certificate authorities that the user names, or those of the system.
fn authorities(source: &Source) -> Result<Vec<Certificate<'static>>, FetchError> {
    let read = match &source.authorities {
        Some(named) if named.path.is_dir() => load_certs_from_paths(None, Some(&named.path)),
        Some(named) => load_certs_from_paths(Some(&named.path), None),
        None => load_native_certs(),
    };
    if let Some(named) = source.authorities.as_ref().filter(|_| read.certs.is_empty()) {
        let cause =
            read.errors.first().map_or_else(|| "no certificate in PEM".to_owned(), ToString::to_string);
        return Err(FetchError::Authorities { setting: named.setting, path: named.path.clone(), cause });
    }
    Ok(read.certs.iter().map(|certificate| Certificate::from_der(certificate).to_owned()).collect())
}

/// The cause of a failure in words, and a remedy.
fn explained(error: &ureq::Error) -> (String, &'static str) {
    match error {
        ureq::Error::HostNotFound => (
            "its host, or one that it redirects to, has no address, or no name server answers".to_owned(),
            NETWORK,
        ),
        ureq::Error::Timeout(_) => ("it does not answer in time".to_owned(), NETWORK),
        ureq::Error::Rustls(error) => (format!("TLS fails: {error}"), AUTHORITIES),
        ureq::Error::Io(error)
            if error.get_ref().is_some_and(<dyn std::error::Error + Send + Sync>::is::<rustls::Error>) =>
        {
            (format!("TLS fails: {error}"), AUTHORITIES)
        }
        ureq::Error::Io(error) => (error.to_string(), NETWORK),
        ureq::Error::ConnectProxyFailed(reason) => (reason.clone(), PROXY),
        // This error contains an address, which may have secrets, and so may the text after the first colon of a protocol error.
        ureq::Error::BadUri(_) => ("it redirects to an invalid address".to_owned(), INDEX),
        ureq::Error::Protocol(error) => {
            (error.to_string().split(':').next().unwrap_or_default().to_owned(), INDEX)
        }
        ureq::Error::RequireHttpsOnly(_) => ("it redirects to an address without TLS".to_owned(), INDEX),
        error => (error.to_string(), INDEX),
    }
}

/// Advice about a status.
fn advice(status: StatusCode) -> &'static str {
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => CREDENTIALS,
        StatusCode::PROXY_AUTHENTICATION_REQUIRED => PROXY,
        status if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => LATER,
        _ => INDEX,
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn each_failure_is_told_with_what_helps() {
        let tls = rustls::Error::General("of the certificate".to_owned());
        let wrapped = io::Error::new(io::ErrorKind::InvalidData, tls.clone());
        for (error, expected, advice) in [
            (ureq::Error::HostNotFound, "no address", NETWORK),
            (ureq::Error::Io(io::ErrorKind::ConnectionRefused.into()), "refused", NETWORK),
            (ureq::Error::Rustls(tls), "of the certificate", AUTHORITIES),
            (ureq::Error::Io(wrapped), "of the certificate", AUTHORITIES),
            (ureq::Error::ConnectProxyFailed("it answers 403".to_owned()), "403", PROXY),
            (ureq::Error::RequireHttpsOnly("http://a.test/?secret".to_owned()), "without TLS", INDEX),
            (ureq::Error::BadUri("http://me:secret@a.test/ b".to_owned()), "an invalid address", INDEX),
            (ureq::Error::TooManyRedirects, "redirects", INDEX),
        ] {
            let (cause, given) = explained(&error);
            assert!(cause.contains(expected) && given == advice, "{cause}: {given}");
            assert!(!cause.contains("secret"), "{cause}");
        }
    }

    #[test]
    fn each_status_has_what_helps() {
        for (status, expected) in
            [(401, CREDENTIALS), (403, CREDENTIALS), (404, INDEX), (407, PROXY), (429, LATER), (503, LATER)]
        {
            assert_eq!(advice(StatusCode::from_u16(status).unwrap()), expected, "{status}");
        }
    }
}
