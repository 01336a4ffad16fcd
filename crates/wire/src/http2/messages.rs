//! The messages of a gRPC call, timed one by one: a stream of answers, or a conversation.

use crate::grpc::MessageCounter;

/// How the messages of a call are sent. Those of the answer are reported as they arrive
/// ([`Event::Message`](crate::Event::Message)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Messages {
    /// The body is sent as a whole.
    Whole,
    /// The body is one message, and is sent so many times, at least once: each time after the answer to the one before.
    InTurn(u32),
}

/// The messages of one call.
#[derive(Clone, Debug)]
pub(super) struct Call {
    received: MessageCounter,
    /// The message that is sent again.
    message: Vec<u8>,
    /// How often it must still be sent.
    unsent: u32,
    /// Answers that the call must still get.
    unanswered: u32,
}

impl Call {
    /// A call whose body has just been sent.
    pub(super) fn new(messages: Messages, body: &[u8]) -> Self {
        let (message, times) = match messages {
            Messages::Whole => (Vec::new(), 0),
            Messages::InTurn(times) => (body.to_vec(), times.max(1)),
        };
        Self {
            received: MessageCounter::default(),
            message,
            unsent: times.saturating_sub(1),
            unanswered: times,
        }
    }

    /// Processes a part of the answer. Returns the number of messages that it completes.
    pub(super) fn receive(&mut self, data: &[u8]) -> u32 {
        let completed = self.received.feed(data);
        self.unanswered = self.unanswered.saturating_sub(completed);
        completed
    }

    /// The message that follows an answer; None after the last.
    pub(super) fn next(&mut self) -> Option<&[u8]> {
        self.unsent = self.unsent.checked_sub(1)?;
        Some(&self.message)
    }

    /// Whether messages are still to be sent, so that the request has not ended.
    pub(super) fn is_open(&self) -> bool {
        self.unsent > 0
    }

    /// Whether every message was answered.
    pub(super) fn is_answered(&self) -> bool {
        self.unanswered == 0
    }
}
