//! Plain TCP: a request of arbitrary bytes, and an answer of fixed size.

use std::sync::Arc;

use crate::body::{BodyKeeper, ExpectedBody};
use crate::response::{Event, ProtocolError, Response};

/// A connection without a protocol on top of TCP.
#[derive(Clone, Debug)]
pub struct Tcp {
    answer_bytes: u64,
    read: u64,
    body: BodyKeeper,
}

impl Tcp {
    /// A connection on which every answer has `answer_bytes` bytes, at least
    /// one.
    pub fn new(answer_bytes: u64) -> Self {
        Self { answer_bytes: answer_bytes.max(1), read: 0, body: BodyKeeper::default() }
    }

    /// Prepares for the next answer.
    pub fn begin(&mut self) {
        self.read = 0;
        self.body.begin();
    }

    /// From now on, answers state whether their body matches. Bodies are kept only for that.
    pub fn check_bodies(&mut self, expected: Option<Arc<ExpectedBody>>) {
        self.body = BodyKeeper::new(expected);
    }

    /// Whether an answer has begun.
    pub fn has_begun(&self) -> bool {
        self.read > 0
    }

    /// Processes the bytes of one read.
    ///
    /// # Errors
    /// When there are more bytes than the answer has.
    pub fn feed(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<(), ProtocolError> {
        if !self.has_begun() {
            events.push(Event::Begun { stream: 0 });
        }
        self.read += bytes.len() as u64;
        if self.read > self.answer_bytes {
            return Err(ProtocolError::Excess);
        }
        self.body.take(bytes);
        if self.read == self.answer_bytes {
            let is_as_expected = self.body.is_as_expected();
            let answer = Response { is_as_expected, ..Response::of_bytes(self.read) };
            events.push(Event::Answered { stream: 0, answer });
            self.begin();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_its_size() {
        let (mut tcp, mut events) = (Tcp::new(5), Vec::new());
        tcp.feed(b"abc", &mut events).unwrap();
        tcp.feed(b"de", &mut events).unwrap();
        assert_eq!(
            events,
            [Event::Begun { stream: 0 }, Event::Answered { stream: 0, answer: Response::of_bytes(5) }]
        );
        assert_eq!(tcp.feed(b"abcdef", &mut events), Err(ProtocolError::Excess));
    }
}
