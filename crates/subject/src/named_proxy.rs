//! A proxy that tests name in the environment of a process, and that must not be used.

use std::io;
use std::net::TcpListener;
use std::process::Command;

/// The variables in which programs look up their proxy.
const NAMES: [&str; 6] = ["ALL_PROXY", "all_proxy", "HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"];
/// The variables that name servers without a proxy.
const EXCEPTIONS: [&str; 2] = ["NO_PROXY", "no_proxy"];

/// A listening socket, which never accepts.
pub(crate) struct NamedProxy(TcpListener);

impl NamedProxy {
    pub(crate) fn new() -> Self {
        Self(TcpListener::bind("127.0.0.1:0").unwrap())
    }

    /// Sets it as the proxy for all servers in the environment of `command`.
    pub(crate) fn set(&self, command: &mut Command) {
        let url = format!("http://{}", self.0.local_addr().unwrap());
        command.envs(NAMES.map(|name| (name, url.as_str())));
        for name in EXCEPTIONS {
            command.env_remove(name);
        }
    }

    pub(crate) fn assert_unused(&self) {
        self.0.set_nonblocking(true).unwrap();
        let accepted = self.0.accept().map(|(_, client)| client).map_err(|error| error.kind());
        assert_eq!(accepted, Err(io::ErrorKind::WouldBlock));
    }
}
