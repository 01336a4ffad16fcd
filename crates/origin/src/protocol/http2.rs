//! HTTP/2: many requests at once, each answered when its own delay is over; calls of gRPC among them.

use std::collections::BTreeMap;

use hoptax_wire::grpc::framed;
use hoptax_wire::http2::{Body, Head, Server, ServerEvent};

use super::{Next, ProtocolHandler, grpc};
use crate::Served;
use crate::answer::{body_piece, has_no_body};
use crate::behaviour::{BadParameter, Behaviour, HEADER_PREFIX};
use crate::context::Context;
use crate::services::{self, Call};

/// The server's side of a connection.
#[derive(Debug)]
pub(super) struct Http2 {
    number: u64,
    server: Server,
    /// Answers whose delay is not over, by stream.
    waiting: BTreeMap<u32, (Served, Response)>,
    /// Calls that are answered while they come, by stream.
    calls: BTreeMap<u32, Call>,
    events: Vec<ServerEvent>,
    /// Whether the connection ends when all is answered.
    closing: bool,
}

/// An answer.
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
            waiting: BTreeMap::new(),
            calls: BTreeMap::new(),
            events: Vec::new(),
            closing: false,
        }
    }

    fn take(
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
                let answer = if is_grpc {
                    grpc::failed(grpc::INVALID_ARGUMENT, &error.to_string())
                } else {
                    text(400, &format!("{error}\n"))
                };
                *context.answered += 1;
                return self.put(stream, answer, output);
            }
        };
        let drawn = behaviour.draw(context.tables, context.random);
        let plan = context.plan(self.number, &drawn);
        if drawn.close && !std::mem::replace(&mut self.closing, true) {
            self.server.go_away(output);
        }
        let answer = if is_grpc {
            grpc::answer(&head.path, body, &drawn, context.companion)
        } else {
            answer(&drawn, head.method == "HEAD", behaviour.headers())
        };
        if context.delay(&plan, stream) {
            self.waiting.insert(stream, (plan, answer));
        } else {
            context.serve(plan);
            self.put(stream, answer, output);
        }
    }

    /// Takes a part of a call that is answered while it comes.
    fn take_part(&mut self, event: ServerEvent, output: &mut Vec<u8>, context: &mut Context<'_>) {
        match event {
            ServerEvent::Opened { stream, head } => {
                self.calls.extend(Call::open(&head).map(|call| (stream, call)));
                self.server.begin(stream, &pairs(&grpc::fields()), output);
            }
            ServerEvent::Data { stream, data } => {
                let server = &mut self.server;
                let say = |message: &[u8]| server.push(stream, &framed(message), output);
                let is_call = self.calls.get_mut(&stream);
                if !is_call.is_some_and(|call| call.take(&data, context.companion, say)) {
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

    fn put(&mut self, stream: u32, answer: Response, output: &mut Vec<u8>) {
        let Response { fields, body, trailers } = answer;
        self.server.answer(stream, &pairs(&fields), body, &pairs(&trailers), output);
    }
}

pub(crate) fn pairs(fields: &[(String, String)]) -> Vec<(&str, &str)> {
    fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

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

pub(crate) fn answer(
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
        if self.closing && self.is_idle() {
            return Next::Close;
        }
        if input.is_empty() {
            return Next::More;
        }
        let mut events = std::mem::take(&mut self.events);
        let fed = self.server.feed(input, output, &mut events);
        input.clear();
        for event in events.drain(..) {
            match event {
                ServerEvent::Request { stream, head, body } => {
                    self.take(stream, &head, &body, output, context);
                }
                part
                @ (ServerEvent::Opened { .. } | ServerEvent::Data { .. } | ServerEvent::Ended { .. }) => {
                    self.take_part(part, output, context);
                }
                ServerEvent::Cancelled { stream } => {
                    self.calls.remove(&stream);
                    *context.under_way -= u64::from(self.waiting.remove(&stream).is_some());
                }
            }
        }
        self.events = events;
        if fed.is_err() {
            return Next::Break;
        }
        if context.ending {
            self.server.go_away(output);
        }
        Next::Again
    }

    fn delay_over(&mut self, stream: u32, output: &mut Vec<u8>, context: &mut Context<'_>) {
        if let Some((plan, answer)) = self.waiting.remove(&stream) {
            *context.under_way -= 1;
            context.serve(plan);
            self.put(stream, answer, output);
        }
    }

    fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.server.is_idle()
    }

    fn waiting(&self) -> u64 {
        self.waiting.len() as u64
    }
}
