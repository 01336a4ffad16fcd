//! HTTP/2 and gRPC: serves concurrent streams, each with its own delay.

use hoptax_wire::http2::{Server, ServerEvent};

use super::{Next, ProtocolHandler};
use crate::call::{Reply, is_streaming};
use crate::context::Context;
use crate::grpc::{self, Status};
use crate::respond::pairs;
use crate::response::Response;
use crate::streams::{StreamSender, Streams};

/// The server's side of a connection.
#[derive(Debug)]
pub(super) struct Http2 {
    server: Server,
    streams: Streams,
    events: Vec<ServerEvent>,
    /// True if the connection closes when no stream is open.
    is_closing: bool,
}

impl Http2 {
    pub(super) fn new(number: u64, output: &mut Vec<u8>) -> Self {
        let server = Server::streaming(is_streaming);
        server.open(output);
        Self { server, streams: Streams::new(number), events: Vec::new(), is_closing: false }
    }
}

/// Sends on the streams of a connection. Identifiers of streams have 31 bits.
struct Sender<'a> {
    server: &'a mut Server,
    is_closing: &'a mut bool,
    output: &'a mut Vec<u8>,
}

impl StreamSender for Sender<'_> {
    fn respond(&mut self, stream: u64, response: Response) {
        let Response { fields, body, trailers } = response;
        self.server.respond(stream as u32, &pairs(&fields), body, &pairs(&trailers), self.output);
    }

    fn begin(&mut self, stream: u64) {
        self.server.begin(stream as u32, &pairs(&grpc::fields()), self.output);
    }

    fn reply(&mut self, stream: u64, reply: &Reply) {
        if !reply.bytes.is_empty() {
            self.server.push(stream as u32, &reply.bytes, self.output);
        }
        self.server.release(stream as u32, reply.request_bytes, self.output);
    }

    fn finish(&mut self, stream: u64, status: Status) {
        self.server.finish(stream as u32, &pairs(&status.trailers()), self.output);
    }

    fn reset(&mut self, stream: u64) {
        self.server.reset(stream as u32, self.output);
    }

    /// The connection closes when no stream is open.
    fn close(&mut self, _: u64) -> bool {
        if !std::mem::replace(self.is_closing, true) {
            self.server.go_away(self.output);
        }
        true
    }

    fn unsent_bytes(&self) -> u64 {
        self.server.unsent_bytes()
    }
}

impl ProtocolHandler for Http2 {
    fn next(&mut self, input: &mut Vec<u8>, output: &mut Vec<u8>, context: &mut Context) -> Next {
        self.server.pump(output);
        if !output.is_empty() {
            return Next::Again;
        }
        if self.is_closing && self.is_idle() {
            return Next::Close;
        }
        if input.is_empty() {
            return Next::Input;
        }
        let Self { server, streams, events, is_closing } = self;
        let fed = server.feed(input, output, events);
        input.clear();
        for event in events.drain(..) {
            let stream = u64::from(event.stream());
            streams.handle(stream, event, &mut Sender { server, is_closing, output }, context);
        }
        if fed.is_err() {
            return Next::Fail;
        }
        if context.ending {
            self.server.go_away(output);
        }
        Next::Again
    }

    fn delay_expired(&mut self, stream: u64, output: &mut Vec<u8>, context: &mut Context) {
        let Self { server, streams, is_closing, .. } = self;
        streams.delay_expired(stream, &mut Sender { server, is_closing, output }, context);
    }

    fn is_idle(&self) -> bool {
        self.streams.is_idle() && self.server.is_idle()
    }

    fn delayed(&self) -> u64 {
        self.streams.delayed()
    }
}
