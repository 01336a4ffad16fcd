//! Request encoding.

use std::fmt;

use thiserror::Error;

use crate::encoded::Encoded;
use crate::request_flags::RequestFlags;

/// A request to encode. [`Request::encode`] adds `Host`, and `Content-Length` if there is a body or the method implies
/// one, unless they are among the headers.
#[derive(Clone, PartialEq, Eq)]
pub struct Request {
    /// Method, for example `GET`.
    pub method: String,
    /// Path and query, for example `/echo?size=1024`.
    pub target: String,
    /// Value of the `Host` header.
    pub host: String,
    /// Further headers, in order.
    pub headers: Vec<(String, String)>,
    /// Body; empty for none.
    pub body: Vec<u8>,
}

/// Reason why a request cannot be encoded.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum RequestError {
    /// The method is not a token of RFC 9110.
    #[error("method `{0}` is not a valid token: use letters, for example `GET` or `POST`")]
    Method(String),
    /// The request target contains a space, a control character or a non-ASCII character.
    #[error(
        "path `{0}` contains a space, a control character or a character outside ASCII: percent-encode it"
    )]
    Target(String),
    /// A header name is not a token of RFC 9110.
    #[error("header name `{0}` is not a valid token")]
    HeaderName(String),
    /// A header value contains a control character.
    #[error("value of header `{0}` contains a control character")]
    HeaderValue(String),
    /// Two hosts, to which servers respond with 400 (RFC 9112, section 3.2).
    #[error("two headers `Host`: a request has one; leave one of them out")]
    TwoHosts,
    /// The end of the body cannot be determined (RFC 9112, section 6.3).
    #[error("`Transfer-Encoding: {0}` does not delimit the body: it must end with `chunked`, or be omitted")]
    TransferEncoding(String),
    /// Both `Content-Length` and `Transfer-Encoding`, which RFC 9112 forbids (section 6.2).
    #[error("`Content-Length` and `Transfer-Encoding` contradict each other: leave out one of the headers")]
    TwoLengths,
    /// `Content-Length` differs from the size of the body.
    #[error("`Content-Length: {given}` is wrong: the body has {bytes} bytes; omit the header")]
    ContentLength {
        /// The value of the header.
        given: String,
        /// Size of the body in bytes.
        bytes: usize,
    },
}

impl fmt::Debug for Request {
    /// Omits the values of headers, which may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Request")
            .field("method", &self.method)
            .field("target", &self.target)
            .field("host", &self.host)
            .field("headers", &names)
            .field("body_bytes", &self.body.len())
            .finish()
    }
}

/// True if the method implies a body, so that `Content-Length: 0` is sent without one (RFC 9110, section 8.6).
pub fn expects_body(method: &str) -> bool {
    matches!(method, "POST" | "PUT" | "PATCH")
}

impl Request {
    /// The encoded request.
    ///
    /// # Errors
    /// When a part of it could escape its field (a line break in a header, a space in the path).
    pub fn encode(&self) -> Result<Vec<u8>, RequestError> {
        if !is_token(&self.method) {
            return Err(RequestError::Method(self.method.clone()));
        }
        if self.target.is_empty() || !self.target.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(RequestError::Target(self.target.clone()));
        }
        let mut bytes = Vec::with_capacity(256 + self.body.len());
        bytes.extend_from_slice(format!("{} {} HTTP/1.1\r\n", self.method, self.target).as_bytes());
        let has = |name: &str| self.headers.iter().any(|(other, _)| other.eq_ignore_ascii_case(name));
        match self.values("host").count() {
            0 => push_header(&mut bytes, "Host", &self.host)?,
            1 => {}
            _ => return Err(RequestError::TwoHosts),
        }
        for (name, value) in &self.headers {
            push_header(&mut bytes, name, value)?;
        }
        let has_length = has("content-length");
        if self.is_chunked()? {
            if has_length {
                return Err(RequestError::TwoLengths);
            }
            bytes.extend_from_slice(b"\r\n");
            if !self.body.is_empty() {
                bytes.extend_from_slice(format!("{:x}\r\n", self.body.len()).as_bytes());
                bytes.extend_from_slice(&self.body);
                bytes.extend_from_slice(b"\r\n");
            }
            bytes.extend_from_slice(b"0\r\n\r\n");
            return Ok(bytes);
        }
        if !has_length && (!self.body.is_empty() || expects_body(&self.method)) {
            push_header(&mut bytes, "Content-Length", &self.body.len().to_string())?;
        }
        for given in self.values("content-length") {
            if given.trim().parse() != Ok(self.body.len()) {
                return Err(RequestError::ContentLength { given: given.to_owned(), bytes: self.body.len() });
            }
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(&self.body);
        Ok(bytes)
    }

    /// The values of a header.
    fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let is_it = move |(other, _): &&(String, String)| other.eq_ignore_ascii_case(name);
        self.headers.iter().filter(is_it).map(|(_, value)| value.as_str())
    }

    /// True if the body is sent as one chunk, after the other transfer codings that it already has.
    fn is_chunked(&self) -> Result<bool, RequestError> {
        let codings = self.values("transfer-encoding").collect::<Vec<_>>().join(", ");
        match codings.rsplit(',').next().map(str::trim) {
            Some(last) if last.eq_ignore_ascii_case("chunked") => Ok(true),
            _ if self.values("transfer-encoding").next().is_none() => Ok(false),
            _ => Err(RequestError::TransferEncoding(codings)),
        }
    }
}

fn push_header(bytes: &mut Vec<u8>, name: &str, value: &str) -> Result<(), RequestError> {
    if !is_token(name) {
        return Err(RequestError::HeaderName(name.to_owned()));
    }
    if value.bytes().any(|byte| (byte < b' ' && byte != b'\t') || byte == 0x7f) {
        return Err(RequestError::HeaderValue(name.to_owned()));
    }
    bytes.extend_from_slice(name.as_bytes());
    bytes.extend_from_slice(b": ");
    bytes.extend_from_slice(value.as_bytes());
    bytes.extend_from_slice(b"\r\n");
    Ok(())
}

/// True if `text` is a token of RFC 9110, section 5.6.2.
fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

impl Encoded {
    /// An HTTP/1.1 request.
    ///
    /// # Errors
    /// When it cannot be encoded.
    pub fn http1(request: &Request) -> Result<Self, RequestError> {
        let flags = RequestFlags::new(&request.method, &request.headers);
        Ok(Self { flags, ..Self::plain(request.encode()?, false) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(target: &str) -> Request {
        Request {
            method: "GET".to_owned(),
            target: target.to_owned(),
            host: "127.0.0.1:80".to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    #[test]
    fn a_plain_get_is_a_line_a_host_and_an_empty_line() {
        assert_eq!(get("/a?b=c").encode().unwrap(), b"GET /a?b=c HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\r\n");
    }

    #[test]
    fn a_body_sets_content_length_and_a_given_host_replaces_the_default() {
        let mut request = get("/");
        request.method = "POST".to_owned();
        request.body = b"abc".to_vec();
        request.headers = vec![("host".to_owned(), "example.test".to_owned())];
        assert_eq!(
            request.encode().unwrap(),
            b"POST / HTTP/1.1\r\nhost: example.test\r\nContent-Length: 3\r\n\r\nabc"
        );
        request.headers.push(("Host".to_owned(), "other.test".to_owned()));
        assert_eq!(request.encode(), Err(RequestError::TwoHosts));
    }

    #[test]
    fn a_body_has_one_length() {
        let post = |headers: &[(&str, &str)], body: &str| {
            let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            let method = "POST".to_owned();
            let request = Request { method, headers: headers.collect(), body: body.into(), ..get("/") };
            request.encode().map(|bytes| String::from_utf8(bytes).unwrap())
        };
        let head = "POST / HTTP/1.1\r\nHost: 127.0.0.1:80\r\n";
        assert_eq!(post(&[], "").unwrap(), format!("{head}Content-Length: 0\r\n\r\n"));
        assert_eq!(
            post(&[("transfer-encoding", "gzip, Chunked")], "0123456789abcdef!").unwrap(),
            format!("{head}transfer-encoding: gzip, Chunked\r\n\r\n11\r\n0123456789abcdef!\r\n0\r\n\r\n")
        );
        let chunked = ("Transfer-Encoding", "chunked");
        assert!(post(&[("Transfer-Encoding", "gzip"), chunked], "").unwrap().ends_with("\r\n\r\n0\r\n\r\n"));
        assert_eq!(post(&[chunked, ("content-length", "1")], "a"), Err(RequestError::TwoLengths));
        let gzip = RequestError::TransferEncoding("chunked, gzip".to_owned());
        assert_eq!(post(&[chunked, ("transfer-encoding", "gzip")], "a"), Err(gzip));
        let expected = RequestError::ContentLength { given: "2".to_owned(), bytes: 1 };
        assert_eq!(post(&[("content-length", "2")], "a"), Err(expected));
        assert!(post(&[("content-length", "1")], "a").unwrap().ends_with("content-length: 1\r\n\r\na"));
    }

    #[test]
    fn nothing_can_break_out_of_its_place() {
        assert!(matches!(get("/a b").encode(), Err(RequestError::Target(_))));
        assert!(matches!(get("").encode(), Err(RequestError::Target(_))));
        let mut request = get("/");
        request.headers = vec![("x".to_owned(), "a\r\nb: c".to_owned())];
        assert!(matches!(request.encode(), Err(RequestError::HeaderValue(_))));
        request.headers = vec![("x y".to_owned(), "a".to_owned())];
        assert!(matches!(request.encode(), Err(RequestError::HeaderName(_))));
        request.headers.clear();
        request.method = "GE T".to_owned();
        assert!(matches!(request.encode(), Err(RequestError::Method(_))));
    }
}
