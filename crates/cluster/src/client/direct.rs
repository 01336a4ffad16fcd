//! Servers for which the environment's proxy is not used, by the rules of Go's [httpproxy], which `kubectl` follows: this machine, and
//! servers named in `NO_PROXY`. The Kubernetes client library compares `NO_PROXY` with the address of the proxy instead.
//!
//! [httpproxy]: https://pkg.go.dev/golang.org/x/net/http/httpproxy

use std::net::IpAddr;

use ipnet::IpNet;

/// True if a server with this host and port is reached without the environment's proxy.
pub(super) fn is_direct(host: &str, port: u16, no_proxy: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches([']', '.']).to_ascii_lowercase();
    let address: Option<IpAddr> = host.parse().ok();
    host == "localhost"
        || address.is_some_and(|address| address.is_loopback())
        || no_proxy.split(',').any(|entry| names(&entry.trim().to_ascii_lowercase(), &host, address, port))
}

/// True if an entry of `NO_PROXY` matches a server. An entry is `*`, an address, a network, or a domain with its subdomains; all but `*`
/// may have a port. With a leading dot or `*.`, a domain matches only its subdomains.
fn names(entry: &str, host: &str, address: Option<IpAddr>, port: u16) -> bool {
    let is_address = |named: IpAddr| address == Some(named);
    if entry == "*" {
        return true;
    }
    if let Ok(network) = entry.parse::<IpNet>() {
        return address.is_some_and(|address| network.contains(&address));
    }
    if let Ok(named) = entry.parse() {
        return is_address(named);
    }
    let (name, is_port) = match entry.rsplit_once(':') {
        Some((name, of)) => (name, of == port.to_string()),
        None => (entry, true),
    };
    if let Ok(named) = name.trim_start_matches('[').trim_end_matches(']').parse() {
        return is_port && is_address(named);
    }
    let domain = name.strip_prefix('*').unwrap_or(name);
    let below = domain.strip_prefix('.');
    let is_below = host.strip_suffix(below.unwrap_or(domain)).is_some_and(|rest| rest.ends_with('.'));
    is_port && (is_below || below.is_none() && host == domain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_reached_directly_and_others_by_the_proxy() {
        for host in ["localhost", "127.0.0.1", "[::1]", "127.8.8.8"] {
            assert!(is_direct(host, 6443, ""), "{host}");
        }
        for host in ["api.example", "10.0.0.1", "localhost.example", "[fd00::1]"] {
            assert!(!is_direct(host, 6443, ""), "{host}");
        }
    }

    #[test]
    fn servers_are_named_by_address_network_domain_and_port() {
        for (no_proxy, host, expected) in [
            ("*", "api.example", true),
            ("a.test, EXAMPLE", "api.example", true),
            ("example", "example", true),
            ("example", "badexample", false),
            (".example", "api.example", true),
            (".example", "example", false),
            ("*.example", "API.example.", true),
            ("api.example:6443", "api.example", true),
            ("api.example:443", "api.example", false),
            ("10.0.0.0/8", "10.1.2.3", true),
            ("10.0.0.0/8", "11.1.2.3", false),
            ("10.1.2.3", "10.1.2.3", true),
            ("10.1.2.3:6443", "10.1.2.3", true),
            ("10.1.2.3:443", "10.1.2.3", false),
            ("fd00::1", "[fd00::1]", true),
            ("[fd00::1]:6443", "[fd00::1]", true),
            ("fd00::/8", "[fe80::1]", false),
            (",, .", "api.example", false),
            ("0.0.0.0/0", "api.example", false),
        ] {
            assert_eq!(is_direct(host, 6443, no_proxy), expected, "{no_proxy}: {host}");
        }
    }
}
