//! Plain TCP: for so many bytes, an answer of the default size.

use super::{Next, ProtocolHandler};
use crate::Served;
use crate::answer::body_piece;
use crate::context::Context;

/// Bytes of an answer that are put up for sending at once.
const PIECE_BYTES: u64 = 64 * 1024;

/// The server's side of a connection.
#[derive(Debug)]
pub(super) struct Tcp {
    number: u64,
    request_bytes: u64,
    /// Bytes of the request that have come.
    read: u64,
    /// An answer whose delay is not over, with its size.
    waiting: Option<(Served, u64)>,
    /// Whether the connection ends when all is sent.
    closing: bool,
    /// The answer that is being sent: its size, and how much of it is put up.
    body: (u64, u64),
}

impl Tcp {
    pub(super) fn new(number: u64, request_bytes: u64) -> Self {
        Self {
            number,
            request_bytes: request_bytes.max(1),
            read: 0,
            waiting: None,
            closing: false,
            body: (0, 0),
        }
    }

    fn put_body(&mut self, output: &mut Vec<u8>) {
        let (size, done) = self.body;
        let piece = body_piece(done, (size - done).min(PIECE_BYTES));
        output.extend_from_slice(piece);
        self.body.1 += piece.len() as u64;
    }
}

impl ProtocolHandler for Tcp {
    fn next(&mut self, input: &mut Vec<u8>, output: &mut Vec<u8>, context: &mut Context<'_>) -> Next {
        if self.body.1 < self.body.0 {
            self.put_body(output);
            return Next::Again;
        }
        if self.waiting.is_some() {
            return Next::Wait;
        }
        if self.closing {
            return Next::Close;
        }
        let taken = (input.len() as u64).min(self.request_bytes - self.read);
        input.drain(..taken as usize);
        self.read += taken;
        if self.read < self.request_bytes {
            return Next::More;
        }
        self.read = 0;
        let drawn = context.defaults.draw(context.tables, context.random);
        self.closing = drawn.close;
        let plan = context.plan(self.number, &drawn);
        if context.delay(&plan, 0) {
            self.waiting = Some((plan, drawn.size));
            return Next::Wait;
        }
        context.serve(plan);
        self.body = (drawn.size, 0);
        Next::Again
    }

    fn delay_over(&mut self, _: u32, _: &mut Vec<u8>, context: &mut Context<'_>) {
        if let Some((plan, size)) = self.waiting.take() {
            *context.under_way -= 1;
            context.serve(plan);
            self.body = (size, 0);
        }
    }

    fn is_idle(&self) -> bool {
        self.read == 0 && self.waiting.is_none() && self.body.0 == self.body.1
    }

    fn waiting(&self) -> u64 {
        u64::from(self.waiting.is_some())
    }
}
