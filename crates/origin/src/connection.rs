//! One connection: it moves bytes between the transport and a protocol handler.

use std::os::fd::OwnedFd;

use crate::context::Context;
use crate::protocol::{Detection, Next, ProtocolHandler};
use crate::transport::{Received, Transport};

/// A connection.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) transport: Transport,
    handler: Box<dyn ProtocolHandler>,
    /// Received bytes that the handler has not consumed.
    input: Vec<u8>,
    /// Bytes to send.
    output: Vec<u8>,
}

/// The state of a connection after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It waits for the socket or for a delay.
    Wait,
    /// It ended between requests.
    Done,
    /// It failed, or ended during a request or a response.
    Failed,
}

impl Connection {
    /// The worker's connection `number`. With `request_bytes` it serves plain TCP.
    pub(crate) fn new(number: u64, socket: OwnedFd, request_bytes: Option<u64>) -> Self {
        Self {
            transport: Transport::new(socket),
            handler: Box::new(Detection { number, request_bytes }),
            input: Vec::new(),
            output: Vec::new(),
        }
    }

    /// Returns true if no request or response is in flight.
    pub(crate) fn is_idle(&self) -> bool {
        self.handler.is_idle() && self.transport.is_sent() && self.input.is_empty()
    }

    /// Number of delayed responses.
    pub(crate) fn delayed(&self) -> u64 {
        self.handler.delayed()
    }

    /// Sends the response whose delay has expired, and continues.
    pub(crate) fn delay_expired(&mut self, stream: u64, context: &mut Context) -> State {
        self.handler.delay_expired(stream, &mut self.output, context);
        self.advance(context)
    }

    /// Reads, handles and writes until an operation would block.
    pub(crate) fn advance(&mut self, context: &mut Context) -> State {
        loop {
            if !self.output.is_empty() && self.transport.enqueue(&mut self.output).is_err() {
                return State::Failed;
            }
            match self.transport.send() {
                Ok(true) => {}
                Ok(false) => return State::Wait,
                Err(_) => return State::Failed,
            }
            match self.handler.next(&mut self.input, &mut self.output, context) {
                Next::Again => continue,
                Next::Switch(handler) => {
                    self.handler = handler;
                    continue;
                }
                Next::Wait => return State::Wait,
                Next::Close => return self.close(context),
                Next::Fail => return State::Failed,
                Next::Input => {}
            }
            if context.ending && self.is_idle() {
                return self.close(context);
            }
            match self.transport.receive(&mut context.buffer, context.tls.as_ref(), &mut self.input) {
                Ok(Received::Data) => {}
                Ok(Received::WouldBlock) => return State::Wait,
                Ok(Received::End) => return if self.is_idle() { State::Done } else { State::Failed },
                Err(_) => return State::Failed,
            }
        }
    }

    fn close(&mut self, context: &mut Context) -> State {
        match self.transport.close(&mut context.buffer) {
            Ok(true) => State::Done,
            Ok(false) => State::Wait,
            Err(_) => State::Failed,
        }
    }
}
