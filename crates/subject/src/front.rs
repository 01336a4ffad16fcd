//! nginx and HAProxy as plain HTTP/1.1 front proxies, for comparison with Envoy on the same work.
//!
//! Each is one process with one thread, as few features as possible, keep-alive connections to the origin, and no log.

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hoptax_host::child::{Child, ChildSpec};

use crate::envoy::process::{Proxy, ProxyError};

/// Time limit for a proxy to listen.
const PATIENCE: Duration = Duration::from_secs(10);
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
    /// When it is not installed, or exits instead of listening.
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
        let listen = free_port(listen).map_err(file(directory))?;
        let config = self.config_file(directory);
        fs::write(&config, self.config(directory, listen, origin)).map_err(file(&config))?;
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
        while TcpStream::connect(listen).is_err() {
            proxy.check()?;
            if began.elapsed() > PATIENCE {
                return Err(ProxyError::NotListening {
                    seconds: PATIENCE.as_secs(),
                    log: proxy.log().to_owned(),
                });
            }
            std::thread::sleep(POLL);
        }
        Ok(proxy)
    }

    /// The path of the configuration in the directory that the proxy is started with.
    pub fn config_file(self, directory: &Path) -> PathBuf {
        directory.join(format!("{}.conf", self.program()))
    }

    fn config(self, directory: &Path, listen: SocketAddr, origin: SocketAddr) -> String {
        match self {
            Self::Nginx => format!(
                "daemon off;\nmaster_process off;\nworker_processes 1;\npid nginx.pid;\nerror_log stderr warn;\n\
                 events {{ worker_connections 8000; }}\n\
                 http {{\n  access_log off;\n  client_body_temp_path {0}/body;\n  proxy_temp_path {0}/proxy;\n  \
                 fastcgi_temp_path {0}/fastcgi;\n  uwsgi_temp_path {0}/uwsgi;\n  scgi_temp_path {0}/scgi;\n  \
                 keepalive_requests 1000000000;\n  \
                 upstream origin {{ server {origin}; keepalive 1024; keepalive_requests 1000000000; }}\n  \
                 server {{\n    listen {listen};\n    location / {{\n      proxy_pass http://origin;\n      \
                 proxy_http_version 1.1;\n      proxy_set_header Connection \"\";\n    }}\n  }}\n}}\n",
                directory.display()
            ),
            Self::Haproxy => format!(
                "global\n  nbthread 1\n  maxconn 4000\ndefaults\n  mode http\n  timeout connect 1s\n  \
                 timeout client 5m\n  timeout server 5m\n  http-reuse always\nfrontend ingress\n  bind {listen}\n  \
                 default_backend origin\nbackend origin\n  server origin {origin}\n"
            ),
        }
    }
}

/// The address with a port that was free a moment ago: these proxies cannot report a port chosen by the kernel.
fn free_port(listen: SocketAddr) -> std::io::Result<SocketAddr> {
    if listen.port() != 0 {
        return Ok(listen);
    }
    TcpListener::bind(listen)?.local_addr()
}
