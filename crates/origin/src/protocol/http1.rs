//! HTTP/1.1: serves one request at a time; pipelined requests wait in the receive buffer.

use std::time::Duration;

use super::websocket::WebSocket;
use super::{Next, ProtocolHandler};
use crate::Served;
use crate::context::Context;
use crate::request::{self, BadRequest, Request, RequestReader};
use crate::response::{BodyPieces, Persistence, has_no_body, write_head, write_text};

/// Bit in the stream of a delay: the delay is the time that the connection may be idle. The other bits are the number of responses sent by
/// its start. Delays of responses have the stream 0.
const IDLE: u64 = 1 << 63;

/// The server's side of a connection.
#[derive(Debug)]
pub(super) struct Http1 {
    number: u64,
    reader: RequestReader,
    /// A delayed response.
    delayed: Option<Response>,
    /// The body being sent.
    body: BodyPieces,
    /// Number of responses sent.
    sent: u64,
    /// True if the connection closes after the buffered output.
    is_closing: bool,
    /// True if an upgrade to WebSocket was just accepted.
    is_upgraded: bool,
}

/// A planned response.
#[derive(Debug)]
struct Response {
    plan: Served,
    status: u16,
    size: u64,
    is_head: bool,
    persistence: Persistence,
    /// Time that the connection may be idle after it.
    idle: Option<Duration>,
    headers: Vec<(String, String)>,
}

impl Http1 {
    pub(super) fn new(number: u64) -> Self {
        Self {
            number,
            reader: RequestReader::default(),
            delayed: None,
            body: BodyPieces::default(),
            sent: 0,
            is_closing: false,
            is_upgraded: false,
        }
    }

    /// Handles a request: sends the response, or delays it.
    fn handle(&mut self, request: Request, output: &mut Vec<u8>, context: &mut Context) {
        if let Some(key) = &request.upgrade {
            output.extend_from_slice(&super::websocket::accept_response(key));
            context.report.answered += 1;
            self.is_upgraded = true;
            return;
        }
        let behaviour = match request.behaviour {
            Ok(behaviour) => behaviour,
            Err(error) => {
                let persistence = if context.ending { Persistence::Close } else { request.persistence };
                write_text(output, 400, &error.to_string(), persistence, request.is_head);
                self.is_closing = persistence == Persistence::Close;
                context.report.answered += 1;
                return;
            }
        };
        let drawn = behaviour.draw(&context.tables, &mut context.random);
        let plan = context.plan(self.number, &drawn);
        let response = Response {
            plan,
            status: drawn.status,
            size: drawn.size,
            is_head: request.is_head,
            persistence: if drawn.close { Persistence::Close } else { request.persistence },
            idle: drawn.idle,
            headers: behaviour.headers().to_vec(),
        };
        if context.delay(&plan, 0) {
            self.delayed = Some(response);
        } else {
            self.send(&response, output, context);
        }
    }

    fn send(&mut self, response: &Response, output: &mut Vec<u8>, context: &mut Context) {
        context.count_response(response.plan);
        let size = if has_no_body(response.status) { 0 } else { response.size };
        // The shutdown may have begun during the delay.
        let persistence = if context.ending { Persistence::Close } else { response.persistence };
        write_head(output, response.status, size, persistence, &response.headers);
        self.body = BodyPieces::new(if response.is_head { 0 } else { size });
        self.body.buffer(output);
        self.is_closing = persistence == Persistence::Close;
        self.sent += 1;
        context.delays.extend(response.idle.map(|idle| (idle, IDLE | self.sent)));
    }
}

impl ProtocolHandler for Http1 {
    fn next(&mut self, input: &mut Vec<u8>, output: &mut Vec<u8>, context: &mut Context) -> Next {
        if !self.body.is_buffered() {
            self.body.buffer(output);
            return Next::Again;
        }
        if self.is_closing {
            return Next::Close;
        }
        if self.delayed.is_some() {
            return Next::Wait;
        }
        if self.is_upgraded {
            // Bytes after the upgrade request belong to the first message.
            input.splice(..0, self.reader.rest().iter().copied());
            return Next::Switch(Box::new(WebSocket::new(self.number)));
        }
        if !input.is_empty() {
            self.reader.feed(input);
            input.clear();
        }
        match self.reader.next(&context.defaults.behaviour, &context.tables) {
            Ok(request::Next::Request(request)) => self.handle(request, output, context),
            Ok(request::Next::Continue) => output.extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n"),
            Ok(request::Next::More) => return Next::Input,
            Err(error) => {
                let status = if error == BadRequest::TooLarge { 431 } else { 400 };
                write_text(output, status, &error.to_string(), Persistence::Close, false);
                self.is_closing = true;
            }
        }
        Next::Again
    }

    fn delay_expired(&mut self, stream: u64, output: &mut Vec<u8>, context: &mut Context) {
        if stream & IDLE != 0 {
            // A request that arrives at the same time may be lost unread, as with every server that closes idle connections.
            self.is_closing |= stream == (IDLE | self.sent) && self.is_idle();
        } else if let Some(response) = self.delayed.take() {
            context.in_flight -= 1;
            self.send(&response, output, context);
        }
    }

    fn is_idle(&self) -> bool {
        self.delayed.is_none() && self.body.is_buffered() && self.reader.is_idle()
    }

    fn delayed(&self) -> u64 {
        u64::from(self.delayed.is_some())
    }
}
