//! Where the load goes: a URL, resolved and encoded once.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

use hoptax_wire::http1::{Request, RequestError};
use http::Uri;
use thiserror::Error;

use crate::expect::Expectation;

/// A resolved address and the bytes that are sent to it.
#[derive(Clone, Debug)]
pub struct Target {
    /// The URL as given.
    pub url: String,
    /// The request method.
    pub method: String,
    /// Where connections go.
    pub address: SocketAddr,
    /// The encoded request.
    pub request: Vec<u8>,
    /// What is expected of its answers.
    pub expectation: Expectation,
}

/// Why a URL is no target.
#[derive(Debug, Error)]
pub enum TargetError {
    /// Not a URL at all.
    #[error("`{url}` is not a URL ({reason}); write it as `http://HOST:PORT/PATH`")]
    Url {
        /// As given.
        url: String,
        /// What is wrong.
        reason: String,
    },
    /// A scheme that is not spoken.
    #[error("`{url}`: hoptax speaks `http://` here, not `{scheme}://`")]
    Scheme {
        /// As given.
        url: String,
        /// Its scheme.
        scheme: String,
    },
    /// The host has no address.
    #[error("cannot find the address of `{host}`: {source}; check the name, or give its address")]
    Resolve {
        /// The host.
        host: String,
        /// What the resolver said.
        source: std::io::Error,
    },
    /// The host name resolves to nothing.
    #[error("`{host}` has no address; check the name, or give its address")]
    NoAddress {
        /// The host.
        host: String,
    },
    /// The request cannot be encoded.
    #[error(transparent)]
    Request(#[from] RequestError),
}

impl Target {
    /// Resolves `url` and encodes a request to it.
    ///
    /// # Errors
    /// When the URL is not `http://`, its host has no address, or a header cannot be sent.
    pub fn new(
        url: &str,
        method: &str,
        headers: Vec<(String, String)>,
        body: Vec<u8>,
    ) -> Result<Self, TargetError> {
        let bad_url = |reason: String| TargetError::Url { url: url.to_owned(), reason };
        if !url.contains("://") {
            return Err(bad_url("it has no scheme".to_owned()));
        }
        let parsed: Uri = url.parse().map_err(|error: http::uri::InvalidUri| bad_url(error.to_string()))?;
        match parsed.scheme_str() {
            Some("http") => {}
            other => {
                let scheme = other.unwrap_or_default().to_owned();
                return Err(TargetError::Scheme { url: url.to_owned(), scheme });
            }
        }
        let authority = parsed.authority().ok_or_else(|| bad_url("it has no host".to_owned()))?;
        let port = authority.port_u16().unwrap_or(80);
        let bare_host = authority.host().trim_start_matches('[').trim_end_matches(']');
        let address = match bare_host.parse::<IpAddr>() {
            Ok(address) => SocketAddr::from((address, port)),
            Err(_) => resolve(bare_host, port)?,
        };
        let target = parsed.path_and_query().map_or("/", |target| target.as_str()).to_owned();
        let host_header = match authority.port() {
            Some(port) => format!("{}:{port}", authority.host()),
            None => authority.host().to_owned(),
        };
        let request =
            Request { method: method.to_owned(), target, host: host_header, headers, body }.encode()?;
        let expectation = Expectation::default();
        Ok(Self { url: url.to_owned(), method: method.to_owned(), address, request, expectation })
    }
}

/// The first address of a name; one of IPv4 if there is one, as servers on loopback often listen on that alone.
fn resolve(name: &str, port: u16) -> Result<SocketAddr, TargetError> {
    let addresses: Vec<SocketAddr> = (name, port)
        .to_socket_addrs()
        .map_err(|source| TargetError::Resolve { host: name.to_owned(), source })?
        .collect();
    addresses
        .iter()
        .find(|address| address.is_ipv4())
        .or(addresses.first())
        .copied()
        .ok_or_else(|| TargetError::NoAddress { host: name.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(url: &str) -> Result<Target, TargetError> {
        Target::new(url, "GET", Vec::new(), Vec::new())
    }

    #[test]
    fn a_url_becomes_an_address_and_bytes() {
        let target = target("http://127.0.0.1:8080/a?b=c").unwrap();
        assert_eq!(target.address, SocketAddr::from(([127, 0, 0, 1], 8080)));
        assert_eq!(target.request, b"GET /a?b=c HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n");
        assert_eq!(super::tests::target("http://[::1]/").unwrap().address, "[::1]:80".parse().unwrap());
        assert_eq!(super::tests::target("http://localhost:1").unwrap().address.port(), 1);
    }

    #[test]
    fn what_is_no_target_says_why() {
        let message = |url: &str| target(url).unwrap_err().to_string();
        assert!(message("127.0.0.1:8080").contains("no scheme"), "{}", message("127.0.0.1:8080"));
        assert!(message("https://127.0.0.1/").contains("not `https://`"));
        assert!(message("http://").contains("not a URL"));
        assert!(message("http://name.invalid/").contains("name.invalid"));
    }
}
