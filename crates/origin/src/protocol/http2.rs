//! HTTP/2 and gRPC: serves concurrent streams, each with its own delay.

use std::collections::BTreeMap;

use hoptax_wire::http2::{Head, Server, ServerEvent};

use super::{Next, ProtocolHandler};
use crate::Served;
use crate::call::{self, Call, MAX_HELD_BYTES, Reply, Step};
use crate::context::Context;
use crate::grpc;
use crate::respond::{Planned, Response, pairs, respond};

/// The server's side of a connection.
#[derive(Debug)]
pub(super) struct Http2 {
    number: u64,
    server: Server,
    /// Delayed responses, by stream.
    delayed: BTreeMap<u32, (Served, Response)>,
    /// Open streaming calls, by stream.
    calls: BTreeMap<u32, Call>,
    events: Vec<ServerEvent>,
    /// Whether the connection closes when no stream is open.
    is_closing: bool,
}

impl Http2 {
    pub(super) fn new(number: u64, output: &mut Vec<u8>) -> Self {
        let server = Server::streaming(call::is_streaming);
        server.open(output);
        Self {
            number,
            server,
            delayed: BTreeMap::new(),
            calls: BTreeMap::new(),
            events: Vec::new(),
            is_closing: false,
        }
    }

    fn handle(
        &mut self,
        stream: u32,
        head: &Head,
        body: &[u8],
        output: &mut Vec<u8>,
        context: &mut Context<'_>,
    ) {
        let Planned { response, plan, closes } = respond(head, body, self.number, context);
        self.close_after(closes, output);
        match plan {
            Some(plan) if context.delay(&plan, stream) => {
                self.delayed.insert(stream, (plan, response));
                return;
            }
            Some(plan) => context.count_response(plan),
            None => *context.answered += 1,
        }
        self.send(stream, response, output);
    }

    /// Opens a call whose messages are answered one by one.
    fn open_call(&mut self, stream: u32, head: &Head, output: &mut Vec<u8>, context: &mut Context<'_>) {
        let (opened, closes) = Call::open(head, context);
        self.close_after(closes, output);
        match opened {
            Ok(call) => {
                self.calls.insert(stream, call);
                self.server.begin(stream, &pairs(&grpc::fields()), output);
            }
            Err(response) => {
                *context.answered += 1;
                self.send(stream, response, output);
            }
        }
    }

    /// Answers the messages of a call that have arrived, up to one that is delayed.
    fn advance_call(&mut self, stream: u32, output: &mut Vec<u8>, context: &mut Context<'_>) {
        let Some(call) = self.calls.get_mut(&stream) else { return };
        while let Some(step) = call.next(self.number, stream, context) {
            match step {
                Step::Reply(reply) => send_reply(&mut self.server, stream, &reply, output),
                Step::End(status) => {
                    self.server.finish(stream, &pairs(&status.trailers()), output);
                    self.calls.remove(&stream);
                    *context.answered += 1;
                    return;
                }
            }
        }
        let held_bytes = self.calls.values().map(Call::held_bytes).sum::<usize>() as u64;
        if held_bytes + self.server.unsent_bytes() > MAX_HELD_BYTES {
            self.server.reset(stream, output);
            self.cancel(stream, context);
        }
    }

    /// Forgets a request that is cancelled.
    fn cancel(&mut self, stream: u32, context: &mut Context<'_>) {
        let call = self.calls.remove(&stream);
        let is_delayed = call.is_some_and(|call| call.is_delayed()) || self.delayed.remove(&stream).is_some();
        *context.in_flight -= u64::from(is_delayed);
    }

    /// Has the connection close when no stream is open.
    fn close_after(&mut self, closes: bool, output: &mut Vec<u8>) {
        if closes && !std::mem::replace(&mut self.is_closing, true) {
            self.server.go_away(output);
        }
    }

    fn send(&mut self, stream: u32, response: Response, output: &mut Vec<u8>) {
        let Response { fields, body, trailers } = response;
        self.server.respond(stream, &pairs(&fields), body, &pairs(&trailers), output);
    }
}

fn send_reply(server: &mut Server, stream: u32, reply: &Reply, output: &mut Vec<u8>) {
    if !reply.bytes.is_empty() {
        server.push(stream, &reply.bytes, output);
    }
    server.release(stream, reply.request_bytes, output);
}

impl ProtocolHandler for Http2 {
    fn next(&mut self, input: &mut Vec<u8>, output: &mut Vec<u8>, context: &mut Context<'_>) -> Next {
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
        let mut events = std::mem::take(&mut self.events);
        let fed = self.server.feed(input, output, &mut events);
        input.clear();
        for event in events.drain(..) {
            match event {
                ServerEvent::Request { stream, head, body } => {
                    self.handle(stream, &head, &body, output, context);
                }
                ServerEvent::Opened { stream, head } => self.open_call(stream, &head, output, context),
                ServerEvent::Data { stream, data } => {
                    if let Some(call) = self.calls.get_mut(&stream) {
                        call.receive(&data);
                        self.advance_call(stream, output, context);
                    }
                }
                ServerEvent::Ended { stream } => {
                    if let Some(call) = self.calls.get_mut(&stream) {
                        call.end();
                        self.advance_call(stream, output, context);
                    }
                }
                ServerEvent::Cancelled { stream } => self.cancel(stream, context),
            }
        }
        self.events = events;
        if fed.is_err() {
            return Next::Fail;
        }
        if context.ending {
            self.server.go_away(output);
        }
        Next::Again
    }

    fn delay_expired(&mut self, stream: u32, output: &mut Vec<u8>, context: &mut Context<'_>) {
        if let Some((plan, response)) = self.delayed.remove(&stream) {
            *context.in_flight -= 1;
            context.count_response(plan);
            self.send(stream, response, output);
        } else if let Some(reply) = self.calls.get_mut(&stream).and_then(Call::delay_expired) {
            *context.in_flight -= 1;
            send_reply(&mut self.server, stream, &reply, output);
            self.advance_call(stream, output, context);
        }
    }

    fn is_idle(&self) -> bool {
        self.delayed.is_empty() && self.server.is_idle()
    }

    fn delayed(&self) -> u64 {
        (self.delayed.len() + self.calls.values().filter(|call| call.is_delayed()).count()) as u64
    }
}
