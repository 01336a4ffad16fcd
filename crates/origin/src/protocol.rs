//! Protocol handlers, one file for each protocol, and detection of the protocol from the first bytes of a connection.

mod http1;
mod http2;
mod tcp;
mod websocket;

use std::fmt::Debug;

use hoptax_wire::http2::PREFACE;

use crate::context::Context;

/// The server side of one protocol on one connection.
pub(crate) trait ProtocolHandler: Debug + Send {
    /// Consumes complete messages from `input` and appends responses to `output`.
    fn next(&mut self, input: &mut Vec<u8>, output: &mut Vec<u8>, context: &mut Context) -> Next;

    /// Sends the response on `stream`, whose delay has expired.
    fn delay_expired(&mut self, stream: u64, output: &mut Vec<u8>, context: &mut Context);

    /// Returns true if no request or response is in flight.
    fn is_idle(&self) -> bool;

    /// Number of delayed responses.
    fn delayed(&self) -> u64;
}

/// Request of a handler to its connection.
#[derive(Debug)]
pub(crate) enum Next {
    /// Send the output, then call it again.
    Again,
    /// Read more input.
    Input,
    /// Wait for a delay, without reading.
    Wait,
    /// Replace it with another handler.
    Switch(Box<dyn ProtocolHandler>),
    /// Close the connection.
    Close,
    /// Close the connection and count it as broken.
    Fail,
}

/// The handler before the protocol is known.
#[derive(Debug)]
pub(crate) struct Detection {
    /// The connection's number in the accept order of the worker.
    pub(crate) number: u64,
    /// Request size for plain TCP, bytes; none for all other protocols.
    pub(crate) request_bytes: Option<u64>,
}

impl ProtocolHandler for Detection {
    fn next(&mut self, input: &mut Vec<u8>, output: &mut Vec<u8>, _: &mut Context) -> Next {
        if let Some(request_bytes) = self.request_bytes {
            return Next::Switch(Box::new(tcp::Tcp::new(self.number, request_bytes)));
        }
        if input.is_empty() {
            return Next::Input;
        }
        let length = input.len().min(PREFACE.len());
        if input.get(..length) != PREFACE.get(..length) {
            return Next::Switch(Box::new(http1::Http1::new(self.number)));
        }
        if length < PREFACE.len() {
            return Next::Input;
        }
        Next::Switch(Box::new(http2::Http2::new(self.number, output)))
    }

    fn delay_expired(&mut self, _: u64, _: &mut Vec<u8>, _: &mut Context) {}

    fn is_idle(&self) -> bool {
        true
    }

    fn delayed(&self) -> u64 {
        0
    }
}
