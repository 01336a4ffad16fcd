//! A proxy that is not Envoy: its entry in its file, and its process.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hoptax_host::child::{Child, ChildSpec};
use hoptax_host::reserved_port::ReservedPort;

use crate::envoy::process::{Proxy, ProxyError};
use crate::program::in_search_path;

/// Time limit for a proxy to listen.
const START_TIMEOUT: Duration = Duration::from_secs(10);

/// Interval of polling for it.
const POLL: Duration = Duration::from_millis(4);

/// A proxy that is not Envoy.
pub struct Front {
    /// Its name in study files.
    pub name: &'static str,
    /// The name of its program.
    pub program: &'static str,
    /// Its name in sentences.
    pub title: &'static str,
    /// The Debian package of the program.
    pub package: &'static str,
    /// Arguments with which it prints its version.
    pub version: &'static [&'static str],
    /// The protocols that it serves, by their words in study files.
    pub protocols: &'static [&'static str],
    /// True if its connections can have TLS.
    pub takes_tls: bool,
    /// Number of its worker threads.
    pub threads: u32,
    /// Its configuration for an address and the servers behind it. It contains no path, since the name of a folder may have any characters.
    pub(super) config: fn(listen: SocketAddr, servers: &[SocketAddr]) -> String,
    /// Its arguments, given its folder and its configuration.
    pub(super) arguments: fn(folder: &Path, config: &Path) -> Vec<OsString>,
    /// Its environment variables in addition to those of hoptax, given its folder.
    pub(super) environment: fn(folder: &Path) -> Vec<(&'static str, OsString)>,
}

impl fmt::Debug for Front {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.title)
    }
}

impl PartialEq for Front {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Front {}

impl Front {
    /// Starts a proxy between an address and the servers behind it, and waits until it listens.
    ///
    /// # Errors
    /// When it is not installed, exits instead of listening, or the address cannot be bound.
    pub fn start(
        &self,
        directory: &Path,
        listen: SocketAddr,
        servers: &[SocketAddr],
        processors: &[u32],
    ) -> Result<Proxy, ProxyError> {
        self.start_from(directory, listen, servers, processors, &env::var_os("PATH").unwrap_or_default())
    }

    pub(super) fn start_from(
        &self,
        directory: &Path,
        listen: SocketAddr,
        servers: &[SocketAddr],
        processors: &[u32],
        search_path: &OsStr,
    ) -> Result<Proxy, ProxyError> {
        let program = in_search_path(self.program, search_path)
            .ok_or(ProxyError::Missing { program: self.program, package: self.package })?;
        let file = |path: &Path| {
            let path = path.to_owned();
            |source| ProxyError::File { path, source }
        };
        fs::create_dir_all(directory).map_err(file(directory))?;
        let port =
            ReservedPort::bind(listen).map_err(|source| ProxyError::Address { address: listen, source })?;
        let listen = port.address();
        let config = self.config_file(directory);
        fs::write(&config, (self.config)(listen, servers)).map_err(file(&config))?;
        let environment = (self.environment)(directory);
        let spec = ChildSpec {
            program: program.clone(),
            arguments: (self.arguments)(directory, &config),
            environment: environment.into_iter().map(|(name, value)| (name.into(), value)).collect(),
            log: directory.join(format!("{}.log", self.program)),
            processors: processors.to_vec(),
        };
        let child = Child::start(&spec).map_err(|source| ProxyError::Run { program, source })?;
        let mut proxy = Proxy::new(child, listen);
        let began = Instant::now();
        loop {
            proxy.check()?;
            // Nobody but the proxy can listen on the reserved port.
            if TcpStream::connect(listen).is_ok() {
                return Ok(proxy);
            }
            if began.elapsed() > START_TIMEOUT {
                let seconds = START_TIMEOUT.as_secs();
                return Err(proxy.stuck(format!("the proxy does not listen after {seconds} s")));
            }
            std::thread::sleep(POLL);
        }
    }

    /// The path of the configuration in the directory that the proxy is started with.
    pub fn config_file(&self, directory: &Path) -> PathBuf {
        directory.join(format!("{}.conf", self.program))
    }
}

/// No environment variables.
pub(super) fn no_environment(_: &Path) -> Vec<(&'static str, OsString)> {
    Vec::new()
}
