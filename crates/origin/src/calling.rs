//! An origin that calls other servers before it responds: a service in the middle of a graph.
//!
//! It speaks HTTP/1.1 on both sides. Each connection has a thread with connections of its own to the servers that it calls,
//! which stay open. A thread that waits for its calls uses no CPU time, and no other request waits for it.

mod peer;

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use hoptax_host::processors;
use hoptax_wire::http1::RequestError;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::time::Timespec;
use serde::{Deserialize, Serialize};

use crate::behaviour::Behaviour;
use crate::request::{BadRequest, Next, Request, RequestReader};
use crate::response::{BodyPieces, Persistence, has_no_body, write_head, write_text};
use crate::table::Tables;
use crate::{OriginError, OriginReport, listen};
use peer::{CallError, Peers};

/// Pause after `accept` failed for lack of file descriptors or memory.
const ACCEPT_PAUSE: Duration = Duration::from_millis(1);
/// Interval at which a stop request is noticed.
const MAX_WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
/// Stack of the thread of a connection. The parser of requests has the largest frame, of some KiB.
const STACK_BYTES: usize = 256 * 1024;
/// Maximum bytes per read.
const READ_BYTES: usize = 16 * 1024;

/// The calls that an origin makes for each request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calls {
    /// Steps, one after the other. The calls of a step are made concurrently, and the origin waits for all of them.
    pub steps: Vec<Vec<Call>>,
}

/// A call to another server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// The address of the server.
    pub address: SocketAddr,
    /// Mean number of calls for each request, one after the other. A fraction is spread evenly over the requests of a connection.
    pub factor: f64,
    /// The method.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Headers besides `Host` and `Content-Length`.
    pub headers: Vec<(String, String)>,
    /// The body; empty for none.
    pub body: String,
}

/// The configuration of an origin that calls others.
#[derive(Clone, Debug)]
pub struct CallingOptions {
    /// Listen address; port 0 selects a free port.
    pub listen: SocketAddr,
    /// Default parameters, as a query string. Those of a queue (`service`, `freeze`, `crowded`) and `poll` have no effect.
    pub default_query: String,
    /// The calls.
    pub calls: Calls,
    /// Random seed for delays, errors, closes, and the requests that fractions of calls belong to.
    pub seed: u64,
}

/// An origin that listens but does not serve yet.
#[derive(Debug)]
pub struct CallingOrigin {
    listener: TcpListener,
    address: SocketAddr,
    shared: Arc<Shared>,
}

/// State that the threads of all connections share.
#[derive(Debug)]
struct Shared {
    defaults: Behaviour,
    tables: Tables,
    /// Each step with its calls, encoded.
    peers: Peers,
    seed: u64,
    answered: AtomicU64,
    broken: AtomicU64,
}

impl CallingOrigin {
    /// Starts to listen. The servers that it calls need not listen yet.
    ///
    /// # Errors
    /// If the default or a call is invalid, or the address cannot be bound.
    pub fn bind(options: &CallingOptions) -> Result<Self, OriginError> {
        let tables = Tables::default();
        let mut defaults = Behaviour::default();
        defaults.apply_default(&options.default_query, &tables)?;
        let peers = Peers::new(&options.calls)?;
        let address = options.listen;
        let listener = listen(address, false).map_err(|source| OriginError::Listen { address, source })?;
        let shared = Shared {
            defaults,
            tables,
            peers,
            seed: options.seed,
            answered: AtomicU64::new(0),
            broken: AtomicU64::new(0),
        };
        Ok(Self { address: listener.local_addr()?, listener, shared: Arc::new(shared) })
    }

    /// The address that it listens on.
    pub fn local_address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` is set. The threads of open connections continue until these are closed, or the process ends.
    ///
    /// # Errors
    /// If a system call fails.
    pub fn run(self, stop: &AtomicBool) -> Result<OriginReport, OriginError> {
        // Threads inherit it.
        processors::set_min_timer_slack()?;
        let mut connections = 0;
        while !stop.load(Ordering::Relaxed) {
            let mut events = [PollFd::new(&self.listener, PollFlags::IN)];
            match poll(&mut events, Some(&MAX_WAIT)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(io::Error::from(error).into()),
            }
            match self.listener.accept() {
                Ok((stream, _)) => {
                    // Without a thread, the connection is closed; others go on.
                    if self.start_thread(stream, connections).is_err() {
                        self.shared.broken.fetch_add(1, Ordering::Relaxed);
                    }
                    connections += 1;
                }
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::WouldBlock
                            | io::ErrorKind::Interrupted
                            | io::ErrorKind::ConnectionAborted
                    ) => {}
                // Other connections may be closed meanwhile.
                Err(error) if is_shortage(&error) => thread::sleep(ACCEPT_PAUSE),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(OriginReport {
            connections,
            answered: self.shared.answered.load(Ordering::Relaxed),
            broken: self.shared.broken.load(Ordering::Relaxed),
        })
    }

    /// Starts the thread of connection `number`.
    fn start_thread(&self, stream: TcpStream, number: u64) -> io::Result<()> {
        let shared = Arc::clone(&self.shared);
        let until_closed = move || {
            if serve(&stream, &shared, number).is_err() {
                shared.broken.fetch_add(1, Ordering::Relaxed);
            }
        };
        thread::Builder::new().stack_size(STACK_BYTES).spawn(until_closed).map(drop)
    }
}

/// Returns true if an error is a lack of file descriptors or memory.
fn is_shortage(error: &io::Error) -> bool {
    let shortages = [Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::NOBUFS];
    Errno::from_io_error(error).is_some_and(|errno| shortages.contains(&errno))
}

/// Serves a connection until the client closes it.
fn serve(mut stream: &TcpStream, shared: &Shared, number: u64) -> io::Result<()> {
    // Responses are written in one piece, so Nagle's algorithm could only delay them.
    stream.set_nodelay(true)?;
    let mut reader = RequestReader::default();
    let mut random = SmallRng::seed_from_u64(shared.seed ^ number);
    let mut peers = shared.peers.connections(&mut random);
    let (mut buffer, mut output) = (vec![0; READ_BYTES], Vec::new());
    loop {
        output.clear();
        let closes = match reader.next(&shared.defaults, &shared.tables) {
            Ok(Next::More) => {
                let received = stream.read(&mut buffer)?;
                if received == 0 {
                    let is_idle = reader.is_idle();
                    return if is_idle { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) };
                }
                reader.feed(buffer.get(..received).unwrap_or_default());
                continue;
            }
            Ok(Next::Continue) => {
                stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
                continue;
            }
            Ok(Next::Request(request)) => {
                let (tables, random) = (&shared.tables, &mut random);
                let closes = respond(&request, tables, random, || peers.call_all(), &mut output);
                shared.answered.fetch_add(1, Ordering::Relaxed);
                closes
            }
            Err(error) => {
                let status = if error == BadRequest::TooLarge { 431 } else { 400 };
                write_text(&mut output, status, &error.to_string(), Persistence::Close, false);
                true
            }
        };
        stream.write_all(&output)?;
        if closes {
            return Ok(());
        }
    }
}

/// Appends the response to a request, after its delay and the calls. Returns true if the connection closes.
fn respond(
    request: &Request,
    tables: &Tables,
    random: &mut SmallRng,
    call_all: impl FnOnce() -> Result<(), CallError>,
    output: &mut Vec<u8>,
) -> bool {
    let persistence = request.persistence;
    let behaviour = match &request.behaviour {
        Ok(behaviour) => behaviour,
        Err(error) => {
            write_text(output, 400, &error.to_string(), persistence, request.is_head);
            return persistence == Persistence::Close;
        }
    };
    let drawn = behaviour.draw(tables, random);
    if drawn.delay > Duration::ZERO {
        thread::sleep(drawn.delay);
    }
    let persistence = if drawn.close { Persistence::Close } else { persistence };
    if let Err(error) = call_all() {
        // Respond like a gateway whose upstream fails.
        write_text(output, 502, &error.to_string(), persistence, request.is_head);
        return persistence == Persistence::Close;
    }
    let size = if has_no_body(drawn.status) { 0 } else { drawn.size };
    write_head(output, drawn.status, size, persistence, behaviour.headers());
    let mut body = BodyPieces::new(if request.is_head { 0 } else { size });
    while !body.is_buffered() {
        body.buffer(output);
    }
    persistence == Persistence::Close
}

impl From<RequestError> for OriginError {
    fn from(error: RequestError) -> Self {
        Self::Call(error.to_string())
    }
}
