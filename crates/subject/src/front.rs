//! Proxies other than Envoy: plain HTTP/1.1 front proxies, for comparison with Envoy on the same work, and a balancer of TCP
//! connections.
//!
//! Each is one process with one thread, as few features as possible, and no log of requests or connections. Its entry states the features
//! that it supports; plans refuse the others. Front proxies keep their connections to the servers behind them, and distribute requests in
//! turn.
//!
//! They cannot report a port that the kernel chose, so hoptax reserves their port until they listen ([`hoptax_host::reserved_port`]); each
//! opens it with `SO_REUSEPORT`.

mod caddy;
mod haproxy;
mod haproxy_tcp;
mod nginx;
mod program;

pub use program::Front;

/// The proxies, in the order in which study files list them.
pub static ALL: [&Front; 4] = [&nginx::NGINX, &haproxy::HAPROXY, &haproxy_tcp::HAPROXY_TCP, &caddy::CADDY];

impl Front {
    /// The proxy with this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        ALL.into_iter().find(|front| front.name == name)
    }
}

#[cfg(test)]
mod tests {
    use std::env;
    use std::fs;
    use std::io::{ErrorKind, Read, Write};
    use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
    use std::path::Path;

    use super::*;
    use crate::envoy::process::ProxyError;
    use crate::program::in_search_path;

    fn is_installed(front: &Front) -> bool {
        in_search_path(front.program, &env::var_os("PATH").unwrap_or_default()).is_some()
    }

    #[test]
    fn a_configuration_names_all_addresses_and_no_path() {
        let [listen, one, other] = [4_001, 4_002, 4_003].map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
        for front in ALL {
            let config = (front.config)(listen, &[one, other]);
            let names = |address: SocketAddr| config.matches(&address.to_string()).count();
            assert_eq!([listen, one, other].map(names), [1; 3], "{config}");
            let paths = config.matches('/').count() - 2 * config.matches("://").count();
            assert!(paths == config.matches("location / ").count(), "{front:?}: {config}");
            assert_eq!(Front::named(front.name), Some(front));
        }
    }

    /// A proxy that forwards bytes supports every protocol of callers and servers. Tests only installed programs.
    #[test]
    fn a_proxy_that_serves_tcp_passes_any_bytes_on_in_both_directions() {
        let serves_tcp = |front: &&Front| front.protocols.contains(&"tcp");
        assert!(ALL.into_iter().any(|front| serves_tcp(&front)));
        for front in ALL.into_iter().filter(|front| serves_tcp(front) && is_installed(front)) {
            let origin = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = origin.local_addr().unwrap();
            let sent: Vec<u8> = (0..=255).rev().collect();
            let length = sent.len();
            std::thread::spawn(move || {
                // Connections without bytes are health checks.
                for mut connection in origin.incoming().flatten() {
                    let mut bytes = vec![0; length];
                    if connection.read_exact(&mut bytes).is_ok() {
                        bytes.reverse();
                        connection.write_all(&bytes).unwrap();
                    }
                }
            });
            let folder = tempfile::tempdir().unwrap();
            let proxy = front.start(folder.path(), ([127, 0, 0, 1], 0).into(), &[address], &[]).unwrap();
            let mut connection = TcpStream::connect(proxy.address).unwrap();
            connection.write_all(&sent).unwrap();
            let mut received = vec![0; length];
            connection.read_exact(&mut received).unwrap();
            assert!(received.iter().eq(sent.iter().rev()), "{front:?}: {received:?}");
            proxy.end().unwrap();
        }
    }

    /// Tests only installed programs, which are not part of this repository.
    #[test]
    fn a_proxy_in_a_folder_with_odd_characters_forwards_requests() {
        for front in ALL.into_iter().filter(|front| is_installed(front)) {
            let folder = tempfile::tempdir().unwrap();
            let folder = folder.path().join("my \"run\"; {$x} #1's \\");
            let origin = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = origin.local_addr().unwrap();
            let answering = std::thread::spawn(move || {
                let mut request = [0; 1_000];
                // A balancer also opens connections without a request, as health checks.
                let mut connection = loop {
                    let (mut connection, _) = origin.accept().unwrap();
                    if connection.read(&mut request).is_ok_and(|bytes| bytes > 0) {
                        break connection;
                    }
                };
                connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello").unwrap();
                // A balancer of connections closes a connection only after its server.
                connection.shutdown(Shutdown::Write).unwrap();
                let _ = connection.read(&mut request);
            });
            let proxy = front.start(&folder, ([127, 0, 0, 1], 0).into(), &[address], &[]).unwrap();
            let mut connection = TcpStream::connect(proxy.address).unwrap();
            connection.write_all(b"GET / HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n").unwrap();
            let mut answer = String::new();
            connection.read_to_string(&mut answer).unwrap();
            assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("hello"), "{front:?}: {answer}");
            proxy.end().unwrap();
            answering.join().unwrap();
        }
    }

    /// Starts a proxy whose program is an empty script, if it is in the folder.
    fn start_in(folder: &Path, listen: SocketAddr) -> ProxyError {
        let server = ([127, 0, 0, 1], 1).into();
        nginx::NGINX.start_from(folder, listen, &[server], &[], folder.as_os_str()).unwrap_err()
    }

    #[test]
    fn a_missing_program_is_named_with_its_package() {
        let folder = tempfile::tempdir().unwrap();
        let error = start_in(folder.path(), ([127, 0, 0, 1], 0).into());
        assert!(matches!(error, ProxyError::Missing { program: "nginx", .. }), "{error}");
        assert_eq!(error.to_string(), "`nginx` is not installed: install the package nginx-light");
    }

    #[test]
    fn an_address_that_is_not_of_this_machine_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("nginx");
        fs::write(&program, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let error = start_in(folder.path(), ([192, 0, 2, 1], 0).into());
        assert!(error.to_string().contains("192.0.2.1:0"), "{error}");
        let ProxyError::Address { source, .. } = error else { panic!("{error}") };
        assert_eq!(source.kind(), ErrorKind::AddrNotAvailable);
    }
}
