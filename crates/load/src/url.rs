//! Parses the URL of a request. Its user information is sent and never displayed.

use std::borrow::Cow;
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Uri;
use percent_encoding::percent_decode_str;

/// A URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Url {
    pub(crate) scheme: String,
    pub(crate) credentials: Option<Credentials>,
    /// Name or address; an IPv6 address without brackets and without its zone.
    pub(crate) host: String,
    /// The zone of an IPv6 address, which selects an interface of this machine and is not sent (RFC 6874, section 4; RFC 9844).
    pub(crate) zone: Option<String>,
    pub(crate) port: Option<u16>,
    /// Host and port as in the URL, without the zone.
    pub(crate) authority: String,
    /// Path and query; at least a slash.
    pub(crate) target: String,
}

/// User name and password.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Credentials(String);

impl Credentials {
    /// The value of `Authorization` (RFC 7617). Percent-encoded characters are decoded.
    pub(crate) fn basic(&self) -> String {
        let (user, password) = self.0.split_once(':').unwrap_or((&self.0, ""));
        let mut pair: Vec<u8> = percent_decode_str(user).collect();
        pair.push(b':');
        pair.extend(percent_decode_str(password));
        format!("Basic {}", STANDARD.encode(pair))
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(not shown)")
    }
}

/// A URL without its user information. In a text that is not a URL, everything up to the last `@` is removed.
pub fn without_user(url: &str) -> String {
    match split(url) {
        Ok((before, _, after)) => format!("{before}{after}"),
        Err(_) => url.rsplit_once('@').map_or(url, |(_, rest)| rest).to_owned(),
    }
}

/// The part before the user information of a URL, the user information, and the part after its `@`.
fn split(url: &str) -> Result<(&str, Option<&str>, &str), String> {
    let (scheme, rest) = url.split_once("://").ok_or("it has no scheme")?;
    if !scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c)) {
        return Err("its scheme is invalid".to_owned());
    }
    let authority_end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let before = url.get(..scheme.len() + 3).unwrap_or_default();
    let (authority, path) = rest.split_at_checked(authority_end).unwrap_or((rest, ""));
    Ok(match authority.rfind('@') {
        Some(at) => (before, rest.get(..at), rest.get(at + 1..).unwrap_or_default()),
        None if is_user(authority, path) => {
            return Err("a `/`, `?` or `#` of a password is written `%2F`, `%3F` or `%23`, and an `@` of a path `%40`"
                .to_owned());
        }
        None => (before, None, rest),
    })
}

/// True if the place of host and port holds a user name and the start of a password that contains an unencoded `/`, `?` or `#`. This is
/// assumed if an `@` follows, and the port is not a number, or the host is one bare word and the `@` is in the path. An `@` directly after
/// a slash begins a segment of a path, such as the scope of a package.
fn is_user(authority: &str, after: &str) -> bool {
    // An IPv6 address has colons of its own.
    let after_address = authority.rsplit_once(']').map_or(authority, |(_, rest)| rest);
    let Some((host, port)) = after_address.split_once(':') else { return false };
    let path = after.split(['?', '#']).next().unwrap_or_default();
    let is_in_path = path.char_indices().any(|(at, c)| c == '@' && !path[..at].ends_with('/'));
    let is_word = !host.is_empty() && !host.contains('.') && host != "localhost";
    // A field of a template is filled in later.
    let is_no_port = port.parse::<u16>().is_err() && !port.contains('{');
    after.contains('@') && (is_no_port || (is_word && is_in_path))
}

/// Separates the zone of an IPv6 address from the part of a URL that begins with the host. In a URL, the percent sign before the zone may
/// be encoded, and so may characters of the zone.
fn without_zone(after: &str) -> Result<(String, Option<String>), String> {
    let address = after.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let Some((address, rest)) = address else { return Ok((after.to_owned(), None)) };
    let Some((address, zone)) = address.split_once('%') else { return Ok((after.to_owned(), None)) };
    let zone = zone.strip_prefix("25").filter(|zone| !zone.is_empty()).unwrap_or(zone);
    let decoded = percent_decode_str(zone).decode_utf8().ok().filter(|zone| !zone.is_empty());
    let decoded =
        decoded.ok_or_else(|| format!("the zone `{zone}` of its address is not the name of an interface"))?;
    Ok((format!("[{address}]{rest}"), Some(decoded.into_owned())))
}

impl Url {
    /// The host for the resolver: its name, or its address with the zone.
    pub(crate) fn dialled(&self) -> Cow<'_, str> {
        match &self.zone {
            Some(zone) => format!("{}%{zone}", self.host).into(),
            None => self.host.as_str().into(),
        }
    }

    /// Parses a URL.
    ///
    /// # Errors
    /// When it is invalid: the reason, without the user information.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (before, user, after) = split(text)?;
        let (after, zone) = without_zone(after)?;
        let uri: Uri =
            format!("{before}{after}").parse().map_err(|error: http::uri::InvalidUri| error.to_string())?;
        let authority = uri.authority().ok_or("it has no host")?;
        // `http` accepts any word as a port, and then reports no port.
        let after_host = authority.as_str().rsplit_once(authority.host()).map_or("", |(_, rest)| rest);
        let port = match authority.port_u16() {
            // It is not quoted: it may be a part of a password.
            None if !after_host.is_empty() => return Err("its port is invalid".to_owned()),
            port => port,
        };
        let target = uri.path_and_query().map_or("/", |target| target.as_str());
        Ok(Self {
            scheme: uri.scheme_str().unwrap_or_default().to_owned(),
            credentials: user.map(|user| Credentials(user.to_owned())),
            host: authority.host().trim_start_matches('[').trim_end_matches(']').to_owned(),
            zone,
            port,
            authority: authority.as_str().to_owned(),
            // A query may follow the host directly (RFC 3986, section 3): the path is then empty.
            target: if target.starts_with('?') { format!("/{target}") } else { target.to_owned() },
        })
    }
}

/// A path on the host of another URL, with that URL's user information. A `path` that is itself a URL is returned as is.
pub fn join_url(url: &str, path: &str) -> String {
    if !path.starts_with('/') {
        return path.to_owned();
    }
    format!("{}{path}", url.get(..host_end(url)).unwrap_or(url))
}

/// Splits a URL into scheme and host, and path with query, which is at least a slash. The fragment is left out, because it is never sent.
pub(crate) fn origin_and_path(url: &str) -> (&str, Cow<'_, str>) {
    let (origin, rest) = url.split_at_checked(host_end(url)).unwrap_or((url, ""));
    let path = rest.split_once('#').map_or(rest, |(path, _)| path);
    (origin, if path.starts_with('/') { path.into() } else { format!("/{path}").into() })
}

/// The end of the host of a URL.
fn host_end(url: &str) -> usize {
    let after_scheme = url.find("://").map_or(0, |at| at + 3);
    let rest = url.get(after_scheme..).unwrap_or_default();
    after_scheme + rest.find(['/', '?', '#']).unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_parsed_into_its_parts() {
        let url = Url::parse("https://a.test:81?b=@c").unwrap();
        assert_eq!((url.scheme.as_str(), url.host.as_str(), url.port), ("https", "a.test", Some(81)));
        assert_eq!((url.authority.as_str(), url.target.as_str()), ("a.test:81", "/?b=@c"));
        assert_eq!(url.credentials, None);
        let url = Url::parse("http://[::1]/a/b?c#d").unwrap();
        assert_eq!(
            (url.host.as_str(), url.authority.as_str(), url.target.as_str()),
            ("::1", "[::1]", "/a/b?c")
        );
        assert_eq!(Url::parse("http://a").unwrap().target, "/");
    }

    #[test]
    fn the_zone_of_an_address_is_no_part_of_the_authority() {
        for (text, zone) in [
            ("http://u:p@[fe80::1%lo]:81/a%b", "lo"),
            ("http://u:p@[fe80::1%25lo]:81/a%b", "lo"),
            ("http://u:p@[fe80::1%1]:81/a%b", "1"),
            ("http://u:p@[fe80::1%251]:81/a%b", "1"),
            ("http://u:p@[fe80::1%25]:81/a%b", "25"),
            ("http://u:p@[fe80::1%25br%2D0]:81/a%b", "br-0"),
        ] {
            let url = Url::parse(text).unwrap();
            assert_eq!((url.host.as_str(), url.authority.as_str()), ("fe80::1", "[fe80::1]:81"), "{text}");
            assert_eq!((url.zone.as_deref(), url.target.as_str()), (Some(zone), "/a%b"), "{text}");
            assert_eq!(url.dialled(), format!("fe80::1%{zone}"));
        }
        assert_eq!(
            (Url::parse("http://[::1]/").unwrap().zone, Url::parse("http://a/%25x").unwrap().zone),
            (None, None)
        );
        assert!(Url::parse("http://[fe80::1%]/").unwrap_err().contains("zone"));
    }

    #[test]
    fn user_information_is_decoded_and_never_displayed() {
        // The example of RFC 7617, section 2.
        let url = Url::parse("http://Aladdin:open%20sesame@a/").unwrap();
        assert_eq!(url.credentials.as_ref().unwrap().basic(), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
        assert_eq!(url.authority, "a");
        assert!(!format!("{url:?}").contains("sesame") && !format!("{url:?}").contains("Aladdin"));
        assert_eq!(Url::parse("http://u@a/").unwrap().credentials.unwrap().basic(), "Basic dTo=");
        assert_eq!(Url::parse("http://u:p@q@a/").unwrap().host, "a");
        for (url, shown) in [
            ("http://u:p@a/b@c", "http://a/b@c"),
            ("http://a/b@c", "http://a/b@c"),
            ("u:p@a/b", "a/b"),
            ("u:p/q@a://b", "a://b"),
            ("http://u:p@a b", "http://a b"),
        ] {
            assert_eq!(without_user(url), shown);
        }
    }

    #[test]
    fn a_password_with_a_slash_is_refused_and_never_displayed() {
        for url in [
            "http://joe:hun/ter2@127.0.0.1:47811/",
            "http://joe:hun?ter2@a/",
            "http://joe:hun#ter2@a/",
            "http://joe:12/ter2@a/",
            "http://joe:123456/ter2@a/",
        ] {
            let reason = Url::parse(url).unwrap_err();
            let texts = [reason, without_user(url)];
            assert!(
                texts.iter().all(|text| ["joe", "hun", "ter2", "12"].iter().all(|part| {
                    // The address of the first URL has digits, too.
                    !text.replace("127.0.0.1", "").contains(part)
                })),
                "{texts:?}"
            );
        }
        assert!(Url::parse("http://joe:hun/ter2@a/").unwrap_err().contains("%2F"));
        assert_eq!(Url::parse("http://a:word/").unwrap_err(), "its port is invalid");
        for url in [
            "http://127.0.0.1:80/me@b",
            "http://a.test:80/me@b",
            "http://localhost:80/me@b",
            "http://[::1]:80/me@b",
            "http://[::1]/me@b",
            "http://a:80/@scope/name",
            "http://a:80/?to=me@b",
            "http://a:80/me%40b",
            "http://a/me@b",
        ] {
            assert!(Url::parse(url).is_ok(), "{url}");
            assert_eq!(without_user(url), url);
        }
        let template = "http://a.test:{{port}}/me@b";
        assert_eq!(without_user(template), template);
    }

    #[test]
    fn a_path_takes_the_host_and_the_user_of_another_url() {
        assert_eq!(join_url("http://u:p@a:1/base?c", "/x?y=1"), "http://u:p@a:1/x?y=1");
        assert_eq!(join_url("http://a:1?c", "/x"), "http://a:1/x");
        assert_eq!(join_url("http://a", "http://b/x"), "http://b/x");
    }

    #[test]
    fn a_url_has_an_origin_and_a_path() {
        for (url, origin, path) in [
            ("http://a:1/x/{counter}?y=http://b/#z", "http://a:1", "/x/{counter}?y=http://b/"),
            ("http://a", "http://a", "/"),
            ("http://a?b", "http://a", "/?b"),
            ("ws://[::1]:2#c", "ws://[::1]:2", "/"),
            ("http://{{host}}/é", "http://{{host}}", "/é"),
        ] {
            let (found, rest) = origin_and_path(url);
            assert_eq!((found, rest.as_ref()), (origin, path), "{url}");
        }
    }
}
