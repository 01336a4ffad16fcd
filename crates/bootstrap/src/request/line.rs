//! A request as one line, as users state it.

use std::fmt;
use std::str::FromStr;

use super::StatedRequest;

/// A request as one line, `METHOD URL`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestLine {
    /// True if its scheme is `https`.
    pub is_tls: bool,
    /// The request, without headers.
    pub request: StatedRequest,
}

impl FromStr for RequestLine {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = || "write it as `GET https://HOST/PATH`".to_owned();
        let (method, url) = text.trim().split_once(' ').ok_or_else(form)?;
        let (scheme, rest) = url.trim().split_once("://").ok_or_else(form)?;
        let (host, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        let path = path.split('#').next().unwrap_or_default();
        let is_method = !method.is_empty() && method.chars().all(|c| c.is_ascii_uppercase());
        let has_space = url.trim().contains(char::is_whitespace);
        if !is_method || has_space || host.is_empty() || host.contains('@') {
            return Err(form());
        }
        let is_tls = match scheme {
            "http" => false,
            "https" => true,
            _ => return Err(form()),
        };
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        let request = StatedRequest {
            method: Some(method.to_owned()),
            host: Some(host.to_owned()),
            path: Some(path),
            headers: Vec::new(),
        };
        Ok(Self { is_tls, request })
    }
}

impl fmt::Display for RequestLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StatedRequest { method, host, path, .. } = &self.request;
        let [method, host, path] = [method, host, path].map(|part| part.as_deref().unwrap_or_default());
        write!(f, "{method} http{}://{host}{path}", if self.is_tls { "s" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_a_method_and_a_url() {
        let parsed: RequestLine = "POST https://shop.example:8443/cart?q=1#top".parse().unwrap();
        let request = &parsed.request;
        assert!(parsed.is_tls);
        assert_eq!(request.method.as_deref(), Some("POST"));
        assert_eq!(request.host.as_deref(), Some("shop.example:8443"));
        assert_eq!(request.path.as_deref(), Some("/cart?q=1"));
        let bare: RequestLine = "GET http://shop.example?q".parse().unwrap();
        assert_eq!((bare.is_tls, bare.request.path.as_deref()), (false, Some("/?q")));
        assert_eq!(parsed.to_string(), "POST https://shop.example:8443/cart?q=1");
        assert_eq!(bare.to_string().parse(), Ok(bare));
        for text in ["/cart", "GET /cart", "GET ftp://a/", "get http://a/", "GET http:///", "GET http://u@a/"]
        {
            assert!(text.parse::<RequestLine>().is_err(), "{text}");
        }
    }
}
