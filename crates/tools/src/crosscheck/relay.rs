//! A TCP relay that records the times of requests and responses.
//!
//! It does not parse HTTP and requires one request in flight per connection. Bytes from the client after bytes from the server
//! begin a new request. The last bytes from the server before them end the previous response.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};

use hoptax_host::clock::now_ns;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, sockopt};
use rustix::time::Timespec;

use super::control::Exchange;

/// Maximum time in `poll`: bounds how late the end is noticed.
const MAX_WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
/// Maximum bytes per read.
const READ_BYTES: usize = 64 * 1024;

/// A listening relay.
#[derive(Debug)]
pub(crate) struct Relay {
    listener: TcpListener,
    address: SocketAddr,
    /// The server.
    upstream: SocketAddr,
}

/// A client connection and its server connection.
#[derive(Debug)]
struct Pair {
    number: u64,
    client: Side,
    server: Side,
    /// The current exchange: its index in the record, and true once its response has begun.
    current: Option<(usize, bool)>,
}

/// A socket and the bytes to be written to it.
#[derive(Debug)]
struct Side {
    socket: OwnedFd,
    pending: Vec<u8>,
    incoming: Incoming,
    outgoing: Outgoing,
}

/// The receiving direction of a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Incoming {
    /// Open.
    Open,
    /// The peer has closed its sending direction and may still receive.
    Ended,
    /// The connection failed or could not be opened.
    Failed,
}

/// The sending direction of a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outgoing {
    /// Open.
    Open,
    /// It closes after the pending bytes.
    Closing,
    /// It is shut down.
    Closed,
    /// A write failed.
    Failed,
}

impl Relay {
    /// Listens on a free loopback port and relays to `upstream`.
    pub(crate) fn bind(upstream: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address, upstream })
    }

    pub(crate) fn local_address(&self) -> SocketAddr {
        self.address
    }

    /// Relays until `ended` is set and returns the exchanges.
    pub(crate) fn run(self, ended: &AtomicBool) -> io::Result<Vec<Exchange>> {
        let mut pairs: Vec<Pair> = Vec::new();
        let mut record = Vec::new();
        let mut number = 0;
        let mut buffer = vec![0; READ_BYTES];
        while !ended.load(Ordering::Relaxed) {
            let mut fds = vec![PollFd::new(&self.listener, PollFlags::IN)];
            let mut owners = Vec::new();
            for (place, pair) in pairs.iter().enumerate() {
                for (side, other) in [(&pair.client, &pair.server), (&pair.server, &pair.client)] {
                    let interest = side.interest(other);
                    // A closed connection is always ready, so one without interest would cause busy waiting.
                    if !interest.is_empty() {
                        fds.push(PollFd::new(&side.socket, interest));
                        owners.push(place);
                    }
                }
            }
            match poll(&mut fds, Some(&MAX_WAIT)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            let mut ready = fds.iter().map(|fd| !fd.revents().is_empty());
            let is_accepting = ready.next().unwrap_or(false);
            let mut steps: Vec<usize> =
                owners.iter().zip(ready).filter(|(_, is_ready)| *is_ready).map(|(place, _)| *place).collect();
            drop(fds);
            steps.dedup();
            for place in steps {
                if let Some(pair) = pairs.get_mut(place) {
                    pair.step(&mut buffer, &mut record);
                }
            }
            pairs.retain(|pair| !pair.is_over());
            while is_accepting && let Ok((client, _)) = self.listener.accept() {
                // If the server is unreachable, only this client is closed.
                pairs.extend(Pair::open(number, client.into(), self.upstream).ok());
                number += 1;
            }
        }
        Ok(record)
    }
}

impl Pair {
    /// Starts a non-blocking connect to the server. A failure is reported by the first read.
    fn open(number: u64, client: OwnedFd, upstream: SocketAddr) -> io::Result<Self> {
        let family = if upstream.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let server = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
        match rustix::net::connect(&server, &upstream) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(error) => return Err(error.into()),
        }
        rustix::io::ioctl_fionbio(&client, true)?;
        for socket in [&client, &server] {
            sockopt::set_tcp_nodelay(socket, true)?;
        }
        Ok(Self { number, client: Side::new(client), server: Side::new(server), current: None })
    }

    /// Returns true if all data that can be relayed has been relayed.
    fn is_over(&self) -> bool {
        let (client, server) = (&self.client, &self.server);
        client.is_lost_to(server)
            || server.is_lost_to(client)
            || (client.is_done_to(server) && server.is_done_to(client))
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
    fn new(socket: OwnedFd) -> Self {
        Self { socket, pending: Vec::new(), incoming: Incoming::Open, outgoing: Outgoing::Open }
    }

    /// The events to poll for: readable unless data is pending for the other side, and writable if data is pending.
    fn interest(&self, other: &Self) -> PollFlags {
        let is_read = self.incoming == Incoming::Open && other.pending.is_empty();
        let read = if is_read { PollFlags::IN } else { PollFlags::empty() };
        let write = if self.pending.is_empty() { PollFlags::empty() } else { PollFlags::OUT };
        read | write
    }

    /// Returns true if all its data has been relayed to `other`.
    fn is_done_to(&self, other: &Self) -> bool {
        self.incoming != Incoming::Open && matches!(other.outgoing, Outgoing::Closed | Outgoing::Failed)
    }

    /// Returns true if all its data has been relayed to `other` and its own connection has failed.
    fn is_lost_to(&self, other: &Self) -> bool {
        let is_lost = self.incoming == Incoming::Failed || self.outgoing == Outgoing::Failed;
        is_lost && self.is_done_to(other)
    }

    /// Reads once and relays the data to `other`; false without data.
    fn read(&mut self, buffer: &mut [u8], other: &mut Self) -> bool {
        if self.incoming != Incoming::Open {
            return false;
        }
        match rustix::io::read(&self.socket, &mut *buffer) {
            Ok(0) => {
                self.incoming = Incoming::Ended;
                other.close();
                false
            }
            Ok(count) => {
                if other.outgoing == Outgoing::Open {
                    other.pending.extend_from_slice(buffer.get(..count).unwrap_or_default());
                    other.flush();
                }
                true
            }
            Err(Errno::AGAIN | Errno::INTR) => false,
            Err(_) => {
                self.incoming = Incoming::Failed;
                other.close();
                false
            }
        }
    }

    /// Closes the sending direction after the pending bytes.
    fn close(&mut self) {
        if self.outgoing == Outgoing::Open {
            self.outgoing = Outgoing::Closing;
        }
        self.flush();
    }

    /// Writes pending bytes until the socket would block, and then shuts down a closing direction.
    fn flush(&mut self) {
        while !self.pending.is_empty() {
            match rustix::net::send(&self.socket, &self.pending, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Ok(count) => drop(self.pending.drain(..count)),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(_) => {
                    // The peer receives no more; data that it has sent is still read.
                    self.pending.clear();
                    self.outgoing = Outgoing::Failed;
                }
            }
        }
        if self.outgoing == Outgoing::Closing {
            self.outgoing = Outgoing::Closed;
            let _ = rustix::net::shutdown(&self.socket, rustix::net::Shutdown::Write);
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

    /// The exchanges while `clients` runs with the address of a relay to `upstream`.
    fn relayed(upstream: SocketAddr, clients: impl FnOnce(SocketAddr) + Send) -> Vec<Exchange> {
        let relay = Relay::bind(upstream).unwrap();
        let address = relay.local_address();
        let ended = AtomicBool::new(false);
        thread::scope(|scope| {
            let relaying = scope.spawn(|| relay.run(&ended));
            let done = scope.spawn(|| clients(address)).join();
            ended.store(true, Ordering::Relaxed);
            let record = relaying.join().unwrap();
            done.unwrap();
            record.unwrap()
        })
    }

    #[test]
    fn times_are_recorded_and_bytes_are_unchanged() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = listener.local_addr().unwrap();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 4];
            while stream.read_exact(&mut request).is_ok() {
                thread::sleep(Duration::from_millis(20));
                // The response arrives in two pieces and ends with the second.
                stream.write_all(&request).unwrap();
                thread::sleep(Duration::from_millis(20));
                stream.write_all(b"more").unwrap();
            }
        });
        let record = relayed(to, |address| {
            let mut client = TcpStream::connect(address).unwrap();
            for _ in 0..3 {
                client.write_all(b"ping").unwrap();
                let mut response = [0; 8];
                client.read_exact(&mut response).unwrap();
                assert_eq!(&response, b"pingmore");
            }
        });
        assert_eq!(record.len(), 3);
        assert!(record.iter().all(|one| one.left_ns - one.arrived_ns >= 39_000_000), "{record:?}");
    }

    #[test]
    fn a_response_is_relayed_completely_when_the_server_closes_after_it() {
        // Larger than the socket buffers, so most of it is pending when the server has closed.
        const BYTES: usize = 32 << 20;
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = listener.local_addr().unwrap();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.read_exact(&mut [0; 4]).unwrap();
            stream.write_all(&vec![b'x'; BYTES]).unwrap();
        });
        relayed(to, |address| {
            let mut client = TcpStream::connect(address).unwrap();
            client.write_all(b"ping").unwrap();
            let (mut received, mut buffer) = (0, vec![0; 1 << 16]);
            loop {
                match client.read(&mut buffer).unwrap() {
                    0 => break,
                    count => received += count,
                }
                if received < 1 << 20 {
                    thread::sleep(Duration::from_millis(1));
                }
            }
            assert_eq!(received, BYTES);
        });
        server.join().unwrap();
    }

    #[test]
    fn a_client_that_closed_its_sending_direction_gets_its_response() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = listener.local_addr().unwrap();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = Vec::new();
            stream.read_to_end(&mut request).unwrap();
            thread::sleep(Duration::from_millis(20));
            stream.write_all(&request).unwrap();
        });
        let record = relayed(to, |address| {
            let mut client = TcpStream::connect(address).unwrap();
            client.write_all(b"ping").unwrap();
            client.shutdown(std::net::Shutdown::Write).unwrap();
            let mut response = Vec::new();
            client.read_to_end(&mut response).unwrap();
            assert_eq!(response, b"ping");
        });
        assert_eq!(record.len(), 1);
        server.join().unwrap();
    }

    #[test]
    fn a_refused_connection_does_not_affect_others() {
        // A port without a listener at first.
        let to = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let record = relayed(to, |address| {
            let mut refused = TcpStream::connect(address).unwrap();
            // Closed or reset, not left open.
            assert!(!matches!(refused.read(&mut [0; 1]), Ok(1..)));
            let listener = TcpListener::bind(to).unwrap();
            let server = thread::spawn(move || {
                let (mut stream, _) = listener.accept().unwrap();
                stream.read_exact(&mut [0; 4]).unwrap();
                stream.write_all(b"pong").unwrap();
            });
            let mut client = TcpStream::connect(address).unwrap();
            client.write_all(b"ping").unwrap();
            let mut response = [0; 4];
            client.read_exact(&mut response).unwrap();
            assert_eq!(&response, b"pong");
            server.join().unwrap();
        });
        assert_eq!(record.len(), 1);
    }
}
