//! The calls of one connection: its own connections to the servers that are called, and how often each is called.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use hoptax_wire::RequestFlags;
use hoptax_wire::http1::{Progress, Request, RequestError, ResponseReader};
use rand::{Rng, RngExt};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::time::Timespec;

use super::{Calls, READ_BYTES};

/// Longest time without a byte of a response.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The lowest status of a response that counts as a failed call.
const FAILED: u16 = 400;

/// Reason why a call failed.
#[derive(Debug)]
pub(super) struct CallError {
    address: SocketAddr,
    why: String,
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the call to {} failed: {}", self.address, self.why)
    }
}

/// The servers that are called, by step.
#[derive(Debug)]
pub(super) struct Peers(Vec<Vec<Peer>>);

/// A server that is called.
#[derive(Clone, Debug)]
struct Peer {
    address: SocketAddr,
    factor: f64,
    /// The encoded request.
    request: Vec<u8>,
}

impl Peers {
    /// Encodes the requests of all calls.
    ///
    /// # Errors
    /// When a part of a request cannot be sent.
    pub(super) fn new(calls: &Calls) -> Result<Self, RequestError> {
        let mut steps = Vec::new();
        for step in &calls.steps {
            let mut peers = Vec::new();
            for call in step {
                let request = Request {
                    method: call.method.clone(),
                    target: call.target.clone(),
                    host: call.address.to_string(),
                    headers: call.headers.clone(),
                    body: call.body.clone().into_bytes(),
                };
                peers.push(Peer { address: call.address, factor: call.factor, request: request.encode()? });
            }
            steps.push(peers);
        }
        Ok(Self(steps))
    }

    /// Returns the outgoing connections that one incoming connection makes its calls over. Each opens at its first call.
    pub(super) fn connections(&self, random: &mut impl Rng) -> Connections {
        let mut caller = |peer: &Peer| Caller {
            peer: peer.clone(),
            // Random, so that the connections of an origin do not make their fractional calls at the same requests.
            due: random.random::<f64>(),
            left: 0,
            connection: None,
        };
        let steps = self.0.iter().map(|step| step.iter().map(&mut caller).collect()).collect();
        Connections { steps, buffer: vec![0; READ_BYTES] }
    }
}

/// The connections of one thread.
pub(super) struct Connections {
    steps: Vec<Vec<Caller>>,
    buffer: Vec<u8>,
}

/// Calls to one server.
struct Caller {
    peer: Peer,
    /// Calls that are due; the whole ones are made at the next request.
    due: f64,
    /// Calls that are left for this request, the one in flight included.
    left: u64,
    connection: Option<(TcpStream, ResponseReader)>,
}

impl Connections {
    /// Makes the calls of one request.
    ///
    /// # Errors
    /// At the first call that fails. Others of its step may be in flight then, so all its connections are closed.
    pub(super) fn call_all(&mut self) -> Result<(), CallError> {
        for step in &mut self.steps {
            if let Err((number, why)) = run(step, &mut self.buffer) {
                let address = step.get(number).map_or(([0, 0, 0, 0], 0).into(), |caller| caller.peer.address);
                for caller in step {
                    (caller.connection, caller.left) = (None, 0);
                }
                return Err(CallError { address, why });
            }
        }
        Ok(())
    }
}

/// Makes the calls of a step concurrently. An error has the index of the server.
fn run(step: &mut [Caller], buffer: &mut [u8]) -> Result<(), (usize, String)> {
    let mut waiting: Vec<usize> = Vec::new();
    for (number, caller) in step.iter_mut().enumerate() {
        caller.due += caller.peer.factor;
        caller.left = caller.due.max(0.0) as u64;
        caller.due -= caller.left as f64;
        if caller.left > 0 {
            caller.send().map_err(|why| (number, why))?;
            waiting.push(number);
        }
    }
    while !waiting.is_empty() {
        // One call is awaited by reading, which saves a system call.
        let ready = if waiting.len() == 1 { waiting.clone() } else { readable(step, &waiting)? };
        for number in ready {
            let Some(caller) = step.get_mut(number) else { continue };
            if !caller.receive(buffer).map_err(|why| (number, why))? {
                continue;
            }
            caller.left -= 1;
            if caller.left > 0 {
                caller.send().map_err(|why| (number, why))?;
            } else {
                waiting.retain(|other| *other != number);
            }
        }
    }
    Ok(())
}

/// Waits until one of the servers has sent something, and returns those that have.
fn readable(step: &[Caller], waiting: &[usize]) -> Result<Vec<usize>, (usize, String)> {
    let first = waiting.first().copied().unwrap_or_default();
    let streams = || {
        let stream = |number: &usize| {
            let (stream, _) = step.get(*number)?.connection.as_ref()?;
            Some((*number, stream))
        };
        waiting.iter().filter_map(stream)
    };
    let mut events: Vec<PollFd<'_>> =
        streams().map(|(_, stream)| PollFd::new(stream, PollFlags::IN)).collect();
    let timeout = Timespec { tv_sec: TIMEOUT.as_secs() as i64, tv_nsec: 0 };
    match poll(&mut events, Some(&timeout)) {
        Ok(0) => return Err((first, format!("no response within {} s", TIMEOUT.as_secs()))),
        Ok(_) | Err(Errno::INTR) => {}
        Err(error) => return Err((first, error.to_string())),
    }
    let has_sent = |event: &PollFd<'_>| !event.revents().is_empty();
    Ok(streams().zip(&events).filter(|(_, event)| has_sent(event)).map(|((number, _), _)| number).collect())
}

impl Caller {
    /// Sends the request, over a new connection if there is none.
    fn send(&mut self) -> Result<(), String> {
        let in_words = |error: io::Error| error.to_string();
        if self.connection.is_none() {
            let stream = TcpStream::connect_timeout(&self.peer.address, TIMEOUT).map_err(in_words)?;
            stream.set_nodelay(true).map_err(in_words)?;
            stream.set_read_timeout(Some(TIMEOUT)).map_err(in_words)?;
            self.connection = Some((stream, ResponseReader::default()));
        }
        let Some((stream, reader)) = &mut self.connection else { return Ok(()) };
        reader.begin(RequestFlags::default());
        stream.write_all(&self.peer.request).map_err(in_words)
    }

    /// Reads once. Returns true if the response is complete.
    fn receive(&mut self, buffer: &mut [u8]) -> Result<bool, String> {
        let Some((stream, reader)) = &mut self.connection else { return Ok(true) };
        let received = match stream.read(buffer) {
            Ok(received) => received,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(false),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                return Err(format!("no response within {} s", TIMEOUT.as_secs()));
            }
            Err(error) => return Err(error.to_string()),
        };
        let response = if received == 0 {
            let ended = reader.end().map_err(|error| error.to_string())?;
            Some(ended.ok_or("the server closed the connection instead of responding")?)
        } else {
            let progress = reader.feed(buffer.get(..received).unwrap_or_default());
            match progress.map_err(|error| error.to_string())? {
                Progress::Complete(response) => Some(response),
                Progress::Partial => None,
            }
        };
        let Some(response) = response else { return Ok(false) };
        if !response.keep_alive || received == 0 {
            self.connection = None;
        }
        if response.status >= FAILED {
            return Err(format!("status {}", response.status));
        }
        Ok(true)
    }
}
