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
    incoming: Incoming,
    outgoing: Outgoing,
}

/// What comes from a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Incoming {
    /// There may be more.
    Open,
    /// It has sent all that it will; the connection is perhaps still of use to it.
    Ended,
    /// Its connection is gone, or never was.
    Failed,
}

/// What goes to a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outgoing {
    /// There may be more.
    Open,
    /// What is pending is the last.
    Closing,
    /// It has been told that nothing more comes.
    Closed,
    /// It takes nothing more.
    Failed,
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
            let mut owners = Vec::new();
            for (place, pair) in pairs.iter().enumerate() {
                for (side, other) in [(&pair.client, &pair.server), (&pair.server, &pair.client)] {
                    let interest = side.interest(other);
                    // One without interest would still be reported when its connection has ended, again and again.
                    if !interest.is_empty() {
                        fds.push(PollFd::new(&side.socket, interest));
                        owners.push(place);
                    }
                }
            }
            match poll(&mut fds, Some(&WAIT)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            let mut ready = fds.iter().map(|fd| !fd.revents().is_empty());
            let is_asked = ready.next().unwrap_or(false);
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
            while is_asked && let Ok((client, _)) = self.listener.accept() {
                // A client whose server cannot be reached is closed, as the server itself would; the others go on.
                pairs.extend(Pair::open(number, client.into(), self.to).ok());
                number += 1;
            }
        }
        Ok(record)
    }
}

impl Pair {
    /// Begins to connect to the server; whether it succeeds is seen when its side is read.
    fn open(number: u64, client: OwnedFd, to: SocketAddr) -> io::Result<Self> {
        let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let server = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
        match rustix::net::connect(&server, &to) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(error) => return Err(error.into()),
        }
        rustix::io::ioctl_fionbio(&client, true)?;
        for socket in [&client, &server] {
            sockopt::set_tcp_nodelay(socket, true)?;
        }
        Ok(Self { number, client: Side::new(client), server: Side::new(server), current: None })
    }

    /// Whether all that could be passed on has been.
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

    /// When it needs attention: to be read, unless the other cannot take more, and to be written.
    fn interest(&self, other: &Self) -> PollFlags {
        let is_read = self.incoming == Incoming::Open && other.pending.is_empty();
        let read = if is_read { PollFlags::IN } else { PollFlags::empty() };
        let write = if self.pending.is_empty() { PollFlags::empty() } else { PollFlags::OUT };
        read | write
    }

    /// Whether all that it sent has been passed on to `other`.
    fn is_done_to(&self, other: &Self) -> bool {
        self.incoming != Incoming::Open && matches!(other.outgoing, Outgoing::Closed | Outgoing::Failed)
    }

    /// Whether that is so, and its own connection is gone.
    fn is_lost_to(&self, other: &Self) -> bool {
        let is_lost = self.incoming == Incoming::Failed || self.outgoing == Outgoing::Failed;
        is_lost && self.is_done_to(other)
    }

    /// Reads once and passes it on; false when nothing came.
    fn read(&mut self, buffer: &mut [u8], to: &mut Self) -> bool {
        if self.incoming != Incoming::Open {
            return false;
        }
        match rustix::io::read(&self.socket, &mut *buffer) {
            Ok(0) => {
                self.incoming = Incoming::Ended;
                to.close();
                false
            }
            Ok(count) => {
                if to.outgoing == Outgoing::Open {
                    to.pending.extend_from_slice(buffer.get(..count).unwrap_or_default());
                    to.flush();
                }
                true
            }
            Err(Errno::AGAIN | Errno::INTR) => false,
            Err(_) => {
                self.incoming = Incoming::Failed;
                to.close();
                false
            }
        }
    }

    /// Takes note that nothing more goes to it than what is pending.
    fn close(&mut self) {
        if self.outgoing == Outgoing::Open {
            self.outgoing = Outgoing::Closing;
        }
        self.flush();
    }

    /// Writes what is pending, as far as the socket takes it, and then that it was the last, if it was.
    fn flush(&mut self) {
        while !self.pending.is_empty() {
            match rustix::net::send(&self.socket, &self.pending, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Ok(count) => drop(self.pending.drain(..count)),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(_) => {
                    // Nobody takes it any more; what it sent before is still read.
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

    /// Relays between a server and clients that `with` makes of the relay's address; what passed.
    fn relayed(to: SocketAddr, with: impl FnOnce(SocketAddr) + Send) -> Vec<Exchange> {
        let relay = Relay::bind(to).unwrap();
        let address = relay.local_address();
        let ended = AtomicBool::new(false);
        thread::scope(|scope| {
            let relaying = scope.spawn(|| relay.run(&ended));
            let done = scope.spawn(|| with(address)).join();
            ended.store(true, Ordering::Relaxed);
            let record = relaying.join().unwrap();
            done.unwrap();
            record.unwrap()
        })
    }

    #[test]
    fn an_answer_is_passed_on_to_its_end_when_the_server_closes_behind_it() {
        // More than the sockets on its way hold, so that most of it is pending when the server is gone.
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
    fn a_client_that_has_sent_all_still_gets_its_answer() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = listener.local_addr().unwrap();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut asked = Vec::new();
            stream.read_to_end(&mut asked).unwrap();
            thread::sleep(Duration::from_millis(20));
            stream.write_all(&asked).unwrap();
        });
        let record = relayed(to, |address| {
            let mut client = TcpStream::connect(address).unwrap();
            client.write_all(b"ping").unwrap();
            client.shutdown(std::net::Shutdown::Write).unwrap();
            let mut answer = Vec::new();
            client.read_to_end(&mut answer).unwrap();
            assert_eq!(answer, b"ping");
        });
        assert_eq!(record.len(), 1);
        server.join().unwrap();
    }

    #[test]
    fn a_refused_connection_ends_that_connection_alone() {
        // A port at which nobody listens for now.
        let to = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let record = relayed(to, |address| {
            let mut refused = TcpStream::connect(address).unwrap();
            // Closed or reset, but not left waiting.
            assert!(!matches!(refused.read(&mut [0; 1]), Ok(1..)));
            let listener = TcpListener::bind(to).unwrap();
            let server = thread::spawn(move || {
                let (mut stream, _) = listener.accept().unwrap();
                stream.read_exact(&mut [0; 4]).unwrap();
                stream.write_all(b"pong").unwrap();
            });
            let mut client = TcpStream::connect(address).unwrap();
            client.write_all(b"ping").unwrap();
            let mut answer = [0; 4];
            client.read_exact(&mut answer).unwrap();
            assert_eq!(&answer, b"pong");
            server.join().unwrap();
        });
        assert_eq!(record.len(), 1);
    }
}
