//! One connection: bytes come in, what speaks on it answers, bytes go out.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hoptax_host::clock::now_ns;
use hoptax_wire::tls::ServerConfig;
use rand::rngs::SmallRng;

use crate::Served;
use crate::behaviour::{Behaviour, Drawn};
use crate::protocol::{Next, ProtocolHandler, Undecided};
use crate::queue::Queue;
use crate::services::Companion;
use crate::table::Tables;
use crate::transport::{Received, Transport};

/// A connection.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) transport: Transport,
    handler: Box<dyn ProtocolHandler>,
    /// Bytes that came and are not looked at, and bytes that are to go out.
    input: Vec<u8>,
    output: Vec<u8>,
}

/// What a connection needs after it did what it could.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Wait for the socket, or for delays.
    Wait,
    /// It is over, and was in order.
    Done,
    /// It is over in the middle of something.
    Failed,
}

/// What answers are made from.
pub(crate) struct Context<'a> {
    pub(crate) defaults: &'a Behaviour,
    pub(crate) tables: &'a Tables,
    pub(crate) tls: Option<&'a Arc<ServerConfig>>,
    pub(crate) random: &'a mut SmallRng,
    pub(crate) buffer: &'a mut [u8],
    /// Requests answered.
    pub(crate) answered: &'a mut u64,
    /// The worker's one server.
    pub(crate) queue: &'a mut Queue,
    /// Answers that wait for their delay.
    pub(crate) under_way: &'a mut u64,
    /// The delays that this connection begins, each with its stream.
    pub(crate) delays: &'a mut Vec<(Duration, u32)>,
    /// What the services of gRPC remember.
    pub(crate) companion: &'a mut Companion,
    /// Until when the worker does not sleep.
    pub(crate) polls_until: &'a mut Option<Instant>,
    /// Where every answer is noted, if it is.
    pub(crate) served: Option<&'a mut Vec<Served>>,
    /// Whether no further request is to be taken.
    pub(crate) ending: bool,
}

impl Connection {
    /// A connection, the worker's `number`-th; one of plain TCP takes requests of `request_bytes`.
    pub(crate) fn new(number: u64, socket: OwnedFd, request_bytes: Option<u64>) -> Self {
        Self {
            transport: Transport::new(socket),
            handler: Box::new(Undecided { number, request_bytes }),
            input: Vec::new(),
            output: Vec::new(),
        }
    }

    /// Whether it has nothing under way.
    pub(crate) fn is_idle(&self) -> bool {
        self.handler.is_idle() && self.transport.is_sent() && self.input.is_empty()
    }

    /// Answers that wait for their delay.
    pub(crate) fn waiting(&self) -> u64 {
        self.handler.waiting()
    }

    /// Sends the answer whose delay is over, and goes on.
    pub(crate) fn delay_over(&mut self, stream: u32, context: &mut Context<'_>) -> State {
        self.handler.delay_over(stream, &mut self.output, context);
        self.go_on(context)
    }

    /// Does everything that can be done without waiting.
    pub(crate) fn go_on(&mut self, context: &mut Context<'_>) -> State {
        loop {
            if !self.output.is_empty() && self.transport.put(&mut self.output).is_err() {
                return State::Failed;
            }
            match self.transport.send() {
                Ok(true) => {}
                Ok(false) => return State::Wait,
                Err(_) => return State::Failed,
            }
            match self.handler.next(&mut self.input, &mut self.output, context) {
                Next::Again => continue,
                Next::Become(handler) => {
                    self.handler = handler;
                    continue;
                }
                Next::Wait => return State::Wait,
                Next::Close => return self.close(context),
                Next::Break => return State::Failed,
                Next::More => {}
            }
            if context.ending && self.is_idle() {
                return self.close(context);
            }
            match self.transport.receive(context.buffer, context.tls, &mut self.input) {
                Ok(Received::Something) => {}
                Ok(Received::WouldBlock) => return State::Wait,
                Ok(Received::End) => return if self.is_idle() { State::Done } else { State::Failed },
                Err(_) => return State::Failed,
            }
        }
    }

    fn close(&mut self, context: &mut Context<'_>) -> State {
        match self.transport.close(context.buffer) {
            Ok(true) => State::Done,
            Ok(false) => State::Wait,
            Err(_) => State::Failed,
        }
    }
}

impl Context<'_> {
    /// When an answer on a connection is to leave that was asked for just now.
    pub(crate) fn plan(&mut self, connection: u64, drawn: &Drawn) -> Served {
        if !drawn.poll.is_zero() {
            *self.polls_until = (*self.polls_until).max(Some(Instant::now() + drawn.poll));
        }
        let crowded = drawn.crowded.filter(|(number, _)| *self.under_way >= *number);
        let delay = drawn.delay + crowded.map(|(_, delay)| delay).unwrap_or_default();
        let delay_ns = delay.as_nanos() as u64;
        if drawn.service.is_none() && self.served.is_none() {
            // Nobody asks for the time, so the clock is not read for it.
            return Served {
                connection,
                arrived_ns: 0,
                service_ns: None,
                departs_ns: delay_ns,
                written_ns: 0,
            };
        }
        let arrived_ns = now_ns();
        let mut departs_ns = arrived_ns;
        let service_ns = drawn.service.map(|service| service.as_nanos() as u64);
        if let Some(service_ns) = service_ns {
            departs_ns = self.queue.take(arrived_ns, service_ns, drawn.freeze);
        }
        departs_ns += delay_ns;
        Served { connection, arrived_ns, service_ns, departs_ns, written_ns: 0 }
    }

    /// Has an answer on a stream wait for its delay; false when it has none.
    pub(crate) fn delay(&mut self, plan: &Served, stream: u32) -> bool {
        let delay = Duration::from_nanos(plan.departs_ns - plan.arrived_ns);
        if delay.is_zero() {
            return false;
        }
        self.delays.push((delay, stream));
        *self.under_way += 1;
        true
    }

    /// Takes note that an answer leaves.
    pub(crate) fn serve(&mut self, plan: Served) {
        if let Some(served) = &mut self.served {
            served.push(Served { written_ns: now_ns(), ..plan });
        }
        *self.answered += 1;
    }
}
