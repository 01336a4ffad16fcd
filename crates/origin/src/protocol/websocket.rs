//! WebSocket: every message comes back as it is, after the default delay.

use hoptax_wire::websocket::{FrameReader, Opcode, accept_key, put_frame};

use super::{Next, ProtocolHandler};
use crate::Served;
use crate::context::Context;

/// Most bytes of a message.
const MAX_MESSAGE_BYTES: usize = 16 << 20;

/// The answer that agrees to an upgrade with this key.
pub(super) fn agree(key: &str) -> Vec<u8> {
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
    /// A message whose delay is not over.
    waiting: Option<Served>,
    /// Whether the connection ends after the message, and whether that was said.
    closes: bool,
    closing: bool,
}

impl WebSocket {
    pub(super) fn new(number: u64) -> Self {
        Self {
            number,
            frames: FrameReader::default(),
            kind: Opcode::Binary,
            message: Vec::new(),
            control: Vec::new(),
            waiting: None,
            closes: false,
            closing: false,
        }
    }

    fn put(&mut self, plan: Served, output: &mut Vec<u8>, context: &mut Context<'_>) {
        context.serve(plan);
        put_frame(output, self.kind, false, &self.message);
        self.message.clear();
        if self.closes {
            put_frame(output, Opcode::Close, false, &[]);
            self.closing = true;
        }
    }

    /// Takes the frames of `bytes` until a message is whole. True then; false when more are needed.
    fn take(&mut self, bytes: &mut &[u8], output: &mut Vec<u8>) -> Result<bool, &'static str> {
        while let Some(frame) = self.frames.next(bytes, true)? {
            let into = if frame.opcode.is_control() { &mut self.control } else { &mut self.message };
            into.extend(frame.payload.iter().zip(frame.mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
            if into.len() > MAX_MESSAGE_BYTES {
                return Err("a message larger than 16 MiB");
            }
            match frame.opcode {
                Opcode::Text | Opcode::Binary => self.kind = frame.opcode,
                _ => {}
            }
            if !frame.is_whole {
                continue;
            }
            match frame.opcode {
                Opcode::Ping => put_frame(output, Opcode::Pong, false, &self.control),
                Opcode::Close => {
                    put_frame(output, Opcode::Close, false, &self.control);
                    self.closing = true;
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
    fn next(&mut self, input: &mut Vec<u8>, output: &mut Vec<u8>, context: &mut Context<'_>) -> Next {
        if self.closing {
            return Next::Close;
        }
        if self.waiting.is_some() {
            return Next::Wait;
        }
        let mut bytes = input.as_slice();
        let taken = self.take(&mut bytes, output);
        let left = bytes.len();
        input.drain(..input.len() - left);
        match taken {
            Err(_) => Next::Break,
            Ok(false) if self.closing || !output.is_empty() => Next::Again,
            Ok(false) => Next::More,
            Ok(true) => {
                let drawn = context.defaults.draw(context.tables, context.random);
                self.closes = drawn.close;
                let plan = context.plan(self.number, &drawn);
                if context.delay(&plan, 0) {
                    self.waiting = Some(plan);
                } else {
                    self.put(plan, output, context);
                }
                Next::Again
            }
        }
    }

    fn delay_over(&mut self, _: u32, output: &mut Vec<u8>, context: &mut Context<'_>) {
        if let Some(plan) = self.waiting.take() {
            *context.under_way -= 1;
            self.put(plan, output, context);
        }
    }

    fn is_idle(&self) -> bool {
        self.waiting.is_none() && self.message.is_empty() && self.frames.is_between()
    }

    fn waiting(&self) -> u64 {
        u64::from(self.waiting.is_some())
    }
}
