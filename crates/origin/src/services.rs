//! The gRPC services that proxies call: rate limits, external authorization, external processing, and collectors of access
//! logs and traces. With them, an origin is the companion of functions that need a service.
//!
//! Each service allows every request, except for rate limits, and returns the shortest valid response. The cost of a function
//! is then the work of the proxy and the round trip; the CPU time of the companion is accounted separately. Messages are
//! encoded by hand, with the names of their fields in comments.

mod access_log;
mod authorization;
mod processing;
mod rate_limit;
mod trace;

use hoptax_wire::grpc::first;
use hoptax_wire::http2::Head;

pub(crate) use rate_limit::Buckets;

/// A service.
struct Service {
    /// The path of its method.
    path: &'static str,
    /// Whether the method streams in both directions.
    is_streaming: bool,
    /// The reply to a message; None if it gets none.
    reply: fn(&[u8], &mut ServiceState) -> Option<Vec<u8>>,
}

/// All services.
const SERVICES: [Service; 5] =
    [rate_limit::SERVICE, authorization::SERVICE, processing::SERVICE, access_log::SERVICE, trace::SERVICE];

/// Maximum message size, bytes: the default limit of gRPC.
const MAX_MESSAGE_BYTES: usize = 4 << 20;

/// State that services keep between calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServiceState {
    /// Token buckets of the rate limits.
    pub(crate) buckets: Buckets,
}

/// An open streaming call.
#[derive(Debug)]
pub(crate) struct Call {
    service: usize,
    /// Received bytes of the next message.
    pending: Vec<u8>,
}

fn find(path: &str) -> Option<(usize, &'static Service)> {
    SERVICES.iter().enumerate().find(|(_, service)| service.path == path)
}

/// Whether a request is a streaming call.
pub(crate) fn is_streaming(head: &Head) -> bool {
    find(&head.path).is_some_and(|(_, service)| service.is_streaming)
}

/// The reply to a call with one message; None if no service has this path.
pub(crate) fn reply(path: &str, message: &[u8], state: &mut ServiceState) -> Option<Vec<u8>> {
    let (_, service) = find(path)?;
    Some((service.reply)(message, state).unwrap_or_default())
}

impl Call {
    /// Opens a streaming call; None if no service has this path.
    pub(crate) fn open(head: &Head) -> Option<Self> {
        Some(Self { service: find(&head.path)?.0, pending: Vec::new() })
    }

    /// Processes received data and passes each reply to `send`. False if the data is invalid.
    pub(crate) fn receive(
        &mut self,
        data: &[u8],
        state: &mut ServiceState,
        mut send: impl FnMut(&[u8]),
    ) -> bool {
        let Some(service) = SERVICES.get(self.service) else { return false };
        self.pending.extend_from_slice(data);
        let mut consumed = 0;
        while let Some(rest) = self.pending.get(consumed..) {
            match first(rest) {
                Some((message, remaining)) => {
                    if let Some(reply) = (service.reply)(message, state) {
                        send(&reply);
                    }
                    consumed = self.pending.len() - remaining.len();
                }
                // Compressed, although no compression was offered.
                None if rest.first().is_some_and(|flag| *flag != 0) => return false,
                None if rest.len() > MAX_MESSAGE_BYTES => return false,
                None => break,
            }
        }
        self.pending.drain(..consumed);
        true
    }
}

/// The length-delimited fields of a Protobuf message, with their numbers. Other fields are skipped. Ends at the first invalid
/// field.
fn fields(mut message: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    fn varint(bytes: &mut &[u8]) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = bytes.split_first()?;
            *bytes = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }
    std::iter::from_fn(move || {
        loop {
            let tag = varint(&mut message)?;
            let length = match tag & 7 {
                0 => {
                    varint(&mut message)?;
                    continue;
                }
                1 => 8,
                2 => usize::try_from(varint(&mut message)?).ok()?,
                5 => 4,
                _ => return None,
            };
            let (content, rest) = message.split_at_checked(length)?;
            message = rest;
            if tag & 7 == 2 {
                return Some((tag >> 3, content));
            }
        }
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use hoptax_wire::grpc::framed;
    use proptest::prelude::*;

    use super::*;

    fn open(path: &str) -> Call {
        Call::open(&Head { path: path.to_owned(), ..Head::default() }).unwrap()
    }

    #[test]
    fn a_streaming_call_replies_to_each_message_as_it_arrives() {
        let mut call = open("/envoy.service.ext_proc.v3.ExternalProcessor/Process");
        let messages = [framed(&[0x12, 0]), framed(&[0x1a, 0])].concat();
        let (mut replies, mut state) = (Vec::new(), ServiceState::default());
        for byte in &messages {
            assert!(call.receive(&[*byte], &mut state, |reply| replies.push(reply.to_vec())));
        }
        assert_eq!(replies, [[0x0a, 0], [0x12, 0]]);
        assert!(!call.receive(&[1, 0, 0, 0, 0], &mut state, |_| ()));
    }

    #[test]
    fn an_oversized_message_is_rejected() {
        let mut call = open("/envoy.service.ext_proc.v3.ExternalProcessor/Process");
        let mut state = ServiceState::default();
        assert!(call.receive(&[0, 0xff, 0xff, 0xff, 0xff], &mut state, |_| ()));
        assert!(call.receive(&vec![0; MAX_MESSAGE_BYTES - 5], &mut state, |_| ()));
        assert!(!call.receive(&[0], &mut state, |_| ()));
    }

    #[test]
    fn every_service_accepts_an_empty_message() {
        for service in &SERVICES {
            assert!(reply(service.path, &[], &mut ServiceState::default()).is_some(), "{}", service.path);
        }
        assert_eq!(reply("/a.B/C", &[], &mut ServiceState::default()), None);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            fields(&bytes).count();
            for service in &SERVICES {
                open(service.path).receive(&bytes, &mut ServiceState::default(), |_| ());
            }
        }
    }
}
