//! Plain TCP: each request is a fixed number of bytes and gets a response of the default size.

use super::{Next, ProtocolHandler};
use crate::Served;
use crate::context::Context;
use crate::response::BodyPieces;

/// The server's side of a connection.
#[derive(Debug)]
pub(super) struct Tcp {
    number: u64,
    request_bytes: u64,
    /// Received bytes of the request.
    read: u64,
    /// A delayed response, with its size.
    delayed: Option<(Served, u64)>,
    /// True if the connection closes after the response.
    is_closing: bool,
    /// The response being sent.
    body: BodyPieces,
}

impl Tcp {
    pub(super) fn new(number: u64, request_bytes: u64) -> Self {
        Self {
            number,
            request_bytes: request_bytes.max(1),
            read: 0,
            delayed: None,
            is_closing: false,
            body: BodyPieces::default(),
        }
    }
}

impl ProtocolHandler for Tcp {
    fn next(&mut self, input: &mut Vec<u8>, output: &mut Vec<u8>, context: &mut Context) -> Next {
        if !self.body.is_buffered() {
            self.body.buffer(output);
            return Next::Again;
        }
        if self.delayed.is_some() {
            return Next::Wait;
        }
        if self.is_closing {
            return Next::Close;
        }
        let taken = (input.len() as u64).min(self.request_bytes - self.read);
        input.drain(..taken as usize);
        self.read += taken;
        if self.read < self.request_bytes {
            return Next::Input;
        }
        self.read = 0;
        let drawn = context.defaults.behaviour.draw(&context.tables, &mut context.random);
        self.is_closing = drawn.close;
        let plan = context.plan(self.number, &drawn);
        if context.delay(&plan, 0) {
            self.delayed = Some((plan, drawn.size));
            return Next::Wait;
        }
        context.count_response(plan);
        self.body = BodyPieces::new(drawn.size);
        Next::Again
    }

    fn delay_expired(&mut self, _: u64, _: &mut Vec<u8>, context: &mut Context) {
        if let Some((plan, size)) = self.delayed.take() {
            context.in_flight -= 1;
            context.count_response(plan);
            self.body = BodyPieces::new(size);
        }
    }

    fn is_idle(&self) -> bool {
        self.read == 0 && self.delayed.is_none() && self.body.is_buffered()
    }

    fn delayed(&self) -> u64 {
        u64::from(self.delayed.is_some())
    }
}
