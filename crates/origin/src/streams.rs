//! The streams of one connection over HTTP/2 or HTTP/3: responses that are delayed, and calls whose messages are answered one
//! by one.

use std::collections::BTreeMap;

use hoptax_wire::http2::{Head, ServerEvent};

use crate::call::{Call, Reply, Step};
use crate::context::Context;
use crate::grpc::Status;
use crate::respond::{Planned, respond};
use crate::response::Response;

/// Maximum bytes of messages and replies that the calls of a connection hold. The call that exceeds it is reset.
const MAX_HELD_BYTES: u64 = 256 << 20;

/// Sends on the streams of one connection.
pub(crate) trait StreamSender {
    /// Sends a response.
    fn respond(&mut self, stream: u64, response: Response);

    /// Starts the response to a call.
    fn begin(&mut self, stream: u64);

    /// Sends the reply to a message of a call, and permits the client to send as many more bytes.
    fn reply(&mut self, stream: u64, reply: &Reply);

    /// Ends the response to a call.
    fn finish(&mut self, stream: u64, status: Status);

    /// Resets a stream.
    fn reset(&mut self, stream: u64);

    /// Applies the parameter `close` of a request. Returns true if the request still gets its response.
    fn close(&mut self, stream: u64) -> bool;

    /// Bytes of responses that are not sent yet, over all streams.
    fn unsent_bytes(&self) -> u64;
}

/// The requests of one connection that are not answered yet, by stream.
#[derive(Debug)]
pub(crate) struct Streams {
    /// The connection's number in the accept order of the worker.
    connection: u64,
    delayed: BTreeMap<u64, Planned>,
    calls: BTreeMap<u64, Call>,
    /// Bytes that all calls hold.
    held_bytes: u64,
    /// An upper bound of the unsent bytes of replies. Counting them for each message would take quadratic time.
    max_unsent_bytes: u64,
    /// [`MAX_HELD_BYTES`], or less in tests.
    max_held_bytes: u64,
}

impl Streams {
    pub(crate) fn new(connection: u64) -> Self {
        Self {
            connection,
            delayed: BTreeMap::new(),
            calls: BTreeMap::new(),
            held_bytes: 0,
            max_unsent_bytes: 0,
            max_held_bytes: MAX_HELD_BYTES,
        }
    }

    /// Returns true if no response is delayed and no call is open.
    pub(crate) fn is_idle(&self) -> bool {
        self.delayed.is_empty() && self.calls.is_empty()
    }

    /// Number of delayed responses and replies.
    pub(crate) fn delayed(&self) -> u64 {
        (self.delayed.len() + self.calls.values().filter(|call| call.is_delayed()).count()) as u64
    }

    /// Handles an event of a stream.
    pub(crate) fn handle<Id>(
        &mut self,
        stream: u64,
        event: ServerEvent<Id>,
        sender: &mut impl StreamSender,
        context: &mut Context,
    ) {
        match event {
            ServerEvent::Request { head, body, .. } => self.answer(stream, &head, &body, sender, context),
            ServerEvent::Opened { head, .. } => self.open(stream, &head, sender, context),
            ServerEvent::Data { data, .. } => {
                let receive = |call: &mut Call| {
                    call.receive(&data);
                    None
                };
                self.advance(stream, receive, sender, context);
            }
            ServerEvent::Ended { .. } => {
                let end = |call: &mut Call| {
                    call.end();
                    None
                };
                self.advance(stream, end, sender, context);
            }
            ServerEvent::Cancelled { .. } => self.cancel(stream, context),
        }
    }

    /// Sends the response or the reply whose delay has expired. Its stream may have been cancelled.
    pub(crate) fn delay_expired(
        &mut self,
        stream: u64,
        sender: &mut impl StreamSender,
        context: &mut Context,
    ) {
        if let Some(planned) = self.delayed.remove(&stream) {
            context.in_flight -= 1;
            send(stream, planned, sender, context);
        } else if self.calls.get(&stream).is_some_and(Call::is_delayed) {
            context.in_flight -= 1;
            self.advance(stream, Call::delay_expired, sender, context);
        }
    }

    /// Answers a request, at once or after its delay.
    fn answer(
        &mut self,
        stream: u64,
        head: &Head,
        body: &[u8],
        sender: &mut impl StreamSender,
        context: &mut Context,
    ) {
        let planned = respond(head, body, self.connection, context);
        if planned.plan.is_some_and(|plan| context.delay(&plan, stream)) {
            self.delayed.insert(stream, planned);
        } else {
            send(stream, planned, sender, context);
        }
    }

    /// Opens a call whose messages are answered one by one.
    fn open(&mut self, stream: u64, head: &Head, sender: &mut impl StreamSender, context: &mut Context) {
        let (call, closes) = match Call::open(head, self.connection, context) {
            Ok(opened) => opened,
            Err(planned) => return send(stream, *planned, sender, context),
        };
        if closes && !sender.close(stream) {
            return context.count_response(call.served());
        }
        sender.begin(stream);
        self.calls.insert(stream, call);
    }

    /// Changes a call, sends the reply that the change returns, and answers the messages that have arrived, up to one that is
    /// delayed.
    fn advance(
        &mut self,
        stream: u64,
        change: impl FnOnce(&mut Call) -> Option<Reply>,
        sender: &mut impl StreamSender,
        context: &mut Context,
    ) {
        let Some(call) = self.calls.get_mut(&stream) else { return };
        self.held_bytes -= call.held_bytes() as u64;
        let mut step = change(call).map(Step::Reply).or_else(|| call.next(stream, context));
        while let Some(Step::Reply(reply)) = &step {
            sender.reply(stream, reply);
            self.max_unsent_bytes = self.max_unsent_bytes.saturating_add(reply.bytes.len() as u64);
            step = call.next(stream, context);
        }
        if let Some(Step::End(status)) = step {
            context.count_response(call.served());
            sender.finish(stream, status);
            self.calls.remove(&stream);
            return;
        }
        self.held_bytes += call.held_bytes() as u64;
        if self.held_bytes + self.max_unsent_bytes > self.max_held_bytes {
            self.max_unsent_bytes = sender.unsent_bytes();
            if self.held_bytes + self.max_unsent_bytes > self.max_held_bytes {
                sender.reset(stream);
                self.cancel(stream, context);
            }
        }
    }

    /// Forgets a request that is cancelled.
    fn cancel(&mut self, stream: u64, context: &mut Context) {
        let call = self.calls.remove(&stream);
        self.held_bytes -= call.as_ref().map_or(0, |call| call.held_bytes() as u64);
        let is_delayed = call.is_some_and(|call| call.is_delayed()) || self.delayed.remove(&stream).is_some();
        context.in_flight -= u64::from(is_delayed);
    }
}

/// Counts a response and sends it.
fn send(stream: u64, planned: Planned, sender: &mut impl StreamSender, context: &mut Context) {
    match planned.plan {
        Some(plan) => context.count_response(plan),
        None => context.report.answered += 1,
    }
    if !planned.closes || sender.close(stream) {
        sender.respond(stream, planned.response);
    }
}

#[cfg(test)]
mod tests;
