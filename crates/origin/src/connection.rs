//! One connection: bytes come in, what speaks on it answers, bytes go out.

use std::os::fd::OwnedFd;

use crate::context::Context;
use crate::protocol::{Next, ProtocolHandler, Undecided};
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
