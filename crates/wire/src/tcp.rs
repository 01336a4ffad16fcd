//! Plain TCP: a request of arbitrary bytes, and a response of fixed size.

use std::sync::Arc;

use crate::body::{BodyKeeper, ExpectedBody};
use crate::response::{Event, ProtocolError, Response};

/// A connection without a protocol on top of TCP.
#[derive(Clone, Debug)]
pub struct Tcp {
    response_bytes: u64,
    read: u64,
    body: BodyKeeper,
}

impl Tcp {
    /// A connection on which every response has `response_bytes` bytes, at least
    /// one.
    pub fn new(response_bytes: u64) -> Self {
        Self { response_bytes: response_bytes.max(1), read: 0, body: BodyKeeper::default() }
    }

    /// Prepares for the next response.
    pub fn begin(&mut self) {
        self.read = 0;
        self.body.begin();
    }

    /// Checks the bodies of the following responses. Bodies are buffered only for these checks.
    pub fn check_bodies(&mut self, expected: Option<Arc<ExpectedBody>>) {
        self.body = BodyKeeper::new(expected);
    }

    /// True if a response has begun.
    pub fn has_begun(&self) -> bool {
        self.read > 0
    }

    /// Processes the bytes of one read.
    ///
    /// # Errors
    /// When there are more bytes than the response has.
    pub fn feed(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<(), ProtocolError> {
        if !self.has_begun() {
            events.push(Event::FirstByte { stream: 0 });
        }
        self.read += bytes.len() as u64;
        if self.read > self.response_bytes {
            return Err(ProtocolError::Excess);
        }
        self.body.take(bytes);
        if self.read == self.response_bytes {
            let is_as_expected = self.body.is_as_expected();
            let response = Response { is_as_expected, ..Response::with_body_bytes(self.read) };
            Event::push_answered(events, 0, response);
            self.begin();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_has_its_size() {
        let mut tcp = Tcp::new(5);
        let mut feed = |bytes: &[u8]| {
            let mut events = Vec::new();
            tcp.feed(bytes, &mut events).map(|()| events)
        };
        let answered = Event::Answered { stream: 0, response: Response::with_body_bytes(5) };
        assert_eq!(feed(b"abc"), Ok(vec![Event::FirstByte { stream: 0 }]));
        assert_eq!(feed(b"de"), Ok(vec![answered]));
        // One read has both its first byte and its last.
        assert_eq!(feed(b"abcde"), Ok(vec![answered]));
        assert_eq!(feed(b"abcdef"), Err(ProtocolError::Excess));
    }
}
