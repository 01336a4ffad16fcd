//! The timed messages of a gRPC call: server streaming, or bidirectional streaming in turn.

use super::MessageCounter;

/// The messages of a call. Messages of the response are reported as they arrive ([`Event::Message`](crate::Event::Message)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Messages {
    /// The whole body is sent at once.
    AtOnce,
    /// The body is one message and is sent this many times, at least once, each time after the response to the previous one.
    InTurn(u32),
}

/// The messages of one call.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    received: MessageCounter,
    /// The repeated message.
    message: Vec<u8>,
    /// Number of times that it is still to be sent.
    unsent: u32,
    /// Number of outstanding responses.
    unanswered: u32,
}

impl Call {
    /// A call whose body has just been sent.
    pub(crate) fn new(messages: Messages, body: &[u8]) -> Self {
        let (message, times) = match messages {
            Messages::AtOnce => (Vec::new(), 0),
            Messages::InTurn(times) => (body.to_vec(), times.max(1)),
        };
        Self {
            received: MessageCounter::default(),
            message,
            unsent: times.saturating_sub(1),
            unanswered: times,
        }
    }

    /// Processes a part of the response. Returns the number of messages that end in it.
    pub(crate) fn receive(&mut self, data: &[u8]) -> u32 {
        let completed = self.received.feed(data);
        self.unanswered = self.unanswered.saturating_sub(completed);
        completed
    }

    /// The message that follows a response; None after the last.
    pub(crate) fn next(&mut self) -> Option<&[u8]> {
        self.unsent = self.unsent.checked_sub(1)?;
        Some(&self.message)
    }

    /// True if messages are still to be sent: the request has not ended.
    pub(crate) fn is_open(&self) -> bool {
        self.unsent > 0
    }

    /// True if every message was answered.
    pub(crate) fn is_answered(&self) -> bool {
        self.unanswered == 0
    }
}
