//! nginx and HAProxy as plain HTTP/1.1 front proxies, for comparison with Envoy on the same work.
//!
//! Each is one process with one thread, as few features as possible, keep-alive connections to the origin, and no log.
//!
//! Neither can report a port that the kernel chose, so their port is reserved until they listen
//! ([`hoptax_host::reserved_port`]). HAProxy sets `SO_REUSEPORT` by default, nginx with `reuseport`. Their configurations
//! name no path, since a folder may have any characters in its name.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hoptax_host::child::{Child, ChildSpec};
use hoptax_host::reserved_port::ReservedPort;

use crate::envoy::process::{Proxy, ProxyError};

/// Time limit for a proxy to listen.
const START_TIMEOUT: Duration = Duration::from_secs(10);
/// Interval of polling for that.
const POLL: Duration = Duration::from_millis(4);

/// A front proxy that is not Envoy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Front {
    /// nginx.
    Nginx,
    /// HAProxy.
    Haproxy,
}

impl Front {
    /// The name of the program, which is also that of its package.
    pub fn program(self) -> &'static str {
        match self {
            Self::Nginx => "nginx",
            Self::Haproxy => "haproxy",
        }
    }

    /// Starts a proxy between an address and an origin, and waits until it listens.
    ///
    /// # Errors
    /// When it is not installed, exits instead of listening, or the address cannot be bound.
    pub fn start(
        self,
        directory: &Path,
        listen: SocketAddr,
        origin: SocketAddr,
        processors: &[u32],
    ) -> Result<Proxy, ProxyError> {
        let file = |path: &Path| {
            let path = path.to_owned();
            |source| ProxyError::File { path, source }
        };
        fs::create_dir_all(directory).map_err(file(directory))?;
        let port =
            ReservedPort::bind(listen).map_err(|source| ProxyError::Address { address: listen, source })?;
        let listen = port.address();
        let config = self.config_file(directory);
        fs::write(&config, self.config(listen, origin)).map_err(file(&config))?;
        let arguments = match self {
            Self::Nginx => vec!["-p".into(), directory.into(), "-c".into(), config.into()],
            Self::Haproxy => vec!["-db".into(), "-f".into(), config.into()],
        };
        let spec = ChildSpec {
            program: self.program().into(),
            arguments,
            environment: Vec::new(),
            log: directory.join(format!("{}.log", self.program())),
            processors: processors.to_vec(),
        };
        let child = Child::start(&spec)
            .map_err(|source| ProxyError::Run { program: PathBuf::from(self.program()), source })?;
        let mut proxy = Proxy::of(child, listen);
        let began = Instant::now();
        loop {
            proxy.check()?;
            // Nobody but the proxy can listen on the reserved port.
            if TcpStream::connect(listen).is_ok() {
                return Ok(proxy);
            }
            if began.elapsed() > START_TIMEOUT {
                return Err(ProxyError::NotListening {
                    seconds: START_TIMEOUT.as_secs(),
                    log: proxy.log().to_owned(),
                });
            }
            std::thread::sleep(POLL);
        }
    }

    /// The path of the configuration in the directory that the proxy is started with.
    pub fn config_file(self, directory: &Path) -> PathBuf {
        directory.join(format!("{}.conf", self.program()))
    }

    /// The configuration. nginx takes relative paths from the folder that it is started with.
    fn config(self, listen: SocketAddr, origin: SocketAddr) -> String {
        match self {
            Self::Nginx => format!(
                "daemon off;\nmaster_process off;\nworker_processes 1;\npid nginx.pid;\nerror_log stderr warn;\n\
                 events {{ worker_connections 40000; }}\n\
                 http {{\n  access_log off;\n  client_body_temp_path body;\n  proxy_temp_path proxy;\n  \
                 fastcgi_temp_path fastcgi;\n  uwsgi_temp_path uwsgi;\n  scgi_temp_path scgi;\n  \
                 keepalive_requests 1000000000;\n  \
                 upstream origin {{ server {origin}; keepalive 1024; keepalive_requests 1000000000; }}\n  \
                 server {{\n    listen {listen} reuseport;\n    location / {{\n      proxy_pass http://origin;\n      \
                 proxy_http_version 1.1;\n      proxy_set_header Connection \"\";\n    }}\n  }}\n}}\n"
            ),
            Self::Haproxy => format!(
                "global\n  nbthread 1\n  maxconn 4000\ndefaults\n  mode http\n  timeout connect 1s\n  \
                 timeout client 5m\n  timeout server 5m\n  http-reuse always\nfrontend ingress\n  bind {listen}\n  \
                 default_backend origin\nbackend origin\n  server origin {origin}\n"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::env;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;

    fn is_installed(front: Front) -> bool {
        let path = env::var_os("PATH").unwrap_or_default();
        env::split_paths(&path).any(|folder| folder.join(front.program()).is_file())
    }

    #[test]
    fn a_configuration_names_no_path_and_shares_the_reserved_port() {
        let (listen, origin) = (([127, 0, 0, 1], 4_001).into(), ([127, 0, 0, 1], 4_002).into());
        let nginx = Front::Nginx.config(listen, origin);
        assert!(!nginx.contains("_path /") && nginx.contains("proxy_temp_path proxy;"), "{nginx}");
        assert!(nginx.contains("listen 127.0.0.1:4001 reuseport;"), "{nginx}");
        assert!(nginx.contains("{ server 127.0.0.1:4002;"), "{nginx}");
        let haproxy = Front::Haproxy.config(listen, origin);
        assert!(haproxy.contains("bind 127.0.0.1:4001\n") && !haproxy.contains("noreuseport"), "{haproxy}");
        assert!(haproxy.contains("server origin 127.0.0.1:4002\n"), "{haproxy}");
    }

    /// Where the programs are installed: they are not part of this repository.
    #[test]
    fn a_proxy_in_a_folder_with_odd_characters_forwards_requests() {
        for front in [Front::Nginx, Front::Haproxy].into_iter().filter(|front| is_installed(*front)) {
            let folder = tempfile::tempdir().unwrap();
            let folder = folder.path().join("my \"run\"; {$x} #1's \\");
            let origin = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = origin.local_addr().unwrap();
            let answering = std::thread::spawn(move || {
                let (mut connection, _) = origin.accept().unwrap();
                let mut request = [0; 1_000];
                assert!(connection.read(&mut request).unwrap() > 0);
                connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello").unwrap();
                let _ = connection.read(&mut request);
            });
            let proxy = front.start(&folder, ([127, 0, 0, 1], 0).into(), address, &[]).unwrap();
            let mut connection = TcpStream::connect(proxy.address).unwrap();
            connection.write_all(b"GET / HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n").unwrap();
            let mut answer = String::new();
            connection.read_to_string(&mut answer).unwrap();
            assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("hello"), "{front:?}: {answer}");
            proxy.end().unwrap();
            answering.join().unwrap();
        }
    }

    #[test]
    fn an_address_that_is_not_of_this_machine_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let error = Front::Nginx
            .start(folder.path(), ([192, 0, 2, 1], 0).into(), ([127, 0, 0, 1], 1).into(), &[])
            .unwrap_err();
        assert!(error.to_string().contains("192.0.2.1:0"), "{error}");
    }
}
