//! WebSocket (RFC 6455): echoes every message after the default delay.

use hoptax_wire::websocket::{FrameReader, Opcode, accept_key, put_frame};

use super::{Next, ProtocolHandler};
use crate::Served;
use crate::context::Context;

/// Maximum message size, bytes.
const MAX_MESSAGE_BYTES: usize = 16 << 20;

/// The response that accepts an upgrade with this key.
pub(super) fn accept_response(key: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\
         sec-websocket-accept: {}\r\n\r\n",
        accept_key(key)
    )
    .into_bytes()
}

/// The server's side of a connection.
#[derive(Debug)]
pub(super) struct WebSocket {
    number: u64,
    frames: FrameReader,
    kind: Opcode,
    message: Vec<u8>,
    control: Vec<u8>,
    /// The plan of a delayed message.
    delayed: Option<Served>,
    /// True if a Close frame follows the message.
    closes: bool,
    /// True if a Close frame was sent.
    is_closing: bool,
}

impl WebSocket {
    pub(super) fn new(number: u64) -> Self {
        Self {
            number,
            frames: FrameReader::default(),
            kind: Opcode::Binary,
            message: Vec::new(),
            control: Vec::new(),
            delayed: None,
            closes: false,
            is_closing: false,
        }
    }

    fn echo(&mut self, plan: Served, output: &mut Vec<u8>, context: &mut Context) {
        context.count_response(plan);
        put_frame(output, self.kind, false, &self.message);
        self.message.clear();
        if self.closes {
            put_frame(output, Opcode::Close, false, &[]);
            self.is_closing = true;
        }
    }

    /// Consumes frames from `bytes` up to the end of a message. False if the message is incomplete.
    fn read_message(&mut self, bytes: &mut &[u8], output: &mut Vec<u8>) -> Result<bool, &'static str> {
        while let Some(frame) = self.frames.next(bytes, true)? {
            let into = if frame.opcode.is_control() { &mut self.control } else { &mut self.message };
            into.extend(frame.payload.iter().zip(frame.mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
            if into.len() > MAX_MESSAGE_BYTES {
                return Err("message exceeds 16 MiB");
            }
            match frame.opcode {
                Opcode::Text | Opcode::Binary => self.kind = frame.opcode,
                _ => {}
            }
            if !frame.is_complete {
                continue;
            }
            match frame.opcode {
                Opcode::Ping => put_frame(output, Opcode::Pong, false, &self.control),
                Opcode::Close => {
                    put_frame(output, Opcode::Close, false, &self.control);
                    self.is_closing = true;
                }
                Opcode::Pong => {}
                _ if frame.is_last => return Ok(true),
                _ => {}
            }
            if frame.opcode.is_control() {
                self.control.clear();
            }
        }
        Ok(false)
    }
}

impl ProtocolHandler for WebSocket {
    fn next(&mut self, input: &mut Vec<u8>, output: &mut Vec<u8>, context: &mut Context) -> Next {
        if self.is_closing {
            return Next::Close;
        }
        if self.delayed.is_some() {
            return Next::Wait;
        }
        let mut bytes = input.as_slice();
        let read = self.read_message(&mut bytes, output);
        let left = bytes.len();
        input.drain(..input.len() - left);
        match read {
            Err(_) => Next::Fail,
            Ok(false) if self.is_closing || !output.is_empty() => Next::Again,
            Ok(false) => Next::Input,
            Ok(true) => {
                let drawn = context.defaults.behaviour.draw(&context.tables, &mut context.random);
                self.closes = drawn.close;
                let plan = context.plan(self.number, &drawn);
                if context.delay(&plan, 0) {
                    self.delayed = Some(plan);
                } else {
                    self.echo(plan, output, context);
                }
                Next::Again
            }
        }
    }

    fn delay_expired(&mut self, _: u64, output: &mut Vec<u8>, context: &mut Context) {
        if let Some(plan) = self.delayed.take() {
            context.in_flight -= 1;
            self.echo(plan, output, context);
        }
    }

    fn is_idle(&self) -> bool {
        self.delayed.is_none() && self.message.is_empty() && self.frames.is_at_boundary()
    }

    fn delayed(&self) -> u64 {
        u64::from(self.delayed.is_some())
    }
}
