//! The first decision about a request, from its headers alone: it must name this server, must not come from a page of another site, must
//! not be forwarded by a proxy if the server has no token, and must present the token.

use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName, Method, Uri};
use hoptax_session::token::Token;

use crate::hosts::Hosts;

/// Conditions that all requests must meet.
#[derive(Debug)]
pub(crate) struct Gate {
    hosts: Hosts,
    /// None if the server can be reached only from this machine.
    token: Option<Token>,
}

/// Reason why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The request names another server.
    Host,
    /// A page of another server sent it.
    Origin,
    /// A proxy forwarded it, on behalf of anybody, and the server has no token.
    Proxy,
    /// It does not present the token.
    Token,
}

impl Gate {
    pub(crate) fn new(hosts: Hosts, token: Option<Token>) -> Self {
        Self { hosts, token }
    }

    /// Checks a request.
    ///
    /// # Errors
    /// The first reason for a refusal.
    pub(crate) fn check(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
        let host = host_of(headers).ok_or(Refusal::Host)?;
        // The request line may also name a host, as in requests to a proxy.
        let is_same = uri.authority().is_none_or(|authority| authority.as_str().eq_ignore_ascii_case(host));
        if !is_same || !self.hosts.accept(host) {
            return Err(Refusal::Host);
        }
        // Browsers send the origin with every request other than GET and HEAD. Other programs send none.
        let mut origins = headers.get_all(ORIGIN).iter();
        let is_own_page = origins.all(|origin| origin.to_str().is_ok_and(|one| is_own(one, host)));
        if !is_own_page || is_part_of_another_page(method, headers) {
            return Err(Refusal::Origin);
        }
        if self.token.is_none() && headers.keys().any(is_of_proxy) {
            return Err(Refusal::Proxy);
        }
        let shown = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let is_known =
            self.token.as_ref().is_none_or(|token| shown.is_some_and(|shown| token.is_shown_by(shown)));
        if is_known { Ok(()) } else { Err(Refusal::Token) }
    }
}

/// The host in a request, if any.
fn host_of(headers: &HeaderMap) -> Option<&str> {
    let mut all = headers.get_all(HOST).iter();
    let first = all.next()?.to_str().ok()?;
    all.next().is_none().then_some(first)
}

/// True if a browser reports that a page of another site sent a request (Fetch Metadata, <https://www.w3.org/TR/fetch-metadata/>): images
/// and event streams have no Origin header. A user who follows a link from another site is admitted.
fn is_part_of_another_page(method: &Method, headers: &HeaderMap) -> bool {
    let is_from_elsewhere = has(headers, "sec-fetch-site", &["cross-site", "same-site"]);
    let is_read = [Method::GET, Method::HEAD].contains(method);
    // Frames navigate, too, and a page can contain any number of them.
    let is_framed = has(headers, "sec-fetch-dest", &["iframe", "frame", "embed", "object", "fencedframe"]);
    let is_link = is_read && !is_framed && has(headers, "sec-fetch-mode", &["navigate"]);
    is_from_elsewhere && !is_link
}

/// True if a header has one of these values.
fn has(headers: &HeaderMap, name: &str, values: &[&str]) -> bool {
    headers.get_all(name).iter().any(|value| values.iter().any(|one| value.as_bytes() == one.as_bytes()))
}

/// True for a header that proxies add.
fn is_of_proxy(name: &HeaderName) -> bool {
    matches!(name.as_str(), "forwarded" | "via" | "x-real-ip") || name.as_str().starts_with("x-forwarded-")
}

/// True if an origin is the server itself, even behind a proxy that terminates TLS.
fn is_own(origin: &str, host: &str) -> bool {
    let of_origin = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    of_origin.is_some_and(|of_origin| of_origin.eq_ignore_ascii_case(host))
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    const OWN: (HeaderName, &str) = (HOST, "127.0.0.1:8419");

    fn decided(token: Option<&str>, method: &Method, headers: &[(HeaderName, &str)]) -> Result<(), Refusal> {
        let token = token.map(|token| Token::of_text(token).unwrap());
        let gate = Gate::new(Hosts::new([127, 0, 0, 1].into(), Vec::new()), token);
        let headers =
            headers.iter().map(|(name, value)| (name.clone(), HeaderValue::from_str(value).unwrap()));
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name, value);
        }
        gate.check(method, &Uri::from_static("/"), &map)
    }

    #[test]
    fn a_request_names_this_server_once() {
        let of = |headers: &[(HeaderName, &str)]| decided(None, &Method::GET, headers);
        assert_eq!(of(&[OWN]), Ok(()));
        assert_eq!(of(&[]), Err(Refusal::Host));
        assert_eq!(of(&[(HOST, "evil.test:8419")]), Err(Refusal::Host));
        assert_eq!(of(&[OWN, (HOST, "evil.test")]), Err(Refusal::Host));
        let gate = Gate::new(Hosts::new([127, 0, 0, 1].into(), Vec::new()), None);
        let headers: HeaderMap = [(HOST, HeaderValue::from_static(OWN.1))].into_iter().collect();
        let uri = Uri::from_static("http://evil.test/");
        assert_eq!(gate.check(&Method::GET, &uri, &headers), Err(Refusal::Host));
    }

    #[test]
    fn pages_of_other_servers_may_read_nothing_and_change_nothing() {
        for origin in [
            "http://evil.test",
            "null",
            "http://127.0.0.1",
            "http://127.0.0.1:3000",
            "http://localhost:8419",
            "127.0.0.1:8419",
            "ftp://127.0.0.1:8419",
            "http://127.0.0.1:8419.evil.test",
            "http://127.0.0.1:8419/",
        ] {
            for method in
                [Method::GET, Method::POST, Method::DELETE, Method::OPTIONS, Method::PUT, Method::HEAD]
            {
                assert_eq!(
                    decided(None, &method, &[OWN, (ORIGIN, origin)]),
                    Err(Refusal::Origin),
                    "{origin}"
                );
            }
        }
        let own = (ORIGIN, "http://127.0.0.1:8419");
        assert_eq!(decided(None, &Method::POST, &[OWN, own.clone()]), Ok(()));
        assert_eq!(decided(None, &Method::POST, &[OWN, (ORIGIN, "https://127.0.0.1:8419")]), Ok(()));
        assert_eq!(decided(None, &Method::POST, &[OWN]), Ok(()), "no browser");
        let two = [OWN, own, (ORIGIN, "http://evil.test")];
        assert_eq!(decided(None, &Method::POST, &two), Err(Refusal::Origin));
    }

    #[test]
    fn a_page_of_another_site_may_lead_here_and_include_nothing() {
        let site = |value| (HeaderName::from_static("sec-fetch-site"), value);
        let mode = |value| (HeaderName::from_static("sec-fetch-mode"), value);
        for foreign in ["cross-site", "same-site"] {
            assert_eq!(decided(None, &Method::GET, &[OWN, site(foreign)]), Err(Refusal::Origin));
            for of in ["no-cors", "cors", "websocket", "same-origin", ""] {
                let headers = [OWN, site(foreign), mode(of)];
                assert_eq!(decided(None, &Method::GET, &headers), Err(Refusal::Origin), "{of}");
            }
            let link = [OWN, site(foreign), mode("navigate")];
            assert_eq!(decided(None, &Method::GET, &link), Ok(()));
            assert_eq!(decided(None, &Method::POST, &link), Err(Refusal::Origin), "a form");
            for (place, is_link) in [("document", true), ("iframe", false), ("object", false)] {
                let place = (HeaderName::from_static("sec-fetch-dest"), place);
                let headers = [OWN, site(foreign), mode("navigate"), place.clone()];
                assert_eq!(decided(None, &Method::GET, &headers).is_ok(), is_link, "{place:?}");
            }
        }
        for own in ["same-origin", "none"] {
            for of in ["navigate", "cors", "no-cors"] {
                assert_eq!(decided(None, &Method::GET, &[OWN, site(own), mode(of)]), Ok(()), "{own} {of}");
            }
        }
    }

    #[test]
    fn a_server_without_a_token_answers_no_proxy() {
        let token = "0123456789abcdef";
        let shown = (AUTHORIZATION, "Bearer 0123456789abcdef");
        for name in
            ["forwarded", "via", "x-real-ip", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-anything"]
        {
            let added = (HeaderName::from_static(name), "192.0.2.7");
            for method in [Method::GET, Method::POST] {
                let decided = |token, headers: &[_]| decided(token, &method, headers);
                assert_eq!(decided(None, &[OWN, added.clone()]), Err(Refusal::Proxy), "{name}");
                assert_eq!(decided(Some(token), &[OWN, added.clone(), shown.clone()]), Ok(()), "{name}");
                assert_eq!(decided(Some(token), &[OWN, added.clone()]), Err(Refusal::Token), "{name}");
            }
        }
        let other = (HeaderName::from_static("x-forward"), "1");
        assert_eq!(decided(None, &Method::GET, &[OWN, other]), Ok(()));
    }

    #[test]
    fn a_server_with_a_token_answers_nobody_without_it() {
        let token = Some("0123456789abcdef");
        for method in [Method::GET, Method::POST, Method::DELETE] {
            assert_eq!(decided(token, &method, &[OWN]), Err(Refusal::Token));
            let wrong = (AUTHORIZATION, "Bearer 0123456789abcdeg");
            assert_eq!(decided(token, &method, &[OWN, wrong]), Err(Refusal::Token));
            let right = (AUTHORIZATION, "Bearer 0123456789abcdef");
            assert_eq!(decided(token, &method, &[OWN, right]), Ok(()));
        }
    }
}
