//! The proxy that environment variables name, and the hosts that are reached without it.
//!
//! `ureq` can read these variables too, but it ignores values that it does not understand, and cannot read a list of hosts with spaces.

use ureq::{Proxy, ProxyProtocol};

use super::error::FetchError;

/// The variables that name a proxy. Earlier ones take precedence.
const VARIABLES: [&str; 6] =
    ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "HTTP_PROXY", "http_proxy"];

/// The proxy that these variables name; none if they name no proxy.
///
/// # Errors
/// When the first one that is set is not the address of an HTTP proxy. If it were ignored, a network that needs a proxy would seem to be
/// silent.
pub(super) fn proxy(variable: &dyn Fn(&str) -> Option<String>) -> Result<Option<Proxy>, FetchError> {
    let Some((setting, value)) = VARIABLES.into_iter().find_map(|name| Some((name, variable(name)?))) else {
        return Ok(None);
    };
    let named = Proxy::new(value.trim()).map_err(|_| FetchError::Proxy { setting })?;
    if !matches!(named.protocol(), ProxyProtocol::Http | ProxyProtocol::Https) {
        return Err(FetchError::Proxy { setting });
    }
    let mut builder = Proxy::builder(named.protocol()).host(named.host()).port(named.port());
    if let Some(user) = named.username() {
        builder = builder.username(user);
    }
    if let Some(password) = named.password() {
        builder = builder.password(password);
    }
    let excepted = variable("NO_PROXY").or_else(|| variable("no_proxy")).unwrap_or_default();
    for host in excepted.split(',').map(|host| host.trim().trim_start_matches('.')) {
        if !host.is_empty() {
            // The host and its subdomains.
            builder = builder.no_proxy(host).no_proxy(&format!(".{host}"));
        }
    }
    builder.build().map(Some).map_err(|_| FetchError::Proxy { setting })
}

#[cfg(test)]
mod tests {
    use ureq::http::Uri;

    use super::*;

    fn of(variables: &[(&str, &str)]) -> Result<Option<Proxy>, FetchError> {
        let value =
            |name: &str| variables.iter().find(|(of, _)| *of == name).map(|(_, value)| (*value).to_owned());
        proxy(&value)
    }

    #[test]
    fn the_proxy_is_that_of_the_first_variable_with_its_user() {
        assert_eq!(of(&[("NO_PROXY", "*")]).unwrap(), None);
        let found = of(&[("HTTP_PROXY", "c.test"), ("ALL_PROXY", "http://me:a%40b@b.test:3128")]).unwrap();
        let found = found.unwrap();
        assert_eq!((found.host(), found.port()), ("b.test", 3128));
        assert_eq!((found.username(), found.password()), (Some("me"), Some("a@b")));
        let found = of(&[("ALL_PROXY", "socks5://b.test"), ("https_proxy", "a.test:8080")]).unwrap().unwrap();
        assert_eq!((found.host(), found.port(), found.username()), ("a.test", 8080, None));
    }

    #[test]
    fn a_proxy_that_cannot_be_used_is_an_error_that_names_the_variable_alone() {
        for address in ["socks5://me:secret@a.test:1080", "me:secret proxy", "ftp://me:secret@a.test"] {
            let refused = of(&[("HTTPS_PROXY", address)]).unwrap_err().to_string();
            assert!(refused.contains("HTTPS_PROXY") && !refused.contains("secret"), "{refused}");
        }
    }

    #[test]
    fn hosts_without_it_are_listed_with_or_without_spaces_and_dots() {
        let excepted = |list: &str, address: &str| {
            let found = of(&[("HTTPS_PROXY", "http://a.test"), ("NO_PROXY", list)]).unwrap().unwrap();
            found.is_no_proxy(&address.parse::<Uri>().unwrap())
        };
        for list in ["b.test", "x.test, b.test", " .b.test ,", "*"] {
            assert!(excepted(list, "https://b.test/simple"), "{list}");
            assert!(excepted(list, "https://index.b.test/simple"), "{list}");
        }
        assert!(excepted("127.0.0.1", "http://127.0.0.1:8080/"));
        for list in ["", ",", "c.test", "index.b.test"] {
            assert!(!excepted(list, "https://b.test/"), "{list}");
        }
        assert!(!excepted("b.test", "https://ab.test/"));
    }
}
