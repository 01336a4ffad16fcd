//! HTTP/2 and gRPC: serves concurrent streams, each with its own delay.

use std::collections::BTreeMap;

use hoptax_wire::grpc::framed;
use hoptax_wire::http2::{Body, Head, Server, ServerEvent};

use super::{Next, ProtocolHandler, grpc};
use crate::Served;
use crate::behaviour::{BadParameter, Behaviour, HEADER_PREFIX};
use crate::context::Context;
use crate::response::{body_piece, has_no_body};
use crate::services::{self, Call};

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

/// A response.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) body: Body,
    pub(crate) trailers: Vec<(String, String)>,
}

impl Http2 {
    pub(super) fn new(number: u64, output: &mut Vec<u8>) -> Self {
        let server = Server::streaming(services::is_streaming);
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
        let is_grpc = head.field("content-type").is_some_and(|kind| kind.starts_with("application/grpc"));
        let behaviour = match behaviour(head, context) {
            Ok(behaviour) => behaviour,
            Err(error) => {
                let response = if is_grpc {
                    grpc::failed(grpc::INVALID_ARGUMENT, &error.to_string())
                } else {
                    text(400, &format!("{error}\n"))
                };
                *context.answered += 1;
                return self.send(stream, response, output);
            }
        };
        let drawn = behaviour.draw(context.tables, context.random);
        let plan = context.plan(self.number, &drawn);
        if drawn.close && !std::mem::replace(&mut self.is_closing, true) {
            self.server.go_away(output);
        }
        let response = if is_grpc {
            grpc::response(&head.path, body, &drawn, context.services)
        } else {
            response(&drawn, head.method == "HEAD", behaviour.headers())
        };
        if context.delay(&plan, stream) {
            self.delayed.insert(stream, (plan, response));
        } else {
            context.count_response(plan);
            self.send(stream, response, output);
        }
    }

    /// Handles an event of a streaming call.
    fn handle_call(&mut self, event: ServerEvent, output: &mut Vec<u8>, context: &mut Context<'_>) {
        match event {
            ServerEvent::Opened { stream, head } => {
                self.calls.extend(Call::open(&head).map(|call| (stream, call)));
                self.server.begin(stream, &pairs(&grpc::fields()), output);
            }
            ServerEvent::Data { stream, data } => {
                let server = &mut self.server;
                let send = |message: &[u8]| server.push(stream, &framed(message), output);
                let call = self.calls.get_mut(&stream);
                if !call.is_some_and(|call| call.receive(&data, context.services, send)) {
                    self.calls.remove(&stream);
                    self.server.reset(stream, output);
                }
            }
            ServerEvent::Ended { stream } => {
                *context.answered += u64::from(self.calls.remove(&stream).is_some());
                self.server.finish(stream, &[("grpc-status", "0")], output);
            }
            ServerEvent::Request { .. } | ServerEvent::Cancelled { .. } => {}
        }
    }

    fn send(&mut self, stream: u32, response: Response, output: &mut Vec<u8>) {
        let Response { fields, body, trailers } = response;
        self.server.respond(stream, &pairs(&fields), body, &pairs(&trailers), output);
    }
}

/// Fields as borrowed pairs.
pub(crate) fn pairs(fields: &[(String, String)]) -> Vec<(&str, &str)> {
    fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

/// The parameters in the query and headers of a request.
pub(crate) fn behaviour(head: &Head, context: &Context<'_>) -> Result<Behaviour, BadParameter> {
    let mut behaviour = context.defaults.clone();
    if let Some((_, query)) = head.path.split_once('?') {
        behaviour.apply_query(query, context.tables)?;
    }
    for (name, value) in &head.fields {
        if let Some(parameter) = name.strip_prefix(HEADER_PREFIX) {
            behaviour.apply(parameter, value, context.tables)?;
        }
    }
    Ok(behaviour)
}

/// The response to an HTTP request.
pub(crate) fn response(
    drawn: &crate::behaviour::Drawn,
    is_head: bool,
    headers: &[(String, String)],
) -> Response {
    let size = if has_no_body(drawn.status) { 0 } else { drawn.size };
    let mut fields = vec![
        (":status".to_owned(), drawn.status.to_string()),
        ("content-type".to_owned(), "text/plain".to_owned()),
        ("content-length".to_owned(), size.to_string()),
    ];
    fields.extend(headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.clone())));
    let body = Body::Text(if is_head { 0 } else { size }, body_piece);
    Response { fields, body, trailers: Vec::new() }
}

/// A response with a short text.
pub(crate) fn text(status: u16, text: &str) -> Response {
    let fields = vec![
        (":status".to_owned(), status.to_string()),
        ("content-type".to_owned(), "text/plain".to_owned()),
        ("content-length".to_owned(), text.len().to_string()),
    ];
    Response { fields, body: Body::Bytes(text.as_bytes().to_vec()), trailers: Vec::new() }
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
                event @ (ServerEvent::Opened { .. }
                | ServerEvent::Data { .. }
                | ServerEvent::Ended { .. }) => {
                    self.handle_call(event, output, context);
                }
                ServerEvent::Cancelled { stream } => {
                    self.calls.remove(&stream);
                    *context.in_flight -= u64::from(self.delayed.remove(&stream).is_some());
                }
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
        }
    }

    fn is_idle(&self) -> bool {
        self.delayed.is_empty() && self.server.is_idle()
    }

    fn delayed(&self) -> u64 {
        self.delayed.len() as u64
    }
}
