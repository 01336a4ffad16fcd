//! gRPC calls whose messages are answered one by one, as they arrive: the echo in both directions, and the services that
//! stream. HTTP/2 and HTTP/3 share this; it knows neither.
//!
//! The messages of a call are answered in order, each after its own delay. While one is delayed, those behind it wait, and
//! count against flow control.

use hoptax_wire::grpc::{first, framed};
use hoptax_wire::http2::Head;

use crate::Served;
use crate::behaviour::Behaviour;
use crate::context::Context;
use crate::grpc::{self, Status};
use crate::respond::{Planned, behaviour};
use crate::services;

/// The path of the echo that answers each message.
const ECHO: &str = "/hoptax.echo.v1.Echo/Bidirectional";
/// Maximum message size, bytes: the default limit of gRPC.
const MAX_MESSAGE_BYTES: usize = 4 << 20;

/// A call in progress.
#[derive(Debug)]
pub(crate) struct Call {
    method: Method,
    behaviour: Behaviour,
    /// Bytes of the request; those before `answered_bytes` are answered.
    received: Vec<u8>,
    answered_bytes: usize,
    has_ended: bool,
    /// The reply that waits for its delay.
    delayed: Option<Reply>,
    /// Its times so far: its arrival, the service times of its messages, and the planned departure of the last reply.
    served: Served,
}

#[derive(Clone, Copy, Debug)]
enum Method {
    Echo,
    /// A streaming service, by its number.
    Service(usize),
}

/// A reply to a message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    /// The message with its prefix; empty if there is none.
    pub(crate) bytes: Vec<u8>,
    /// Size of the message that it answers, with its prefix.
    pub(crate) request_bytes: usize,
}

/// Next step of a call.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// It sends a reply.
    Reply(Reply),
    /// It ends with this status.
    End(Status),
}

/// The method of a call, if its messages are answered one by one.
fn method(head: &Head) -> Option<Method> {
    let path = head.path.split('?').next().unwrap_or_default();
    if path == ECHO { Some(Method::Echo) } else { services::streaming(head).map(Method::Service) }
}

/// Returns true if a request is a call whose messages are answered one by one.
pub(crate) fn is_streaming(head: &Head) -> bool {
    head.is_grpc() && method(head).is_some()
}

impl Call {
    /// Opens a call on a connection, or fails it with a response. Its parameters `status`, `error` and `close` are drawn here,
    /// the delays with each message. Also returns true if the connection closes after it.
    pub(crate) fn open(
        head: &Head,
        connection: u64,
        context: &mut Context,
    ) -> Result<(Self, bool), Box<Planned>> {
        let behaviour = match behaviour(head, context) {
            Ok(behaviour) => behaviour,
            Err(error) => {
                let response = grpc::failed(grpc::INVALID_ARGUMENT, &error.to_string());
                return Err(Box::new(Planned { response, plan: None, closes: false }));
            }
        };
        let drawn = behaviour.draw(&context.tables, &mut context.random);
        let served = context.plan_at_once(connection);
        let failed = |response| Err(Box::new(Planned { response, plan: Some(served), closes: drawn.close }));
        match (grpc::failure(&drawn), method(head)) {
            (Some(response), _) => failed(response),
            (None, Some(method)) => Ok((Self::new(method, behaviour, served), drawn.close)),
            (None, None) => failed(grpc::unknown_path()),
        }
    }

    fn new(method: Method, behaviour: Behaviour, served: Served) -> Self {
        Self {
            method,
            behaviour,
            received: Vec::new(),
            answered_bytes: 0,
            has_ended: false,
            delayed: None,
            served,
        }
    }

    /// Takes bytes of the request.
    pub(crate) fn receive(&mut self, data: &[u8]) {
        self.received.extend_from_slice(data);
    }

    /// States that the request has ended.
    pub(crate) fn end(&mut self) {
        self.has_ended = true;
    }

    /// Bytes in memory.
    pub(crate) fn held_bytes(&self) -> usize {
        self.received.len() + self.delayed.as_ref().map_or(0, |reply| reply.bytes.len())
    }

    /// Its times so far.
    pub(crate) fn served(&self) -> Served {
        self.served
    }

    /// Returns true if a reply waits for its delay.
    pub(crate) fn is_delayed(&self) -> bool {
        self.delayed.is_some()
    }

    /// The reply whose delay has expired.
    pub(crate) fn delay_expired(&mut self) -> Option<Reply> {
        self.delayed.take()
    }

    /// Returns the next step; None if the call waits for more of the request, or for a delay, which this starts on `stream`.
    pub(crate) fn next(&mut self, stream: u64, context: &mut Context) -> Option<Step> {
        if self.is_delayed() {
            return None;
        }
        let rest = self.received.get(self.answered_bytes..).unwrap_or_default();
        // Also if the whole message is there already: the limit must not depend on timing.
        if declared_bytes(rest).is_some_and(|bytes| bytes > MAX_MESSAGE_BYTES) {
            return Some(Step::End(Status {
                code: grpc::RESOURCE_EXHAUSTED,
                message: "a message exceeds 4 MiB",
            }));
        }
        let Some((message, behind)) = first(rest) else { return self.without_message(rest) };
        let request_bytes = rest.len() - behind.len();
        let bytes = match self.method {
            Method::Echo => rest.get(..request_bytes).unwrap_or_default().to_vec(),
            Method::Service(number) => services::reply_to(number, message, &mut context.services)
                .map_or_else(Vec::new, |reply| framed(&reply)),
        };
        self.forget(request_bytes);
        let reply = Reply { bytes, request_bytes };
        if !reply.bytes.is_empty() {
            let drawn = self.behaviour.draw(&context.tables, &mut context.random);
            let plan = context.plan(self.served.connection, &drawn);
            self.served.departs_ns = plan.departs_ns;
            if let Some(service_ns) = plan.service_ns {
                *self.served.service_ns.get_or_insert_default() += service_ns;
            }
            if context.delay(&plan, stream) {
                self.delayed = Some(reply);
                return None;
            }
        }
        Some(Step::Reply(reply))
    }

    /// Returns the next step of a call whose unanswered bytes have no complete message.
    fn without_message(&self, rest: &[u8]) -> Option<Step> {
        let (code, message) = match *rest {
            [] if self.has_ended => return Some(Step::End(Status::OK)),
            [flag, ..] if flag != 0 => (grpc::UNIMPLEMENTED, "compressed messages are not supported"),
            _ if self.has_ended => (grpc::INVALID_ARGUMENT, "the last message is incomplete"),
            _ => return None,
        };
        Some(Step::End(Status { code, message }))
    }

    /// Forgets a message.
    fn forget(&mut self, bytes: usize) {
        self.answered_bytes += bytes;
        // Shifting the rest for each message would take quadratic time.
        if self.answered_bytes >= self.received.len() / 2 {
            self.received.drain(..self.answered_bytes);
            self.answered_bytes = 0;
        }
    }
}

/// Length of the next message by its prefix; None while the prefix is incomplete or states a compressed message.
fn declared_bytes(rest: &[u8]) -> Option<usize> {
    match *rest {
        [0, a, b, c, d, ..] => Some(u32::from_be_bytes([a, b, c, d]) as usize),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    const PROCESSING: &str = "/envoy.service.ext_proc.v3.ExternalProcessor/Process";

    fn open(path: &str, context: &mut Context) -> Result<Call, Box<Planned>> {
        let head = Head { path: path.to_owned(), ..Head::default() };
        Call::open(&head, 0, context).map(|(call, _)| call)
    }

    /// The replies up to a delay, and the status if the call ends.
    fn replies(call: &mut Call, context: &mut Context) -> (Vec<Vec<u8>>, Option<u16>) {
        let mut replies = Vec::new();
        while let Some(step) = call.next(7, context) {
            match step {
                Step::Reply(reply) => replies.push(reply.bytes),
                Step::End(status) => return (replies, Some(status.code)),
            }
        }
        (replies, None)
    }

    #[test]
    fn each_message_is_answered_when_its_last_byte_has_arrived() {
        let messages = [framed(&[0x12, 0]), framed(&[]), framed(&[0x1a, 0])];
        let processed = [framed(&[0x0a, 0]), Vec::new(), framed(&[0x12, 0])];
        for (path, expected) in [(ECHO, &messages), (PROCESSING, &processed)] {
            let context = &mut Context::recording();
            let mut call = open(path, context).unwrap();
            for (message, reply) in messages.iter().zip(expected) {
                let (last, others) = message.split_last().unwrap();
                for byte in others {
                    call.receive(&[*byte]);
                    assert_eq!(replies(&mut call, context), (vec![], None));
                }
                call.receive(&[*last]);
                assert_eq!(replies(&mut call, context), (vec![reply.clone()], None), "{path}");
                assert_eq!(call.held_bytes(), 0);
            }
            call.end();
            assert_eq!(replies(&mut call, context), (vec![], Some(0)));
        }
    }

    #[test]
    fn messages_behind_a_delayed_one_wait_for_it() {
        let context = &mut Context::recording();
        let mut call = open(&format!("{ECHO}?delay=5ms"), context).unwrap();
        call.receive(&[framed(b"a"), framed(b"b")].concat());
        call.end();
        for message in [b"a", b"b"] {
            assert_eq!(replies(&mut call, context), (vec![], None));
            assert!(call.is_delayed());
            assert_eq!(std::mem::take(&mut context.delays), [(Duration::from_millis(5), 7)]);
            let reply = call.delay_expired().unwrap();
            assert_eq!((reply.bytes, reply.request_bytes), (framed(message), 6));
        }
        assert_eq!(replies(&mut call, context), (vec![], Some(0)));
        assert_eq!(context.in_flight, 2);
    }

    #[test]
    fn a_call_that_cannot_go_on_ends_with_a_status() {
        let ended = |bytes: &[u8]| {
            let context = &mut Context::recording();
            let mut call = open(ECHO, context).unwrap();
            call.receive(bytes);
            call.end();
            replies(&mut call, context)
        };
        assert_eq!(ended(&[1, 0, 0, 0, 0]), (vec![], Some(grpc::UNIMPLEMENTED)));
        assert_eq!(ended(&[0, 0, 0x40, 0, 1]), (vec![], Some(grpc::RESOURCE_EXHAUSTED)));
        let large = framed(&vec![0; MAX_MESSAGE_BYTES + 1]);
        let behind = [framed(b"first"), large].concat();
        assert_eq!(ended(&behind), (vec![framed(b"first")], Some(grpc::RESOURCE_EXHAUSTED)));
        let cut = [framed(b"whole"), vec![0, 0, 0, 0, 1]].concat();
        assert_eq!(ended(&cut), (vec![framed(b"whole")], Some(grpc::INVALID_ARGUMENT)));
        assert_eq!(ended(&[]), (vec![], Some(0)));
    }

    #[test]
    fn parameters_can_fail_a_call() {
        let context = &mut Context::recording();
        for (path, status) in [
            (format!("{ECHO}?status=503"), "14"),
            (format!("{ECHO}?delay=soon"), "3"),
            ("/a.B/C".to_owned(), "12"),
        ] {
            let response = open(&path, context).unwrap_err().response;
            assert!(response.fields.contains(&("grpc-status".to_owned(), status.to_owned())), "{path}");
        }
    }

    proptest! {
        #[test]
        fn an_echo_is_what_was_sent(pieces in prop::collection::vec(prop::collection::vec(0_u8..4, 0..30), 0..20)) {
            let context = &mut Context::recording();
            let mut call = open(ECHO, context).unwrap();
            let (mut sent, mut echoed) = (Vec::new(), Vec::new());
            for piece in &pieces {
                sent.extend_from_slice(piece);
                call.receive(piece);
                let (replies, status) = replies(&mut call, context);
                echoed.extend(replies.concat());
                if status.is_some() {
                    break;
                }
            }
            prop_assert!(sent.starts_with(&echoed));
            // The rest is no complete message.
            prop_assert!(first(&sent[echoed.len()..]).is_none());
        }
    }
}
