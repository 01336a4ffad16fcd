//! Assignment of the connections of a process to its event loops, for servers whose workers have an epoll instance each.
//!
//! The kernel lists the watched file descriptors of every epoll instance (`proc_pid_fdinfo(5)`), and for each socket its addresses
//! (`/proc/PID/net/tcp`), so neither the server nor its requests need to change.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::Path;

use crate::sockets::{folder, inode, of_namespace};

/// The peers of the TCP connections of each epoll instance of a process, in the order of the file descriptors of the instances. Instances
/// without connections are left out.
///
/// File descriptors that are closed meanwhile are left out.
///
/// # Errors
/// When the process has ended, or belongs to another user.
pub fn peers(process: u32) -> io::Result<Vec<BTreeSet<SocketAddr>>> {
    let folder = folder(process);
    let connected = of_namespace(process).filter(|socket| !socket.is_listening);
    let peers: BTreeMap<u64, SocketAddr> = connected.map(|socket| (socket.inode, socket.remote)).collect();
    let mut loops = BTreeMap::new();
    for entry in fs::read_dir(folder.join("fd"))? {
        let entry = entry?;
        let is_loop =
            fs::read_link(entry.path()).is_ok_and(|target| target == Path::new("anon_inode:[eventpoll]"));
        let number = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
        let (true, Some(number)) = (is_loop, number) else { continue };
        let Ok(text) = fs::read_to_string(folder.join("fdinfo").join(entry.file_name())) else { continue };
        let sockets =
            watched(&text).filter_map(|watched| inode(&folder.join("fd").join(watched.to_string())));
        let peers: BTreeSet<SocketAddr> = sockets.filter_map(|inode| peers.get(&inode).copied()).collect();
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
    fn the_watched_descriptors_are_read() {
        assert_eq!(watched("pos:\t0\ntfd:       12 events: 19 data: c\ntfd: x\n").collect::<Vec<_>>(), [12]);
    }
}
