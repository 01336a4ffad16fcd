//! HTTP/1.1: one request at a time is answered, the rest waits in the socket.

use super::websocket::WebSocket;
use super::{Next, ProtocolHandler};
use crate::Served;
use crate::answer::{After, body_piece, has_no_body, write_head};
use crate::context::Context;
use crate::request::{self, BadRequest, Request, RequestReader};

/// Bytes of a body that are put up for sending at once.
const PIECE_BYTES: u64 = 64 * 1024;

/// The server's side of a connection.
#[derive(Debug)]
pub(super) struct Http1 {
    number: u64,
    reader: RequestReader,
    /// An answer whose delay is not over.
    waiting: Option<Response>,
    /// The body of the answer that is being sent: its size, and how much of it is put up.
    body: (u64, u64),
    /// Whether the connection ends when all is sent.
    closing: bool,
    /// The key of an upgrade to WebSocket that was just agreed to.
    upgraded: bool,
}

/// An answer that is ready but for its delay.
#[derive(Debug)]
struct Response {
    plan: Served,
    status: u16,
    size: u64,
    is_head: bool,
    after: After,
    headers: Vec<(String, String)>,
}

impl Http1 {
    pub(super) fn new(number: u64) -> Self {
        Self {
            number,
            reader: RequestReader::default(),
            waiting: None,
            body: (0, 0),
            closing: false,
            upgraded: false,
        }
    }

    /// Takes a request: its answer is put up, or waits for its delay.
    fn take(&mut self, request: Request, output: &mut Vec<u8>, context: &mut Context<'_>) {
        if let Some(key) = &request.upgrade {
            output.extend_from_slice(&super::websocket::agree(key));
            *context.answered += 1;
            self.upgraded = true;
            return;
        }
        let behaviour = match request.behaviour {
            Ok(behaviour) => behaviour,
            Err(error) => {
                let after = if context.ending { After::Close } else { request.after };
                self.put_text(400, &format!("{error}\n"), after, request.is_head, output);
                *context.answered += 1;
                return;
            }
        };
        let drawn = behaviour.draw(context.tables, context.random);
        let plan = context.plan(self.number, &drawn);
        let answer = Response {
            plan,
            status: drawn.status,
            size: drawn.size,
            is_head: request.is_head,
            after: if drawn.close { After::Close } else { request.after },
            headers: behaviour.headers().to_vec(),
        };
        if context.delay(&plan, 0) {
            self.waiting = Some(answer);
        } else {
            self.put(&answer, output, context);
        }
    }

    fn put(&mut self, answer: &Response, output: &mut Vec<u8>, context: &mut Context<'_>) {
        context.serve(answer.plan);
        let size = if has_no_body(answer.status) { 0 } else { answer.size };
        // The end may have come while the answer waited for its delay.
        let after = if context.ending { After::Close } else { answer.after };
        write_head(output, answer.status, size, after, &answer.headers);
        self.body = (if answer.is_head { 0 } else { size }, 0);
        self.put_body(output);
        self.closing = after == After::Close;
    }

    fn put_body(&mut self, output: &mut Vec<u8>) {
        let (size, done) = self.body;
        let piece = body_piece(done, (size - done).min(PIECE_BYTES));
        output.extend_from_slice(piece);
        self.body.1 += piece.len() as u64;
    }

    fn put_text(&mut self, status: u16, text: &str, after: After, is_head: bool, output: &mut Vec<u8>) {
        write_head(output, status, text.len() as u64, after, &[]);
        if !is_head {
            output.extend_from_slice(text.as_bytes());
        }
        self.closing = after == After::Close;
    }
}

impl ProtocolHandler for Http1 {
    fn next(&mut self, input: &mut Vec<u8>, output: &mut Vec<u8>, context: &mut Context<'_>) -> Next {
        if self.body.1 < self.body.0 {
            self.put_body(output);
            return Next::Again;
        }
        if self.closing {
            return Next::Close;
        }
        if self.waiting.is_some() {
            return Next::Wait;
        }
        if self.upgraded {
            // What came behind the request is the first of its messages.
            input.splice(..0, self.reader.rest().iter().copied());
            return Next::Become(Box::new(WebSocket::new(self.number)));
        }
        if !input.is_empty() {
            self.reader.feed(input);
            input.clear();
        }
        match self.reader.next(context.defaults, context.tables) {
            Ok(request::Next::Request(request)) => self.take(request, output, context),
            Ok(request::Next::Continue) => output.extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n"),
            Ok(request::Next::More) => return Next::More,
            Err(error) => {
                let status = if error == BadRequest::TooLarge { 431 } else { 400 };
                self.put_text(status, &format!("{error}\n"), After::Close, false, output);
            }
        }
        Next::Again
    }

    fn delay_over(&mut self, _: u32, output: &mut Vec<u8>, context: &mut Context<'_>) {
        if let Some(answer) = self.waiting.take() {
            *context.under_way -= 1;
            self.put(&answer, output, context);
        }
    }

    fn is_idle(&self) -> bool {
        self.waiting.is_none() && self.body.0 == self.body.1 && self.reader.is_idle()
    }

    fn waiting(&self) -> u64 {
        u64::from(self.waiting.is_some())
    }
}
