//! The services of gRPC that proxies ask: rate limits, authorisation, processing of requests, and collectors of access logs
//! and traces. With them an origin is the companion of functions that cannot work alone.
//!
//! Each answers as shortly as its protocol allows and lets everything pass, so that what is measured is the proxy's work and
//! the way there and back; how much of the companion's own is in it is accounted apart. Messages are small enough to be
//! written by hand; their fields are named beside them.

mod access_log;
mod authorization;
mod processing;
mod rate_limit;
mod trace;

use hoptax_wire::grpc::first;
use hoptax_wire::http2::Head;

pub(crate) use rate_limit::Buckets;

/// A service: its path, and what it says to each message.
struct Service {
    path: &'static str,
    /// Whether calls stay open, and messages come one after the other.
    is_streaming: bool,
    /// The answer to a message; None where there is none.
    answer: fn(&[u8], &mut Companion) -> Option<Vec<u8>>,
}

/// All of them.
const SERVICES: [Service; 5] =
    [rate_limit::SERVICE, authorization::SERVICE, processing::SERVICE, access_log::SERVICE, trace::SERVICE];

/// Most bytes of a message that are waited for, as much as gRPC takes by default: nobody is to fill the memory.
const MOST_BYTES: usize = 4 << 20;

/// What services remember from call to call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Companion {
    /// Those of the rate limits.
    pub(crate) buckets: Buckets,
}

/// An open call to a service.
#[derive(Debug)]
pub(crate) struct Call {
    service: usize,
    /// What has come of the next message.
    pending: Vec<u8>,
}

fn of(path: &str) -> Option<(usize, &'static Service)> {
    SERVICES.iter().enumerate().find(|(_, service)| service.path == path)
}

/// Whether a request is a call that stays open.
pub(crate) fn is_streaming(head: &Head) -> bool {
    of(&head.path).is_some_and(|(_, service)| service.is_streaming)
}

/// The answer to a call with one message; None when no service has that path.
pub(crate) fn answer(path: &str, message: &[u8], companion: &mut Companion) -> Option<Vec<u8>> {
    let (_, service) = of(path)?;
    Some((service.answer)(message, companion).unwrap_or_default())
}

impl Call {
    /// A call that stays open.
    pub(crate) fn open(head: &Head) -> Option<Self> {
        Some(Self { service: of(&head.path)?.0, pending: Vec::new() })
    }

    /// Takes a part of the call; the messages to be sent in turn are given to `each`. False when it is none of gRPC.
    pub(crate) fn take(
        &mut self,
        data: &[u8],
        companion: &mut Companion,
        mut each: impl FnMut(&[u8]),
    ) -> bool {
        let Some(service) = SERVICES.get(self.service) else { return false };
        self.pending.extend_from_slice(data);
        let mut taken = 0;
        while let Some(rest) = self.pending.get(taken..) {
            match first(rest) {
                Some((message, behind)) => {
                    if let Some(answer) = (service.answer)(message, companion) {
                        each(&answer);
                    }
                    taken = self.pending.len() - behind.len();
                }
                // Compressed, which was not offered.
                None if rest.first().is_some_and(|flag| *flag != 0) => return false,
                None if rest.len() > MOST_BYTES => return false,
                None => break,
            }
        }
        self.pending.drain(..taken);
        true
    }
}

/// The number and the content of each field of a message whose content is bytes; others are passed over. It ends where the
/// message makes no sense.
fn fields(mut message: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    fn number(bytes: &mut &[u8]) -> Option<u64> {
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
            let tag = number(&mut message)?;
            let length = match tag & 7 {
                0 => {
                    number(&mut message)?;
                    continue;
                }
                1 => 8,
                2 => usize::try_from(number(&mut message)?).ok()?,
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
    fn a_call_that_stays_open_answers_each_message_as_it_comes() {
        let mut call = open("/envoy.service.ext_proc.v3.ExternalProcessor/Process");
        let messages = [framed(&[0x12, 0]), framed(&[0x1a, 0])].concat();
        let (mut said, mut companion) = (Vec::new(), Companion::default());
        for byte in &messages {
            assert!(call.take(&[*byte], &mut companion, |answer| said.push(answer.to_vec())));
        }
        assert_eq!(said, [[0x0a, 0], [0x12, 0]]);
        assert!(!call.take(&[1, 0, 0, 0, 0], &mut companion, |_| ()));
    }

    #[test]
    fn a_message_without_end_is_not_kept() {
        let mut call = open("/envoy.service.ext_proc.v3.ExternalProcessor/Process");
        let mut companion = Companion::default();
        assert!(call.take(&[0, 0xff, 0xff, 0xff, 0xff], &mut companion, |_| ()));
        assert!(call.take(&vec![0; MOST_BYTES - 5], &mut companion, |_| ()));
        assert!(!call.take(&[0], &mut companion, |_| ()));
    }

    #[test]
    fn every_service_answers_an_empty_message() {
        for service in &SERVICES {
            assert!(answer(service.path, &[], &mut Companion::default()).is_some(), "{}", service.path);
        }
        assert_eq!(answer("/a.B/C", &[], &mut Companion::default()), None);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            fields(&bytes).count();
            for service in &SERVICES {
                open(service.path).take(&bytes, &mut Companion::default(), |_| ());
            }
        }
    }
}
