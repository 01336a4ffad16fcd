//! A relay that stamps what passes: bytes go on as they come, and for each request and answer it is noted when.
//!
//! It reads no HTTP. On a connection that carries one request at a time, bytes from the client after bytes from the
//! server begin the next request, and the last bytes from the server before that end its answer.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};

use hoptax_host::clock::now_ns;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, sockopt};
use rustix::time::Timespec;

use crate::control::Exchange;

/// Longest wait, so that the end is noticed.
const WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
/// Bytes read at once.
const READ_BYTES: usize = 64 * 1024;

/// A relay that listens.
#[derive(Debug)]
pub(crate) struct Relay {
    listener: TcpListener,
    address: SocketAddr,
    to: SocketAddr,
}

/// One connection from a client, and the one on to the server.
#[derive(Debug)]
struct Pair {
    number: u64,
    client: Side,
    server: Side,
    /// The exchange that goes on, by its place in the record, and whether its answer has begun.
    current: Option<(usize, bool)>,
}

/// One socket, and the bytes that are to be written to it.
#[derive(Debug)]
struct Side {
    socket: OwnedFd,
    pending: Vec<u8>,
}

impl Relay {
    /// Listens on a free port of loopback, for a server at `to`.
    pub(crate) fn bind(to: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address, to })
    }

    pub(crate) fn local_address(&self) -> SocketAddr {
        self.address
    }

    /// Relays until `ended`, and returns what passed.
    pub(crate) fn run(self, ended: &AtomicBool) -> io::Result<Vec<Exchange>> {
        let mut pairs: Vec<Pair> = Vec::new();
        let mut record = Vec::new();
        let mut number = 0;
        let mut buffer = vec![0; READ_BYTES];
        while !ended.load(Ordering::Relaxed) {
            let mut fds = vec![PollFd::new(&self.listener, PollFlags::IN)];
            for pair in &pairs {
                // What cannot be written on is not read any further.
                fds.push(PollFd::new(&pair.client.socket, interest(&pair.client, &pair.server)));
                fds.push(PollFd::new(&pair.server.socket, interest(&pair.server, &pair.client)));
            }
            match poll(&mut fds, Some(&WAIT)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
            drop(fds);
            let is_ready = |place: usize| ready.get(place).copied().unwrap_or(false);
            for (place, pair) in pairs.iter_mut().enumerate() {
                if is_ready(1 + 2 * place) || is_ready(2 + 2 * place) {
                    pair.step(&mut buffer, &mut record);
                }
            }
            pairs.retain(|pair| !pair.client.is_over() && !pair.server.is_over());
            if is_ready(0) {
                while let Ok((client, _)) = self.listener.accept() {
                    pairs.push(Pair::open(number, client.into(), self.to)?);
                    number += 1;
                }
            }
        }
        Ok(record)
    }
}

/// When a side needs attention: to be read, unless the other cannot take more, and to be written.
fn interest(side: &Side, other: &Side) -> PollFlags {
    let read = if other.pending.is_empty() { PollFlags::IN } else { PollFlags::empty() };
    let write = if side.pending.is_empty() { PollFlags::empty() } else { PollFlags::OUT };
    read | write
}

impl Pair {
    fn open(number: u64, client: OwnedFd, to: SocketAddr) -> io::Result<Self> {
        let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let server = rustix::net::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        rustix::net::connect(&server, &to)?;
        for socket in [&client, &server] {
            sockopt::set_tcp_nodelay(socket, true)?;
            rustix::io::ioctl_fionbio(socket, true)?;
        }
        let side = |socket| Side { socket, pending: Vec::new() };
        Ok(Self { number, client: side(client), server: side(server), current: None })
    }

    fn step(&mut self, buffer: &mut [u8], record: &mut Vec<Exchange>) {
        self.client.flush();
        self.server.flush();
        if self.server.pending.is_empty() && self.client.read(buffer, &mut self.server) {
            let now = now_ns();
            if self.current.is_none_or(|(_, answered)| answered) {
                self.current = Some((record.len(), false));
                record.push(Exchange {
                    connection: self.number,
                    arrived_ns: now,
                    left_ns: now,
                    planned: None,
                });
            }
        }
        if self.client.pending.is_empty()
            && self.server.read(buffer, &mut self.client)
            && let Some((place, answered)) = &mut self.current
        {
            *answered = true;
            if let Some(exchange) = record.get_mut(*place) {
                exchange.left_ns = now_ns();
            }
        }
    }
}

impl Side {
    /// Reads once and passes it on; false when nothing came.
    fn read(&mut self, buffer: &mut [u8], to: &mut Self) -> bool {
        match rustix::io::read(&self.socket, &mut *buffer) {
            Ok(0) => {
                // The end of one direction is passed on; with both, the pair is over.
                let _ = rustix::net::shutdown(&to.socket, rustix::net::Shutdown::Write);
                false
            }
            Ok(count) => {
                to.pending.extend_from_slice(buffer.get(..count).unwrap_or_default());
                to.flush();
                true
            }
            Err(_) => false,
        }
    }

    fn flush(&mut self) {
        while !self.pending.is_empty() {
            match rustix::net::send(&self.socket, &self.pending, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Ok(count) => drop(self.pending.drain(..count)),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(_) => self.pending.clear(),
            }
        }
    }

    /// Whether nothing more will come from it.
    fn is_over(&self) -> bool {
        let mut byte = [0];
        let peeked = rustix::net::recv(
            &self.socket,
            &mut byte,
            rustix::net::RecvFlags::PEEK | rustix::net::RecvFlags::DONTWAIT,
        );
        match peeked {
            Ok((_, count)) => count == 0,
            Err(error) => error != Errno::AGAIN && error != Errno::INTR,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn requests_and_answers_are_stamped_and_bytes_pass_unchanged() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let relay = Relay::bind(listener.local_addr().unwrap()).unwrap();
        let address = relay.local_address();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut asked = [0; 4];
            while stream.read_exact(&mut asked).is_ok() {
                thread::sleep(Duration::from_millis(20));
                // In two pieces: the answer ends with the second.
                stream.write_all(&asked).unwrap();
                thread::sleep(Duration::from_millis(20));
                stream.write_all(b"more").unwrap();
            }
        });
        let ended = AtomicBool::new(false);
        let record = thread::scope(|scope| {
            let relaying = scope.spawn(|| relay.run(&ended));
            let mut client = TcpStream::connect(address).unwrap();
            for _ in 0..3 {
                client.write_all(b"ping").unwrap();
                let mut answer = [0; 8];
                client.read_exact(&mut answer).unwrap();
                assert_eq!(&answer, b"pingmore");
            }
            ended.store(true, Ordering::Relaxed);
            relaying.join().unwrap().unwrap()
        });
        assert_eq!(record.len(), 3);
        assert!(record.iter().all(|one| one.left_ns - one.arrived_ns >= 39_000_000), "{record:?}");
    }
}
