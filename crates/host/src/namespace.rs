//! Network namespaces of our own. They have no name and no file: when the last process in them and the last handle are gone,
//! so are they, also after `kill -9`.

use std::fs::File;
use std::io;
use std::process::{Command, Stdio};
use std::thread;

use nix::sched::{CloneFlags, setns, unshare};

/// The file of the namespace that the calling thread is in.
const CURRENT: &str = "/proc/thread-self/ns/net";

/// A network namespace.
#[derive(Debug)]
pub struct Namespace {
    handle: File,
}

/// Why there is none.
#[derive(Debug, thiserror::Error)]
pub enum NamespaceError {
    /// Not allowed, or not known to the kernel.
    #[error("cannot make a network namespace: {0}; that needs root, or CAP_SYS_ADMIN and CAP_NET_ADMIN")]
    Make(#[source] io::Error),
    /// Its own loopback interface cannot be had.
    #[error("cannot bring up loopback in a network namespace with `ip`: {0}; it is in the package iproute2")]
    Loopback(String),
    /// It cannot be entered.
    #[error("cannot enter a network namespace: {0}")]
    Enter(#[source] io::Error),
}

impl Namespace {
    /// A new one, with a loopback interface and nothing else.
    ///
    /// # Errors
    /// Without the right to, or without `ip`.
    pub fn create() -> Result<Self, NamespaceError> {
        let made = thread::spawn(|| -> Result<Self, NamespaceError> {
            unshare(CloneFlags::CLONE_NEWNET).map_err(|error| NamespaceError::Make(error.into()))?;
            let handle = File::open(CURRENT).map_err(NamespaceError::Make)?;
            let ip = Command::new("ip")
                .args(["link", "set", "lo", "up"])
                .stdin(Stdio::null())
                .output()
                .map_err(|error| NamespaceError::Loopback(error.to_string()))?;
            if ip.status.success() {
                Ok(Self { handle })
            } else {
                Err(NamespaceError::Loopback(String::from_utf8_lossy(&ip.stderr).trim().to_owned()))
            }
        });
        made.join().unwrap_or_else(|_| Err(NamespaceError::Make(io::Error::other("its thread ended"))))
    }

    /// Does `work` in it, on the calling thread: sockets that are opened and processes that are started meanwhile are in it.
    ///
    /// # Errors
    /// When it cannot be entered, or not be left again.
    pub fn within<T>(&self, work: impl FnOnce() -> T) -> Result<T, NamespaceError> {
        let outside = Outside(File::open(CURRENT).map_err(NamespaceError::Enter)?);
        setns(&self.handle, CloneFlags::CLONE_NEWNET).map_err(|error| NamespaceError::Enter(error.into()))?;
        let done = work();
        setns(&outside.0, CloneFlags::CLONE_NEWNET).map_err(|error| NamespaceError::Enter(error.into()))?;
        Ok(done)
    }
}

/// The way back, also after a panic.
struct Outside(File);

impl Drop for Outside {
    fn drop(&mut self) {
        let _ = setns(&self.0, CloneFlags::CLONE_NEWNET);
    }
}
