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

/// State that services keep between calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServiceState {
    /// Token buckets of the rate limits.
    pub(crate) buckets: Buckets,
}

fn find(path: &str) -> Option<(usize, &'static Service)> {
    SERVICES.iter().enumerate().find(|(_, service)| service.path == path)
}

/// The number of the streaming service with this path.
pub(crate) fn streaming(path: &str) -> Option<usize> {
    find(path).filter(|(_, service)| service.is_streaming).map(|(number, _)| number)
}

/// The reply of a streaming service, by its number, to a message; None if it gets none.
pub(crate) fn reply_to(number: usize, message: &[u8], state: &mut ServiceState) -> Option<Vec<u8>> {
    (SERVICES.get(number)?.reply)(message, state)
}

/// The reply to a call with one message; None if no service has this path.
pub(crate) fn reply(path: &str, message: &[u8], state: &mut ServiceState) -> Option<Vec<u8>> {
    let (_, service) = find(path)?;
    Some((service.reply)(message, state).unwrap_or_default())
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

    use proptest::prelude::*;

    use super::*;

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
                let _ = (service.reply)(&bytes, &mut ServiceState::default());
            }
        }
    }
}
