//! One request: a URL, resolved and encoded once.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use hoptax_wire::Encoded;
use hoptax_wire::http1::{Request, RequestError};
use hoptax_wire::tls::ServerName;
use hoptax_wire::websocket::upgrade_request;
use http::Uri;
use http::uri::Authority;
use thiserror::Error;

use crate::protocol::Speak;

/// A request as it is asked for. In the URL, in values of headers and in the body, `{counter}` stands for twelve digits
/// that count the requests, and `{random}` for sixteen hexadecimal digits drawn for each.
#[derive(Clone, Debug)]
pub struct Asked<'a> {
    /// Where it goes.
    pub url: &'a str,
    /// Its method; `POST` for gRPC, whatever is said here.
    pub method: &'a str,
    /// Its headers.
    pub headers: Vec<(String, String)>,
    /// Its body: of gRPC messages with their lengths before them, of TCP and WebSocket what is sent.
    pub body: Vec<u8>,
    /// What is spoken, where the scheme of the URL leaves it open.
    pub protocol: Option<Speak>,
    /// The deadline that a call of gRPC tells the server.
    pub deadline: Option<Duration>,
    /// The name that the server's certificate is to have; that in the URL if there is none.
    pub server_name: Option<&'a str>,
}

impl Default for Asked<'_> {
    fn default() -> Self {
        Self {
            url: "",
            method: "GET",
            headers: Vec::new(),
            body: Vec::new(),
            protocol: None,
            deadline: None,
            server_name: None,
        }
    }
}

/// A resolved address and the bytes that are sent to it.
#[derive(Clone, Debug)]
pub struct Target {
    /// The URL as given.
    pub url: String,
    /// The request method; empty where the protocol has none.
    pub method: String,
    /// Where connections go.
    pub address: SocketAddr,
    /// What is spoken.
    pub speak: Speak,
    /// The name that the server's certificate is to have, where there is TLS.
    pub server_name: Option<ServerName<'static>>,
    /// The encoded request.
    pub(crate) request: Encoded,
    /// What a connection for it begins with: the upgrade to WebSocket.
    pub(crate) upgrade: Arc<[u8]>,
    /// Where the request has a number of its own.
    pub(crate) places: Vec<Place>,
}

/// A part of a request that is different in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    at: usize,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Counter,
    Random,
}

/// What stands in a text for a number, and what stands for that while the request is encoded: of the same length as the
/// number, so that encoding counts it, and of characters that may stand anywhere.
const TEMPLATES: [(&str, &str, What); 2] =
    [("{counter}", "hoptaxCOUNT0", What::Counter), ("{random}", "hoptaxRANDOM0000", What::Random)];

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
    #[error(
        "`{url}`: hoptax speaks `http`, `https`, `grpc`, `grpcs`, `tcp`, `tls`, `ws` and `wss`, not `{scheme}`"
    )]
    Scheme {
        /// As given.
        url: String,
        /// Its scheme.
        scheme: String,
    },
    /// A protocol that the scheme does not mean.
    #[error("`{url}` does not go with the protocol `{protocol}`")]
    Protocol {
        /// As given.
        url: String,
        /// What was asked for.
        protocol: Speak,
    },
    /// The host is no name that a certificate could have.
    #[error("`{name}` is no name that a certificate can have; give one with --server-name")]
    ServerName {
        /// As given.
        name: String,
    },
    /// A header that HTTP/2 has no place for.
    #[error("the header `{name}` cannot be sent with HTTP/2: it is about a connection of HTTP/1.1")]
    Header {
        /// Its name.
        name: String,
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
    /// A request of HTTP/1.1.
    ///
    /// # Errors
    /// As [`Self::asked`].
    pub fn new(
        url: &str,
        method: &str,
        headers: Vec<(String, String)>,
        body: Vec<u8>,
    ) -> Result<Self, TargetError> {
        let asked = Asked { url, method, headers, body, ..Asked::default() };
        Self::asked(&asked)
    }

    /// Resolves the address of a request and encodes it.
    ///
    /// # Errors
    /// When the URL is none, its scheme and the protocol do not go together, its host has no address, or a header cannot be
    /// sent.
    pub fn asked(asked: &Asked<'_>) -> Result<Self, TargetError> {
        let url = asked.url;
        let bad_url = |reason: String| TargetError::Url { url: url.to_owned(), reason };
        if !url.contains("://") {
            return Err(bad_url("it has no scheme".to_owned()));
        }
        let parsed: Uri =
            with_places(url).parse().map_err(|error: http::uri::InvalidUri| bad_url(error.to_string()))?;
        let scheme = parsed.scheme_str().unwrap_or_default();
        let (spoken, is_secure) = Speak::of_scheme(scheme)
            .ok_or_else(|| TargetError::Scheme { url: url.to_owned(), scheme: scheme.to_owned() })?;
        let speak = asked.protocol.or(spoken.first().copied()).unwrap_or_default();
        if !spoken.contains(&speak) {
            return Err(TargetError::Protocol { url: url.to_owned(), protocol: speak });
        }
        let authority = parsed.authority().ok_or_else(|| bad_url("it has no host".to_owned()))?;
        let port = port(authority, is_secure).map_err(bad_url)?;
        let bare_host = authority.host().trim_start_matches('[').trim_end_matches(']');
        let address = match bare_host.parse::<IpAddr>() {
            Ok(address) => SocketAddr::from((address, port)),
            Err(_) => resolve(bare_host, port)?,
        };
        let server_name = if is_secure {
            let name = asked.server_name.unwrap_or(bare_host).to_owned();
            Some(ServerName::try_from(name.clone()).map_err(|_| TargetError::ServerName { name })?)
        } else {
            None
        };
        let (request, upgrade) = encode(asked, speak, is_secure, &parsed, authority)?;
        Ok(Self {
            url: url.to_owned(),
            method: match speak {
                Speak::Grpc => "POST".to_owned(),
                Speak::Tcp | Speak::WebSocket => String::new(),
                _ => asked.method.to_owned(),
            },
            address,
            speak,
            server_name,
            places: places(&request.bytes),
            request,
            upgrade,
        })
    }

    /// The path of the URL, with its query.
    pub fn path(&self) -> String {
        let path =
            self.url.parse::<Uri>().ok().and_then(|uri| Some(uri.path_and_query()?.as_str().to_owned()));
        path.unwrap_or_else(|| "/".to_owned())
    }

    /// Writes the numbers of one request into its bytes.
    pub(crate) fn fill(&self, bytes: &mut [u8], counter: u64, random: u64) {
        for place in &self.places {
            let number = match place.what {
                What::Counter => format!("{:012}", counter % 1_000_000_000_000),
                What::Random => format!("{random:016x}"),
            };
            if let Some(bytes) = bytes.get_mut(place.at..place.at + number.len()) {
                bytes.copy_from_slice(number.as_bytes());
            }
        }
    }
}

fn with_places(text: &str) -> String {
    TEMPLATES.iter().fold(text.to_owned(), |text, (name, stand_in, _)| text.replace(name, stand_in))
}

fn port(authority: &Authority, is_secure: bool) -> Result<u16, String> {
    // `http` takes any word for a port, and then says that there is none.
    let after_host = authority.as_str().rsplit_once(authority.host()).map_or("", |(_, rest)| rest);
    match authority.port_u16() {
        Some(port) => Ok(port),
        None if after_host.is_empty() => Ok(if is_secure { 443 } else { 80 }),
        None => Err(format!("its port `{}` is no port", after_host.trim_start_matches(':'))),
    }
}

/// A request as its protocol writes it, and what a connection for it begins with.
fn encode(
    asked: &Asked<'_>,
    speak: Speak,
    is_secure: bool,
    url: &Uri,
    authority: &Authority,
) -> Result<(Encoded, Arc<[u8]>), TargetError> {
    let target = url.path_and_query().map_or("/", |target| target.as_str()).to_owned();
    let host = match authority.port() {
        Some(port) => format!("{}:{port}", authority.host()),
        None => authority.host().to_owned(),
    };
    let headers: Vec<(String, String)> =
        asked.headers.iter().map(|(name, value)| (name.clone(), with_places(value))).collect();
    let body = match std::str::from_utf8(&asked.body) {
        Ok(text) => with_places(text).into_bytes(),
        Err(_) => asked.body.clone(),
    };
    let method = if speak == Speak::Grpc { "POST" } else { asked.method };
    let as_http1 = |body: Vec<u8>| {
        let (method, target) = (method.to_owned(), target.clone());
        Request { method, target, host: host.clone(), headers: headers.clone(), body }.encode()
    };
    let none = Arc::from([]);
    Ok(match speak {
        Speak::Http1 => (Encoded::plain(as_http1(body)?, method == "HEAD"), none),
        Speak::Http2 | Speak::Grpc => {
            // What HTTP/1.1 cannot carry, HTTP/2 cannot either.
            as_http1(Vec::new())?;
            let fields = http2_fields(asked, speak, is_secure, target, host, &headers, body.len())?;
            (Encoded::http2(&fields, &body), none)
        }
        #[cfg(feature = "http3")]
        Speak::Http3 => {
            as_http1(Vec::new())?;
            let fields = http2_fields(asked, speak, is_secure, target, host, &headers, body.len())?;
            (Encoded::http3(&fields, &body, method == "HEAD"), none)
        }
        Speak::Tcp => (Encoded::plain(body, false), none),
        Speak::WebSocket => {
            as_http1(Vec::new())?;
            (Encoded::websocket(&body), upgrade_request(&target, &host, &headers).into())
        }
    })
}

fn http2_fields(
    asked: &Asked<'_>,
    speak: Speak,
    is_secure: bool,
    target: String,
    host: String,
    headers: &[(String, String)],
    body_bytes: usize,
) -> Result<Vec<(String, String)>, TargetError> {
    let is_grpc = speak == Speak::Grpc;
    let own = |name: &str, value: String| (name.to_owned(), value);
    let mut fields = vec![
        own(":method", if is_grpc { "POST".to_owned() } else { asked.method.to_owned() }),
        own(":scheme", if is_secure { "https" } else { "http" }.to_owned()),
        own(":authority", host),
        own(":path", target),
    ];
    if is_grpc {
        fields.push(own("content-type", "application/grpc".to_owned()));
        fields.push(own("te", "trailers".to_owned()));
        if let Some(deadline) = asked.deadline {
            // At most eight digits (the protocol's own description, "Timeout").
            fields.push(own("grpc-timeout", format!("{}m", deadline.as_millis().clamp(1, 99_999_999))));
        }
    } else if body_bytes > 0 {
        fields.push(own("content-length", body_bytes.to_string()));
    }
    for (name, value) in headers {
        let name = name.to_ascii_lowercase();
        match name.as_str() {
            "host" => fields[2].1.clone_from(value),
            "connection" | "keep-alive" | "proxy-connection" | "transfer-encoding" | "upgrade" => {
                return Err(TargetError::Header { name });
            }
            _ => {
                fields.retain(|(own, _)| *own != name);
                fields.push((name, value.trim().to_owned()));
            }
        }
    }
    Ok(fields)
}

/// Whether some of these bytes are different in each request.
pub(crate) fn varies(bytes: &[u8]) -> bool {
    !places(bytes).is_empty()
}

fn places(request: &[u8]) -> Vec<Place> {
    let mut places = Vec::new();
    for (_, stand_in, what) in TEMPLATES {
        let found = request.windows(stand_in.len()).enumerate();
        let found = found.filter(|(_, window)| *window == stand_in.as_bytes());
        places.extend(found.map(|(at, _)| Place { at, what }));
    }
    places
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
        assert_eq!(target.request.bytes, b"GET /a?b=c HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n");
        assert_eq!(super::tests::target("http://[::1]/").unwrap().address, "[::1]:80".parse().unwrap());
        assert_eq!(super::tests::target("http://localhost:1").unwrap().address.port(), 1);
    }

    #[test]
    fn numbers_of_each_request_take_their_places() {
        let headers = vec![("X-Id".to_owned(), "{random}".to_owned())];
        let target =
            Target::new("http://127.0.0.1/{counter}", "POST", headers, b"a{counter}".to_vec()).unwrap();
        let mut bytes = target.request.bytes.clone();
        target.fill(&mut bytes, 42, 0xbeef);
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.starts_with("POST /000000000042 HTTP/1.1\r\n"), "{text}");
        assert!(
            text.contains("X-Id: 000000000000beef\r\n") && text.ends_with("\r\n\r\na000000000042"),
            "{text}"
        );
        assert!(text.contains("Content-Length: 13\r\n"), "{text}");
    }

    #[test]
    fn the_scheme_says_what_is_spoken_and_whether_it_is_secure() {
        let asked = |url: &'static str, protocol| Target::asked(&Asked { url, protocol, ..Asked::default() });
        let secure = target("https://127.0.0.1/").unwrap();
        assert_eq!((secure.speak, secure.address.port()), (Speak::Http1, 443));
        assert!(secure.server_name.is_some());
        assert_eq!(asked("http://127.0.0.1/", Some(Speak::Http2)).unwrap().speak, Speak::Http2);
        assert_eq!(target("wss://127.0.0.1/").unwrap().speak, Speak::WebSocket);
        assert!(target("ws://127.0.0.1/chat").unwrap().upgrade.starts_with(b"GET /chat HTTP/1.1\r\n"));
        let error = asked("tcp://127.0.0.1:1", Some(Speak::Http2)).unwrap_err().to_string();
        assert!(error.contains("does not go with the protocol `http2`"), "{error}");
        let header = Asked {
            url: "http://127.0.0.1/",
            method: "GET",
            headers: vec![("Connection".to_owned(), "close".to_owned())],
            protocol: Some(Speak::Http2),
            ..Asked::default()
        };
        assert!(Target::asked(&header).unwrap_err().to_string().contains("`connection`"));
    }

    #[test]
    fn what_is_no_target_says_why() {
        let message = |url: &str| target(url).unwrap_err().to_string();
        assert!(message("127.0.0.1:8080").contains("no scheme"), "{}", message("127.0.0.1:8080"));
        assert!(message("ftp://127.0.0.1/").contains("not `ftp`"));
        assert!(message("http://").contains("not a URL"));
        assert!(message("http://127.0.0.1:x/").contains("`x` is no port"));
        assert!(message("http://127.0.0.1:70000/").contains("`70000` is no port"));
        assert!(message("http://name.invalid/").contains("name.invalid"));
    }
}
