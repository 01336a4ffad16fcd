//! One connection: requests come in, one at a time is answered, the rest waits in the socket.

use std::os::fd::OwnedFd;
use std::time::Duration;

use hoptax_host::clock::now_ns;
use rand::rngs::SmallRng;
use rustix::io::Errno;
use rustix::net::SendFlags;

use crate::Served;
use crate::answer::{After, body_piece, has_no_body, write_head};
use crate::behaviour::{Behaviour, Drawn};
use crate::queue::Queue;
use crate::request::{BadRequest, Next, Request, RequestReader};
use crate::table::Tables;

/// Bodies up to this size are copied behind their head and sent with it; larger ones follow in pieces.
const COPIED_BYTES: u64 = 16 * 1024;

/// A connection.
#[derive(Debug)]
pub(crate) struct Connection {
    /// Its number among those that the worker accepted.
    number: u64,
    pub(crate) socket: OwnedFd,
    reader: RequestReader,
    /// An answer whose delay is not over.
    waiting: Option<Answer>,
    /// Bytes to be sent before the body.
    output: Vec<u8>,
    /// Of these, sent.
    sent: usize,
    /// The body behind them: its size, and how much of it is sent.
    body: (u64, u64),
    /// Whether the connection ends when all is sent.
    closing: bool,
    /// Whether the socket may have bytes for us: it is edge-triggered and tells only once.
    pub(crate) readable: bool,
}

/// An answer that is ready but for its delay.
#[derive(Debug)]
struct Answer {
    plan: Served,
    status: u16,
    size: u64,
    is_head: bool,
    after: After,
    headers: Vec<(String, String)>,
}

/// What a connection needs after it did what it could.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Wait for the socket.
    Wait,
    /// Wait for a delay.
    Delay(Duration),
    /// It is over, and was in order.
    Done,
    /// It is over in the middle of something.
    Broken,
}

/// What answers are made from.
pub(crate) struct Kitchen<'a> {
    pub(crate) defaults: &'a Behaviour,
    pub(crate) tables: &'a Tables,
    pub(crate) random: &'a mut SmallRng,
    pub(crate) buffer: &'a mut [u8],
    /// Requests answered.
    pub(crate) answered: &'a mut u64,
    /// The worker's one server.
    pub(crate) queue: &'a mut Queue,
    /// Answers that wait for their delay.
    pub(crate) under_way: &'a mut u64,
    /// Where every answer is noted, if it is.
    pub(crate) served: Option<&'a mut Vec<Served>>,
    /// Whether no further request is to be taken.
    pub(crate) ending: bool,
}

impl Connection {
    pub(crate) fn new(number: u64, socket: OwnedFd) -> Self {
        Self {
            number,
            socket,
            reader: RequestReader::default(),
            waiting: None,
            output: Vec::new(),
            sent: 0,
            body: (0, 0),
            closing: false,
            // Bytes may have come before it was watched.
            readable: true,
        }
    }

    /// Whether it has nothing under way.
    pub(crate) fn is_idle(&self) -> bool {
        self.waiting.is_none() && self.is_sent() && self.reader.is_idle()
    }

    /// Whether an answer waits for its delay.
    pub(crate) fn is_waiting(&self) -> bool {
        self.waiting.is_some()
    }

    /// Sends the answer whose delay is over, and goes on.
    pub(crate) fn delay_over(&mut self, kitchen: &mut Kitchen<'_>) -> State {
        if let Some(answer) = self.waiting.take() {
            *kitchen.under_way -= 1;
            self.queue(&answer, kitchen);
        }
        self.go_on(kitchen)
    }

    /// Does everything that can be done without waiting.
    pub(crate) fn go_on(&mut self, kitchen: &mut Kitchen<'_>) -> State {
        loop {
            match self.send() {
                Ok(true) => {}
                Ok(false) => return State::Wait,
                Err(_) => return State::Broken,
            }
            if self.closing {
                self.discard(kitchen.buffer);
                return State::Done;
            }
            if self.waiting.is_some() {
                // Its timer is running.
                return State::Wait;
            }
            match self.reader.next(kitchen.defaults, kitchen.tables) {
                Ok(Next::Request(request)) => {
                    if let Some(delay) = self.take(request, kitchen) {
                        return State::Delay(delay);
                    }
                }
                Ok(Next::Continue) => self.output.extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n"),
                Ok(Next::More) if kitchen.ending && self.reader.is_idle() => return State::Done,
                Ok(Next::More) => match self.receive(kitchen.buffer) {
                    Ok(true) => {}
                    Ok(false) if self.readable => {
                        return if self.reader.is_idle() { State::Done } else { State::Broken };
                    }
                    Ok(false) => return State::Wait,
                    Err(_) => return State::Broken,
                },
                Err(error) => self.refuse(error),
            }
        }
    }

    /// Takes a request: its answer is queued, or held for the delay that is returned.
    fn take(&mut self, request: Request, kitchen: &mut Kitchen<'_>) -> Option<Duration> {
        let behaviour = match request.behaviour {
            Ok(behaviour) => behaviour,
            Err(error) => {
                self.queue_text(
                    400,
                    &format!("{error}\n"),
                    if kitchen.ending { After::Close } else { request.after },
                    request.is_head,
                );
                *kitchen.answered += 1;
                return None;
            }
        };
        let drawn = behaviour.draw(kitchen.tables, kitchen.random);
        let plan = self.plan(&drawn, kitchen);
        let answer = Answer {
            plan,
            status: drawn.status,
            size: drawn.size,
            is_head: request.is_head,
            after: if drawn.close { After::Close } else { request.after },
            headers: behaviour.headers().to_vec(),
        };
        let delay = Duration::from_nanos(plan.departs_ns - plan.arrived_ns);
        if delay.is_zero() {
            self.queue(&answer, kitchen);
            return None;
        }
        self.waiting = Some(answer);
        *kitchen.under_way += 1;
        Some(delay)
    }

    /// When an answer is to leave that was asked for just now.
    fn plan(&self, drawn: &Drawn, kitchen: &mut Kitchen<'_>) -> Served {
        let crowded = drawn.crowded.filter(|(number, _)| *kitchen.under_way >= *number);
        let delay = drawn.delay + crowded.map(|(_, delay)| delay).unwrap_or_default();
        let delay_ns = delay.as_nanos() as u64;
        if drawn.service.is_none() && kitchen.served.is_none() {
            // Nobody asks for the time, so the clock is not read for it.
            let plan = Served {
                connection: self.number,
                arrived_ns: 0,
                service_ns: None,
                departs_ns: delay_ns,
                written_ns: 0,
            };
            return plan;
        }
        let arrived_ns = now_ns();
        let mut departs_ns = arrived_ns;
        let service_ns = drawn.service.map(|service| service.as_nanos() as u64);
        if let Some(service_ns) = service_ns {
            departs_ns = kitchen.queue.take(arrived_ns, service_ns, drawn.freeze);
        }
        departs_ns += delay_ns;
        Served { connection: self.number, arrived_ns, service_ns, departs_ns, written_ns: 0 }
    }

    fn queue(&mut self, answer: &Answer, kitchen: &mut Kitchen<'_>) {
        if let Some(served) = &mut kitchen.served {
            served.push(Served { written_ns: now_ns(), ..answer.plan });
        }
        let size = if has_no_body(answer.status) { 0 } else { answer.size };
        // The end may have come while the answer waited for its delay.
        let after = if kitchen.ending { After::Close } else { answer.after };
        write_head(&mut self.output, answer.status, size, after, &answer.headers);
        let body = if answer.is_head { 0 } else { size };
        if body <= COPIED_BYTES {
            self.output.extend_from_slice(body_piece(0, body));
            self.body = (0, 0);
        } else {
            self.body = (body, 0);
        }
        self.closing = after == After::Close;
        *kitchen.answered += 1;
    }

    fn queue_text(&mut self, status: u16, text: &str, after: After, is_head: bool) {
        write_head(&mut self.output, status, text.len() as u64, after, &[]);
        if !is_head {
            self.output.extend_from_slice(text.as_bytes());
        }
        self.closing = after == After::Close;
    }

    fn refuse(&mut self, error: BadRequest) {
        let status = if error == BadRequest::TooLarge { 431 } else { 400 };
        self.queue_text(status, &format!("{error}\n"), After::Close, false);
    }

    fn is_sent(&self) -> bool {
        self.sent == self.output.len() && self.body.1 == self.body.0
    }

    /// Sends what is queued; false when the socket takes no more for now.
    fn send(&mut self) -> Result<bool, Errno> {
        while !self.is_sent() {
            let head = self.output.get(self.sent..).unwrap_or_default();
            let (size, done) = self.body;
            let piece = if head.is_empty() { body_piece(done, size - done) } else { head };
            match rustix::net::send(&self.socket, piece, SendFlags::NOSIGNAL) {
                Ok(count) if head.is_empty() => self.body.1 += count as u64,
                Ok(count) => self.sent += count,
                Err(Errno::AGAIN) => return Ok(false),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
        self.output.clear();
        self.sent = 0;
        self.body = (0, 0);
        Ok(true)
    }

    /// Reads what has come and is of no use any more: a socket that is closed with unread bytes resets the
    /// connection, and the peer loses the answer it was sent.
    fn discard(&mut self, buffer: &mut [u8]) {
        while self.readable
            && rustix::io::read(&self.socket, &mut *buffer).is_ok_and(|count| count == buffer.len())
        {}
    }

    /// Reads once. True when bytes came; false when there are none for now (then `readable` is unset), or never
    /// again (then it stays set).
    fn receive(&mut self, buffer: &mut [u8]) -> Result<bool, Errno> {
        while self.readable {
            match rustix::io::read(&self.socket, &mut *buffer) {
                Ok(0) => return Ok(false),
                Ok(count) => {
                    // A short read has emptied the socket; what comes later is told by an event.
                    self.readable = count == buffer.len();
                    self.reader.feed(buffer.get(..count).unwrap_or_default());
                    return Ok(true);
                }
                Err(Errno::AGAIN) => self.readable = false,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }
}
