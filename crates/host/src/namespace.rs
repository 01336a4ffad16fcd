//! Anonymous network namespaces. The kernel removes each one with its last process and its last handle, even after `kill -9`.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::process::{self, Command, Stdio};
use std::thread;

use nix::sched::{CloneFlags, setns, unshare};

/// The namespace of the calling thread.
const CURRENT: &str = "/proc/thread-self/ns/net";

/// A network namespace.
#[derive(Debug)]
pub struct Namespace {
    handle: File,
}

/// An error of a namespace.
#[derive(Debug, thiserror::Error)]
pub enum NamespaceError {
    /// It cannot be created: missing privileges, or no kernel support.
    #[error("cannot create a network namespace: {0}; this needs root, or CAP_SYS_ADMIN and CAP_NET_ADMIN")]
    Create(#[source] io::Error),
    /// Its loopback interface cannot be set up.
    #[error("cannot set up loopback in a network namespace with `ip` of the package iproute2: {0}")]
    Loopback(String),
    /// It cannot be entered.
    #[error("cannot enter a network namespace: {0}")]
    Enter(#[source] io::Error),
}

impl Namespace {
    /// Creates a namespace with only a loopback interface.
    ///
    /// # Errors
    /// Without the required privileges, or without `ip`.
    pub fn create() -> Result<Self, NamespaceError> {
        let created = thread::spawn(|| -> Result<Self, NamespaceError> {
            unshare(CloneFlags::CLONE_NEWNET).map_err(|error| NamespaceError::Create(error.into()))?;
            let handle = File::open(CURRENT).map_err(NamespaceError::Create)?;
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
        created
            .join()
            .unwrap_or_else(|_| Err(NamespaceError::Create(io::Error::other("its thread panicked"))))
    }

    /// Its path, for programs that move interfaces into it while this value lives.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", process::id(), self.handle.as_raw_fd())
    }

    /// Runs `work` in the namespace, on the calling thread. Sockets and processes that it creates belong to the namespace.
    ///
    /// # Errors
    /// If the namespace cannot be entered or left.
    pub fn within<T>(&self, work: impl FnOnce() -> T) -> Result<T, NamespaceError> {
        let outside = Outside(File::open(CURRENT).map_err(NamespaceError::Enter)?);
        setns(&self.handle, CloneFlags::CLONE_NEWNET).map_err(|error| NamespaceError::Enter(error.into()))?;
        let done = work();
        setns(&outside.0, CloneFlags::CLONE_NEWNET).map_err(|error| NamespaceError::Enter(error.into()))?;
        Ok(done)
    }
}

/// The previous namespace of the thread, restored on drop, even after a panic.
struct Outside(File);

impl Drop for Outside {
    fn drop(&mut self) {
        let _ = setns(&self.0, CloneFlags::CLONE_NEWNET);
    }
}
