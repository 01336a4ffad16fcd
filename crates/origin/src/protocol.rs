//! What can be spoken on a connection, one file for each; which of them it is, the first bytes tell.

mod grpc;
mod http1;
pub(crate) mod http2;
mod tcp;
mod websocket;

use std::fmt::Debug;

use hoptax_wire::http2::PREFACE;

use crate::context::Context;

/// What speaks on a connection.
pub(crate) trait ProtocolHandler: Debug + Send {
    /// Looks at `input`, takes of it what it understands, and appends answers to `output`.
    fn next(&mut self, input: &mut Vec<u8>, output: &mut Vec<u8>, context: &mut Context<'_>) -> Next;

    /// Answers what has waited for its delay.
    fn delay_over(&mut self, stream: u32, output: &mut Vec<u8>, context: &mut Context<'_>);

    /// Whether nothing is under way.
    fn is_idle(&self) -> bool;

    /// Answers that wait for their delay.
    fn waiting(&self) -> u64;
}

/// What a handler needs next.
#[derive(Debug)]
pub(crate) enum Next {
    /// To be asked again when its output is sent.
    Again,
    /// More bytes.
    More,
    /// That a delay is over; until then it takes no bytes.
    Wait,
    /// That another takes its place.
    Become(Box<dyn ProtocolHandler>),
    /// The end of the connection, which is in order.
    Close,
    /// The end of the connection in the middle of something.
    Break,
}

/// Before the first bytes.
#[derive(Debug)]
pub(crate) struct Undecided {
    /// The connection's number among those that the worker accepted.
    pub(crate) number: u64,
    /// Bytes of a request of plain TCP, if that is spoken.
    pub(crate) request_bytes: Option<u64>,
}

impl ProtocolHandler for Undecided {
    fn next(&mut self, input: &mut Vec<u8>, output: &mut Vec<u8>, _: &mut Context<'_>) -> Next {
        if let Some(request_bytes) = self.request_bytes {
            return Next::Become(Box::new(tcp::Tcp::new(self.number, request_bytes)));
        }
        if input.is_empty() {
            return Next::More;
        }
        let length = input.len().min(PREFACE.len());
        if input.get(..length) != PREFACE.get(..length) {
            return Next::Become(Box::new(http1::Http1::new(self.number)));
        }
        if length < PREFACE.len() {
            return Next::More;
        }
        Next::Become(Box::new(http2::Http2::new(self.number, output)))
    }

    fn delay_over(&mut self, _: u32, _: &mut Vec<u8>, _: &mut Context<'_>) {}

    fn is_idle(&self) -> bool {
        true
    }

    fn waiting(&self) -> u64 {
        0
    }
}
