//! An address of this machine that ignores connection attempts: its accept queue is full, so the kernel drops them.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use rustix::net::listen;

/// Maximum number of connections to fill the queue with.
const MOST: usize = 16;
/// Time after which a connection that is not open will never open.
const OPENS: Duration = Duration::from_millis(200);

/// The address; its listener closes when dropped.
#[derive(Debug)]
pub(super) struct FullBacklog {
    pub(super) address: SocketAddr,
    _listener: TcpListener,
    _queue: Vec<TcpStream>,
}

impl FullBacklog {
    pub(super) fn start() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        // The shortest possible queue.
        listen(&listener, 0)?;
        let mut queue = Vec::new();
        while queue.len() < MOST {
            match TcpStream::connect_timeout(&address, OPENS) {
                Ok(stream) => queue.push(stream),
                Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                    return Ok(Self { address, _listener: listener, _queue: queue });
                }
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other(
            "the kernel accepts connections although the queue of the listening socket is full",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_connection_opens_while_it_is_there() {
        let full_backlog = FullBacklog::start().unwrap();
        let error = |address| TcpStream::connect_timeout(&address, OPENS).unwrap_err().kind();
        let address = full_backlog.address;
        assert_eq!(error(address), io::ErrorKind::TimedOut);
        drop(full_backlog);
        assert_eq!(error(address), io::ErrorKind::ConnectionRefused);
    }
}
