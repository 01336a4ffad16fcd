//! A request, encoded once and sent many times.

use thiserror::Error;

/// A request to be encoded. `Host`, and `Content-Length` where there is a body, are added by [`Request::encode`].
#[derive(Clone, Debug, PartialEq, Eq)]
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

/// Why a request cannot be encoded.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum RequestError {
    /// The method is not a token of RFC 9110.
    #[error("method `{0}` is not a word of HTTP: use letters, for example `GET` or `POST`")]
    Method(String),
    /// The request target holds a blank, a control character or is not ASCII.
    #[error("path `{0}` holds a blank, a control character or a letter outside ASCII: percent-encode it")]
    Target(String),
    /// A header name is not a token of RFC 9110.
    #[error("header name `{0}` is not a word of HTTP")]
    HeaderName(String),
    /// A header value holds a control character.
    #[error("value of header `{0}` holds a control character")]
    HeaderValue(String),
}

impl Request {
    /// The bytes of the request.
    ///
    /// # Errors
    /// When a part of it could break out of its place (a line end in a header, a blank in the path).
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
        if !has("host") {
            push_header(&mut bytes, "Host", &self.host)?;
        }
        for (name, value) in &self.headers {
            push_header(&mut bytes, name, value)?;
        }
        if !self.body.is_empty() && !has("content-length") {
            push_header(&mut bytes, "Content-Length", &self.body.len().to_string())?;
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(&self.body);
        Ok(bytes)
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

/// Whether `text` is a token of RFC 9110, section 5.6.2.
fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
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
    fn a_body_brings_its_length_and_a_given_host_replaces_ours() {
        let mut request = get("/");
        request.method = "POST".to_owned();
        request.body = b"abc".to_vec();
        request.headers = vec![("host".to_owned(), "example.test".to_owned())];
        assert_eq!(
            request.encode().unwrap(),
            b"POST / HTTP/1.1\r\nhost: example.test\r\nContent-Length: 3\r\n\r\nabc"
        );
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
