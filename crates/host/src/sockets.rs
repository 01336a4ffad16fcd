//! The TCP sockets of other processes, from `/proc`: their addresses, and which process has them.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use crate::freeze::children;

/// The state of a socket that listens, as in `/proc/PID/net/tcp`.
const LISTENING: &str = "0A";

/// A TCP socket of the network namespace of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Socket {
    pub(crate) inode: u64,
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
    pub(crate) is_listening: bool,
}

/// Returns true if a process or one of its descendants listens on a port.
///
/// # Errors
/// When the process has ended, or belongs to another user.
pub fn listens(process: u32, port: u16) -> io::Result<bool> {
    let listening = |socket: &Socket| socket.is_listening && socket.local.port() == port;
    let inodes: BTreeSet<u64> = of_namespace(process).filter(listening).map(|socket| socket.inode).collect();
    let holds = |process: u32| -> io::Result<bool> {
        let descriptors = fs::read_dir(folder(process).join("fd"))?.flatten();
        Ok(descriptors.filter_map(|entry| inode(&entry.path())).any(|inode| inodes.contains(&inode)))
    };
    if holds(process)? {
        return Ok(true);
    }
    let mut descendants = children(process)?;
    while let Some(process) = descendants.pop() {
        // It may have ended meanwhile.
        if holds(process).unwrap_or(false) {
            return Ok(true);
        }
        descendants.extend(children(process).unwrap_or_default());
    }
    Ok(false)
}

/// The folder of a process in `/proc`.
pub(crate) fn folder(process: u32) -> PathBuf {
    Path::new("/proc").join(process.to_string())
}

/// All sockets of the network namespace of a process.
pub(crate) fn of_namespace(process: u32) -> impl Iterator<Item = Socket> {
    let texts = ["tcp", "tcp6"].map(|name| fs::read_to_string(folder(process).join("net").join(name)));
    texts.into_iter().flatten().flat_map(|text| sockets(&text).collect::<Vec<_>>())
}

/// The inode of the socket that a file descriptor is, by its path in `/proc`; none if it is something else.
pub(crate) fn inode(descriptor: &Path) -> Option<u64> {
    fs::read_link(descriptor).ok()?.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

/// The sockets in the text of `/proc/PID/net/tcp`. Lines that cannot be read are left out.
fn sockets(text: &str) -> impl Iterator<Item = Socket> + '_ {
    text.lines().skip(1).filter_map(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let [local, remote] = [address(fields.next()?)?, address(fields.next()?)?];
        let is_listening = fields.next()? == LISTENING;
        Some(Socket { inode: fields.nth(5)?.parse().ok()?, local, remote, is_listening })
    })
}

/// An address as `0100007F:1F90`: groups of four bytes in the order of the machine, then the port.
fn address(text: &str) -> Option<SocketAddr> {
    let (host, port) = text.split_once(':')?;
    let groups: Option<Vec<[u8; 4]>> = (0..host.len() / 8)
        .map(|group| Some(u32::from_str_radix(host.get(8 * group..8 * group + 8)?, 16).ok()?.to_ne_bytes()))
        .collect();
    let bytes = groups?.concat();
    let host = match bytes.len() {
        4 => IpAddr::from(Ipv4Addr::from(<[u8; 4]>::try_from(bytes).ok()?)),
        16 => IpAddr::from(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?)).to_canonical(),
        _ => return None,
    };
    Some(SocketAddr::new(host, u16::from_str_radix(port, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::process::{Child, Command, Stdio};

    use super::*;

    #[test]
    fn addresses_of_both_families_are_read_and_broken_lines_are_not() {
        let text = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
                    0: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000 0 0 777 1 0\n\
                    1: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 778 1 0\n\
                    2: broken\n";
        let [local, remote] = [8_080, 50_000].map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
        let expected = [
            Socket { inode: 777, local, remote, is_listening: false },
            Socket { inode: 778, local, remote: SocketAddr::from(([0; 4], 0)), is_listening: true },
        ];
        assert_eq!(sockets(text).collect::<Vec<_>>(), expected);
        assert_eq!(address("0000000000000000FFFF00000100007F:C350"), Some(remote));
        for broken in ["", ":", "zz:1", "0100007F", "0100007F:G", "01:1", "0100007\u{e9}:1"] {
            assert_eq!(address(broken), None, "{broken}");
        }
    }

    /// A process that ends with the test.
    struct Ended(Child);

    impl Drop for Ended {
        fn drop(&mut self) {
            let _ = (self.0.kill(), self.0.wait());
        }
    }

    #[test]
    fn only_the_process_that_listens_and_its_ancestors_listen() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert!(listens(std::process::id(), port).unwrap());
        // Rust opens sockets that programs it starts do not inherit.
        let other = Ended(Command::new("sleep").arg("60").stdin(Stdio::null()).spawn().unwrap());
        assert!(!listens(other.0.id(), port).unwrap());
        drop(listener);
        assert!(!listens(std::process::id(), port).unwrap());
    }
}
