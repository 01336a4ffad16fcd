//! The client side: an upgrade, and then one message in flight at a time.

use std::sync::Arc;

use super::frame::{FrameReader, Opcode, put_frame};
use super::upgrade::{KEY, accept_key};
use crate::body::{BodyKeeper, ExpectedBody};
use crate::encoded::Encoded;
use crate::http1::{MAX_HEAD_BYTES, parse};
use crate::malformed::Malformed;
use crate::response::{Event, ProtocolError, Response};

/// A WebSocket connection.
#[derive(Debug, Default)]
pub struct WebSocket {
    /// The head of the response to the upgrade, until complete.
    head: Vec<u8>,
    is_open: bool,
    frames: FrameReader,
    has_begun: bool,
    message_bytes: u64,
    message: BodyKeeper,
    control: Vec<u8>,
}

impl Encoded {
    /// A message.
    pub fn websocket(payload: &[u8]) -> Self {
        let mut bytes = Vec::new();
        let opcode = if std::str::from_utf8(payload).is_ok() { Opcode::Text } else { Opcode::Binary };
        put_frame(&mut bytes, opcode, true, payload);
        Self::plain(bytes, false)
    }
}

impl WebSocket {
    /// True if the upgrade is complete.
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// Checks the messages of the following responses. Messages are buffered only for these checks.
    pub fn check_bodies(&mut self, expected: Option<Arc<ExpectedBody>>) {
        self.message = BodyKeeper::new(expected);
    }

    /// Prepares for the response to the next message.
    pub fn begin(&mut self) {
        self.has_begun = false;
        self.message_bytes = 0;
        self.message.begin();
    }

    /// True if the response has begun.
    pub fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Processes the bytes of one read; pongs are appended to `output`.
    ///
    /// # Errors
    /// When they violate the protocol; the connection is then unusable.
    pub fn feed(
        &mut self,
        mut bytes: &[u8],
        output: &mut Vec<u8>,
        events: &mut Vec<Event>,
    ) -> Result<(), ProtocolError> {
        if !self.is_open {
            let before = self.head.len();
            self.head.extend_from_slice(bytes);
            let Some(head_bytes) = self.upgrade()? else { return Ok(()) };
            bytes = bytes.get(head_bytes.saturating_sub(before)..).unwrap_or_default();
            self.is_open = true;
            self.head = Vec::new();
        }
        while let Some(frame) = self.frames.next(&mut bytes, false).map_err(ProtocolError::WebSocket)? {
            if frame.opcode.is_control() {
                self.control.extend_from_slice(frame.payload);
                if frame.is_complete {
                    match frame.opcode {
                        Opcode::Ping => put_frame(output, Opcode::Pong, true, &self.control),
                        Opcode::Close => events.push(Event::Draining { code: 0 }),
                        _ => {}
                    }
                    self.control.clear();
                }
                continue;
            }
            if !self.has_begun {
                self.has_begun = true;
                events.push(Event::FirstByte { stream: 0 });
            }
            self.message_bytes += frame.payload.len() as u64;
            self.message.take(frame.payload);
            if frame.is_complete && frame.is_last {
                let is_as_expected = self.message.is_as_expected();
                let response = Response { is_as_expected, ..Response::with_body_bytes(self.message_bytes) };
                Event::push_answered(events, 0, response);
                self.begin();
            }
        }
        Ok(())
    }

    /// Checks the response to the upgrade. Returns its length once it is complete and valid.
    fn upgrade(&self) -> Result<Option<usize>, ProtocolError> {
        let found = parse(&self.head, |length, response| {
            let proof = response
                .headers
                .iter()
                .find(|header| header.name.eq_ignore_ascii_case("sec-websocket-accept"));
            let proof = proof.map(|header| header.value.trim_ascii());
            Ok((length, response.code.unwrap_or_default(), proof == Some(accept_key(KEY).as_bytes())))
        });
        match found.map_err(ProtocolError::UpgradeHead)? {
            None if self.head.len() > MAX_HEAD_BYTES => {
                Err(ProtocolError::UpgradeHead(Malformed::HeadTooLarge))
            }
            None => Ok(None),
            Some((length, 101, true)) => Ok(Some(length)),
            Some((_, 101, false)) => Err(ProtocolError::BadUpgrade),
            Some((_, status, _)) => Err(ProtocolError::NotUpgraded(status)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upgraded() -> Vec<u8> {
        format!(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Accept: {}\r\n\r\n",
            accept_key(KEY)
        )
        .into_bytes()
    }

    #[test]
    fn messages_follow_the_upgrade() {
        let mut bytes = upgraded();
        put_frame(&mut bytes, Opcode::Ping, false, b"x");
        put_frame(&mut bytes, Opcode::Text, false, b"hello");
        for cut in 0..bytes.len() {
            let (mut socket, mut output, mut events) = (WebSocket::default(), Vec::new(), Vec::new());
            for piece in [&bytes[..cut], &bytes[cut..]] {
                socket.feed(piece, &mut output, &mut events).unwrap();
            }
            assert_eq!(
                events.last(),
                Some(&Event::Answered { stream: 0, response: Response::with_body_bytes(5) })
            );
            assert_eq!(output, [0x8a, 0x81, 0, 0, 0, 0, b'x']);
        }
    }

    #[test]
    fn a_refused_upgrade_says_how() {
        let feed = |bytes: &[u8]| WebSocket::default().feed(bytes, &mut Vec::new(), &mut Vec::new());
        assert_eq!(feed(b"HTTP/1.1 404 Not Found\r\n\r\n"), Err(ProtocolError::NotUpgraded(404)));
        assert_eq!(
            feed(b"HTTP/1.1 101 Yes\r\nSec-WebSocket-Accept: x\r\n\r\n"),
            Err(ProtocolError::BadUpgrade)
        );
        assert_eq!(feed(b"\x15\x03\x01\0\x02\x02\x46"), Err(ProtocolError::UpgradeHead(Malformed::Tls)));
    }
}
