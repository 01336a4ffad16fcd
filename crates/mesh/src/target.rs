//! The target of a load: the host and the port of a URL.

/// The host and the port of an HTTP URL; none for other texts.
pub(crate) fn target(url: &str) -> Option<String> {
    let rest = url.strip_prefix("http://")?;
    let host = rest.split(['/', '?']).next().filter(|host| !host.is_empty())?;
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    Some(if has_port { host.to_owned() } else { format!("{host}:80") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_a_host_with_its_port() {
        for (url, expected) in [
            ("http://origin:8080/a", Some("origin:8080")),
            ("http://origin/", Some("origin:80")),
            ("http://origin?a=1", Some("origin:80")),
            ("https://origin/", None),
            ("http:///", None),
        ] {
            assert_eq!(target(url).as_deref(), expected, "{url}");
        }
    }
}
