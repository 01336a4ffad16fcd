//! The specification of a request, and the request resolved and encoded from it.

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use hoptax_text::list::alternatives;
use hoptax_wire::http1::{Request, RequestError};
use hoptax_wire::tls::ServerName;
use hoptax_wire::{Encoded, Hidden};
use thiserror::Error;

use crate::addresses::Addresses;
use crate::lookups::HostPort;
use crate::placeholders::{
    self, Placeholder, find_placeholders, has_placeholders, with_stand_ins, without_stand_ins,
};
use crate::protocol::{Content, EncodeError, Protocol, Unencoded};
use crate::resolve::{ResolveError, Resolver};
use crate::url::{Url, without_user};

/// Specification of a request. In the URL, header values and the body, `{counter}` is replaced by a twelve-digit request
/// number and `{random}` by sixteen random hexadecimal digits.
#[derive(Clone)]
pub struct RequestSpec<'a> {
    /// The URL. Its user information is sent as basic authentication, unless there is an `Authorization` header.
    pub url: &'a str,
    /// The method. Ignored for gRPC, which uses `POST`.
    pub method: &'a str,
    /// The headers.
    pub headers: Vec<(String, String)>,
    /// The body: length-prefixed messages of gRPC, or the bytes to send over TCP or WebSocket.
    pub body: Vec<u8>,
    /// The protocol, if the URL's scheme allows several; None for the scheme's default.
    pub protocol: Option<Protocol>,
    /// The deadline of a gRPC call, sent as `grpc-timeout`.
    pub deadline: Option<Duration>,
    /// Name to verify in the server's certificate; None for the host of the URL.
    pub server_name: Option<&'a str>,
    /// Resolves the host; None for the system's resolver without a cache.
    pub resolver: Option<&'a Resolver>,
}

impl fmt::Debug for RequestSpec<'_> {
    /// Omits values that may be secret: user information, header values, the body.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestSpec")
            .field("url", &without_user(self.url))
            .field("method", &self.method)
            .field("protocol", &self.protocol)
            .finish_non_exhaustive()
    }
}

impl Default for RequestSpec<'_> {
    fn default() -> Self {
        Self {
            url: "",
            method: "GET",
            headers: Vec::new(),
            body: Vec::new(),
            protocol: None,
            deadline: None,
            server_name: None,
            resolver: None,
        }
    }
}

/// A resolved and encoded request.
#[derive(Clone, Debug)]
pub struct Target {
    /// The URL without its user information.
    pub url: String,
    /// Path and query of the URL.
    path: String,
    /// The request method; empty for protocols without methods.
    pub method: String,
    /// The server's address; the first one if several are used.
    pub address: SocketAddr,
    /// The addresses of the server.
    pub(crate) addresses: Addresses,
    /// The host name to look up again during the load, if any.
    pub(crate) name: Option<HostPort>,
    /// The protocol.
    pub protocol: Protocol,
    /// Name to verify in the server's certificate; None without TLS.
    pub server_name: Option<ServerName<'static>>,
    /// The encoded request.
    pub(crate) request: Encoded,
    /// Bytes of its body.
    pub(crate) body_bytes: u64,
    /// The upgrade request that starts a WebSocket connection; empty for other protocols.
    pub(crate) upgrade: Hidden,
    /// The placeholders to fill in for each request.
    pub(crate) placeholders: Vec<Placeholder>,
}

/// Reason why a request specification is invalid.
#[derive(Debug, Error)]
pub enum TargetError {
    /// The URL is invalid.
    #[error("`{url}` is not a URL ({reason}); use `http://HOST:PORT/PATH`")]
    Url {
        /// The URL.
        url: String,
        /// Invalid part of the URL.
        reason: String,
    },
    /// The scheme is not supported.
    #[error("`{url}`: unsupported scheme `{scheme}`; use {}", one_of(&Protocol::schemes()))]
    Scheme {
        /// The URL.
        url: String,
        /// Its scheme.
        scheme: String,
    },
    /// The scheme does not allow the protocol.
    #[error("`{url}` cannot be used with the protocol `{protocol}`; {}", choices(allowed))]
    Protocol {
        /// The URL.
        url: String,
        /// The requested protocol.
        protocol: Protocol,
        /// The protocols that the scheme allows.
        allowed: Vec<Protocol>,
    },
    /// The server name is not a valid name in a certificate.
    #[error("`{name}` is not a valid server name; set one with --server-name")]
    ServerName {
        /// The server name.
        name: String,
    },
    /// User information with a protocol that has no authentication.
    #[error("`{url}` has user information, which `{protocol}` cannot send; remove it")]
    Credentials {
        /// The URL without it.
        url: String,
        /// The protocol.
        protocol: Protocol,
    },
    /// The host has no address.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    /// The request cannot be encoded.
    #[error(transparent)]
    Encode(#[from] EncodeError),
}

impl Target {
    /// A GET request of HTTP/1.1.
    ///
    /// # Errors
    /// As [`Self::from_spec`].
    pub fn get(url: &str) -> Result<Self, TargetError> {
        Self::from_spec(&RequestSpec { url, ..RequestSpec::default() })
    }

    /// An HTTP/1.1 request.
    ///
    /// # Errors
    /// As [`Self::from_spec`].
    pub fn new(
        url: &str,
        method: &str,
        headers: Vec<(String, String)>,
        body: Vec<u8>,
    ) -> Result<Self, TargetError> {
        let spec = RequestSpec { url, method, headers, body, ..RequestSpec::default() };
        Self::from_spec(&spec)
    }

    /// Resolves and encodes a request.
    ///
    /// # Errors
    /// When the URL is invalid, its scheme does not allow the protocol, its host has no address, or a header cannot be sent.
    pub fn from_spec(spec: &RequestSpec<'_>) -> Result<Self, TargetError> {
        let shown = without_user(spec.url);
        let (url, (allowed, is_secure)) = parsed(spec.url)?;
        let requested = spec.protocol.or(allowed.first().copied()).unwrap_or_default();
        let Some(protocol) = requested.among(&allowed) else {
            return Err(TargetError::Protocol { url: shown, protocol: requested, allowed });
        };
        let content = protocol.content();
        if content == Content::Bytes && url.credentials.is_some() {
            return Err(TargetError::Credentials { url: shown, protocol });
        }
        let port = port(&url, is_secure);
        let addresses = match spec.resolver {
            Some(resolver) => resolver.addresses(&url.dialled(), port)?,
            None => Resolver::default().addresses(&url.dialled(), port)?,
        };
        let server_name = if is_secure {
            let name = spec.server_name.unwrap_or(&url.host).to_owned();
            Some(ServerName::try_from(name.clone()).map_err(|_| TargetError::ServerName { name })?)
        } else {
            None
        };
        let body = body(spec);
        let body_bytes = body.len() as u64;
        let unencoded = Unencoded {
            request: Request {
                method: if content == Content::Calls { "POST" } else { spec.method }.to_owned(),
                target: url.target.clone(),
                host: url.authority.clone(),
                headers: headers(spec, &url),
                body,
            },
            is_secure,
            deadline: spec.deadline,
        };
        let (request, upgrade) = protocol.encode(&unencoded).map_err(as_written)?;
        Ok(Self {
            url: shown,
            path: without_stand_ins(&url.target),
            method: match content {
                Content::Requests | Content::Calls => unencoded.request.method,
                Content::Messages | Content::Bytes => String::new(),
            },
            address: addresses.select(0).0,
            addresses,
            name: spec.resolver.and_then(|resolver| resolver.refreshed_name(&url.dialled(), port)),
            protocol,
            server_name,
            placeholders: find_placeholders(&request.bytes),
            request,
            body_bytes,
            upgrade,
        })
    }

    /// The host and the port that requests to a URL are sent to. Nothing is resolved or opened.
    ///
    /// # Errors
    /// When the URL is invalid.
    pub fn host_and_port(url: &str) -> Result<HostPort, TargetError> {
        let (url, (_, is_secure)) = parsed(url)?;
        let port = port(&url, is_secure);
        Ok(HostPort { host: url.host, port })
    }

    /// The path of the URL, with its query.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Memory size in bytes, without the overhead of the allocator.
    pub fn memory_bytes(&self) -> usize {
        let texts = self.url.len() + self.path.len() + self.method.len() + self.upgrade.len();
        let placeholders = self.placeholders.len() * size_of::<Placeholder>();
        size_of::<Self>() + texts + placeholders + self.request.memory_bytes()
    }

    /// Fills in the placeholders of one request.
    pub(crate) fn fill(&self, bytes: &mut [u8], counter: u64, random: u64) {
        placeholders::fill(&self.placeholders, bytes, counter, random);
    }
}

/// Returns a URL with the protocols that its scheme allows, and true if these use TLS.
fn parsed(text: &str) -> Result<(Url, (Vec<Protocol>, bool)), TargetError> {
    let shown = without_user(text);
    let bad_url = |reason: String| TargetError::Url { url: shown.clone(), reason };
    let url = Url::parse(&with_stand_ins(text)).map_err(|reason| bad_url(without_stand_ins(&reason)))?;
    if has_placeholders(url.authority.as_bytes()) {
        return Err(bad_url("its host cannot contain a placeholder".to_owned()));
    }
    let protocols = Protocol::from_scheme(&url.scheme)
        .ok_or_else(|| TargetError::Scheme { url: shown.clone(), scheme: url.scheme.clone() })?;
    Ok((url, protocols))
}

fn port(url: &Url, is_secure: bool) -> u16 {
    url.port.unwrap_or(if is_secure { 443 } else { 80 })
}

/// The protocols that may be given for a scheme, which allows these, in words.
fn choices(allowed: &[Protocol]) -> String {
    if let [only] = allowed
        && !only.is_grpc()
    {
        return format!("its scheme is always {}: leave the protocol out", only.title());
    }
    let given = Protocol::ALL.iter().filter(|one| one.among(allowed).is_some());
    let words: Vec<String> = given.map(|protocol| format!("`{protocol}`")).collect();
    format!("its scheme allows {}", words.join(", "))
}

/// Words as alternatives.
fn one_of(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    alternatives(&words)
}

/// Restores the placeholders in an error message.
fn as_written(error: EncodeError) -> EncodeError {
    match error {
        EncodeError::Request(RequestError::Target(target)) => {
            EncodeError::Request(RequestError::Target(without_stand_ins(&target)))
        }
        other => other,
    }
}

/// The body of a request, in which placeholders are as long as what is filled in.
fn body(spec: &RequestSpec<'_>) -> Vec<u8> {
    match std::str::from_utf8(&spec.body) {
        Ok(text) => with_stand_ins(text).into_bytes(),
        Err(_) => spec.body.clone(),
    }
}

/// The headers of the request, with basic authentication from the user information of the URL.
fn headers(spec: &RequestSpec<'_>, url: &Url) -> Vec<(String, String)> {
    let mut headers: Vec<(String, String)> =
        spec.headers.iter().map(|(name, value)| (name.clone(), with_stand_ins(value))).collect();
    let is_given = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
    if let Some(credentials) = url.credentials.as_ref().filter(|_| !is_given) {
        headers.insert(0, ("Authorization".to_owned(), credentials.basic()));
    }
    headers
}

#[cfg(test)]
mod tests;
