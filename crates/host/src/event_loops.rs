//! Which connections of a process belong to which of its event loops, for servers whose workers have an epoll instance each.
//!
//! The kernel lists the watched file descriptors of every epoll instance (`proc_pid_fdinfo(5)`), and for each socket its addresses
//! (`/proc/PID/net/tcp`), so neither the server nor its requests need to change.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

/// The peers of the TCP connections of each epoll instance of a process that has any, in the order of their file descriptors.
///
/// File descriptors that are closed meanwhile are left out.
///
/// # Errors
/// When the process has ended, or belongs to another user.
pub fn peers(process: u32) -> io::Result<Vec<BTreeSet<SocketAddr>>> {
    let folder = Path::new("/proc").join(process.to_string());
    let sockets = ["tcp", "tcp6"].map(|name| fs::read_to_string(folder.join("net").join(name)));
    let sockets: BTreeMap<u64, SocketAddr> =
        sockets.iter().flatten().flat_map(|text| by_inode(text)).collect();
    let mut loops = BTreeMap::new();
    for entry in fs::read_dir(folder.join("fd"))? {
        let entry = entry?;
        let is_loop =
            fs::read_link(entry.path()).is_ok_and(|target| target == Path::new("anon_inode:[eventpoll]"));
        let number = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
        let (true, Some(number)) = (is_loop, number) else { continue };
        let Ok(text) = fs::read_to_string(folder.join("fdinfo").join(entry.file_name())) else { continue };
        let inodes = watched(&text).filter_map(|watched| {
            let target = fs::read_link(folder.join("fd").join(watched.to_string())).ok()?;
            target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
        });
        let peers: BTreeSet<SocketAddr> =
            inodes.filter_map(|inode: u64| sockets.get(&inode).copied()).collect();
        if !peers.is_empty() {
            loops.insert(number, peers);
        }
    }
    Ok(loops.into_values().collect())
}

/// The file descriptors that an epoll instance watches: lines as `tfd:       12 events: ...`.
fn watched(fdinfo: &str) -> impl Iterator<Item = u32> {
    fdinfo.lines().filter_map(|line| line.strip_prefix("tfd:")?.split_whitespace().next()?.parse().ok())
}

/// The remote addresses of the sockets in `/proc/PID/net/tcp` by inode, without those that listen.
fn by_inode(text: &str) -> impl Iterator<Item = (u64, SocketAddr)> {
    text.lines().skip(1).filter_map(|line| {
        let mut fields = line.split_whitespace();
        let remote = address(fields.nth(2)?)?;
        let inode = fields.nth(6)?.parse().ok()?;
        (remote.port() != 0).then_some((inode, remote))
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
    use std::net::{TcpListener, TcpStream};

    use rustix::event::epoll;

    use super::*;

    #[test]
    fn connections_are_found_in_the_event_loop_that_watches_them() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let loops = [0; 2].map(|_| epoll::create(epoll::CreateFlags::CLOEXEC).unwrap());
        let mut kept = Vec::new();
        let expected = [vec![0, 2], vec![1]].map(|numbers| numbers.into_iter().collect::<BTreeSet<usize>>());
        let clients: Vec<TcpStream> = (0..3)
            .map(|number| {
                let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
                let (server, _) = listener.accept().unwrap();
                let watching = usize::from(expected[1].contains(&number));
                epoll::add(&loops[watching], &server, epoll::EventData::new_u64(0), epoll::EventFlags::IN)
                    .unwrap();
                kept.push(server);
                client
            })
            .collect();
        let found = peers(std::process::id()).unwrap();
        for numbers in expected {
            let addresses = numbers.into_iter().map(|number| clients[number].local_addr().unwrap()).collect();
            assert!(found.contains(&addresses), "{addresses:?} in {found:?}");
        }
    }

    #[test]
    fn addresses_of_both_families_are_read_and_listening_sockets_are_not() {
        let text = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
                    0: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000 0 0 777 1 0\n\
                    1: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 778 1 0\n\
                    2: broken\n";
        let expected = SocketAddr::from(([127, 0, 0, 1], 50_000));
        assert_eq!(by_inode(text).collect::<Vec<_>>(), [(777, expected)]);
        assert_eq!(address("0000000000000000FFFF00000100007F:C350"), Some(expected));
        for broken in ["", ":", "zz:1", "0100007F", "0100007F:G", "01:1", "0100007\u{e9}:1"] {
            assert_eq!(address(broken), None, "{broken}");
        }
        assert_eq!(watched("pos:\t0\ntfd:       12 events: 19 data: c\ntfd: x\n").collect::<Vec<_>>(), [12]);
    }
}
