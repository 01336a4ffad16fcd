//! One request: a URL, resolved and encoded once.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

use hoptax_wire::http1::{Request, RequestError};
use http::Uri;
use thiserror::Error;

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
    /// Resolves `url` and encodes a request to it. In the URL, in values of headers and in the body, `{counter}` stands
    /// for twelve digits that count the requests, and `{random}` for sixteen hexadecimal digits drawn for each.
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
        let with_places = |text: &str| {
            TEMPLATES.iter().fold(text.to_owned(), |text, (name, stand_in, _)| text.replace(name, stand_in))
        };
        let parsed: Uri =
            with_places(url).parse().map_err(|error: http::uri::InvalidUri| bad_url(error.to_string()))?;
        match parsed.scheme_str() {
            Some("http") => {}
            other => {
                let scheme = other.unwrap_or_default().to_owned();
                return Err(TargetError::Scheme { url: url.to_owned(), scheme });
            }
        }
        let authority = parsed.authority().ok_or_else(|| bad_url("it has no host".to_owned()))?;
        // `http` takes any word for a port, and then says that there is none.
        let after_host = authority.as_str().rsplit_once(authority.host()).map_or("", |(_, rest)| rest);
        if !after_host.is_empty() && authority.port_u16().is_none() {
            return Err(bad_url(format!("its port `{}` is no port", after_host.trim_start_matches(':'))));
        }
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
        let headers = headers.into_iter().map(|(name, value)| (name, with_places(&value))).collect();
        let body = match std::str::from_utf8(&body) {
            Ok(text) => with_places(text).into_bytes(),
            Err(_) => body,
        };
        let request =
            Request { method: method.to_owned(), target, host: host_header, headers, body }.encode()?;
        let places = places(&request);
        Ok(Self { url: url.to_owned(), method: method.to_owned(), address, request, places })
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
        assert_eq!(target.request, b"GET /a?b=c HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n");
        assert_eq!(super::tests::target("http://[::1]/").unwrap().address, "[::1]:80".parse().unwrap());
        assert_eq!(super::tests::target("http://localhost:1").unwrap().address.port(), 1);
    }

    #[test]
    fn numbers_of_each_request_take_their_places() {
        let headers = vec![("X-Id".to_owned(), "{random}".to_owned())];
        let target =
            Target::new("http://127.0.0.1/{counter}", "POST", headers, b"a{counter}".to_vec()).unwrap();
        let mut bytes = target.request.clone();
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
    fn what_is_no_target_says_why() {
        let message = |url: &str| target(url).unwrap_err().to_string();
        assert!(message("127.0.0.1:8080").contains("no scheme"), "{}", message("127.0.0.1:8080"));
        assert!(message("https://127.0.0.1/").contains("not `https://`"));
        assert!(message("http://").contains("not a URL"));
        assert!(message("http://127.0.0.1:x/").contains("`x` is no port"));
        assert!(message("http://127.0.0.1:70000/").contains("`70000` is no port"));
        assert!(message("http://name.invalid/").contains("name.invalid"));
    }
}
