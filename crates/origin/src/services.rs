//! The gRPC services that proxies call: rate limits, external authorization, external processing, collectors of access logs
//! and traces, and discovery of routes and secrets. With them, an origin is the companion of functions that need a service.
//!
//! Rate limits and [tasks] may refuse requests; all other services allow every request. Except for discovery, each service returns the
//! shortest valid response, so the cost of a function is the work of the proxy and the round trip. The CPU time of the companion is
//! accounted separately. Messages are encoded by hand, with the names of their fields in comments.

mod rate_limit;
mod route_discovery;
mod secret_discovery;
mod tasks;

use hoptax_wire::grpc::fields;
use hoptax_wire::http2::Head;

pub(crate) use rate_limit::Buckets;
pub use secret_discovery::{Secrets, SecretsError};

/// The header of a call that selects a task, if its method performs several.
const TASK_HEADER: &str = "x-hoptax-task";

/// A service.
struct Service {
    /// The path of its method.
    path: &'static str,
    /// The value of [`TASK_HEADER`] of its calls; None for calls without this header.
    task: Option<&'static str>,
    /// True if the method streams in both directions.
    is_streaming: bool,
    /// The reply to a message; None if it gets none.
    reply: fn(&[u8], &mut ServiceState) -> Option<Vec<u8>>,
}

/// All services.
const SERVICES: [Service; 13] = [
    rate_limit::SERVICE,
    AUTHORIZATION,
    PROCESSING,
    ACCESS_LOG,
    TRACE,
    route_discovery::SERVICE,
    secret_discovery::KEEPING,
    secret_discovery::REMOVING,
    tasks::ADD_HEADER,
    tasks::CHECK_TOKEN,
    tasks::ADD_HEADER_AS_AUTHORIZATION,
    tasks::CHECK_TOKEN_AS_AUTHORIZATION,
    tasks::REWRITE_JSON,
];

/// External authorization (`envoy.service.auth.v3`): allows every request.
const AUTHORIZATION: Service = Service {
    path: "/envoy.service.auth.v3.Authorization/Check",
    task: None,
    is_streaming: false,
    // Field 1 is `status`: an empty one is OK. Field 3 is `ok_response`: an empty one leaves the request unchanged.
    reply: |_, _| Some(vec![0x0a, 0, 0x1a, 0]),
};

/// External processing (`envoy.service.ext_proc.v3`): leaves every part of requests and responses unchanged.
const PROCESSING: Service = Service {
    path: "/envoy.service.ext_proc.v3.ExternalProcessor/Process",
    task: None,
    is_streaming: true,
    reply: |message, _| {
        // Headers, body and trailers of request and response are fields 2 to 7 of `ProcessingRequest`, and 1 to 6 of
        // `ProcessingResponse`.
        let (part, _) = fields(message).find(|(number, _)| (2..=7).contains(number))?;
        Some(vec![((part as u8 - 1) << 3) | 2, 0])
    },
};

/// The access log service (`envoy.service.accesslog.v3`): accepts all entries. Its method sends no messages.
const ACCESS_LOG: Service = Service {
    path: "/envoy.service.accesslog.v3.AccessLogService/StreamAccessLogs",
    task: None,
    is_streaming: true,
    reply: |_, _| None,
};

/// The trace collector (`opentelemetry.proto.collector.trace.v1`): accepts all spans.
const TRACE: Service = Service {
    path: "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
    task: None,
    is_streaming: false,
    reply: |_, _| Some(Vec::new()),
};

/// State that services keep between calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServiceState {
    /// Token buckets of the rate limits.
    pub(crate) buckets: Buckets,
    /// Certificates for proxies.
    pub(crate) secrets: Secrets,
}

fn find(head: &Head) -> Option<(usize, &'static Service)> {
    let path = head.path.split('?').next().unwrap_or_default();
    let task = head.field(TASK_HEADER);
    SERVICES.iter().enumerate().find(|(_, service)| service.path == path && service.task == task)
}

/// The number of the streaming service that a call asks for.
pub(crate) fn streaming(head: &Head) -> Option<usize> {
    find(head).filter(|(_, service)| service.is_streaming).map(|(number, _)| number)
}

/// The reply of a streaming service, by its number, to a message; None if it gets none.
pub(crate) fn reply_to(number: usize, message: &[u8], state: &mut ServiceState) -> Option<Vec<u8>> {
    (SERVICES.get(number)?.reply)(message, state)
}

/// The reply to a call with one message; None if it asks for no service.
pub(crate) fn reply(head: &Head, message: &[u8], state: &mut ServiceState) -> Option<Vec<u8>> {
    let (_, service) = find(head)?;
    Some((service.reply)(message, state).unwrap_or_default())
}

/// A length-delimited field of a Protobuf message with a number below 16.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let mut field = vec![(number << 3) | 2];
    let mut length = content.len();
    while length >= 0x80 {
        field.push(length as u8 | 0x80);
        length >>= 7;
    }
    field.push(length as u8);
    field.extend_from_slice(content);
    field
}

/// The first length-delimited field on a path of field numbers into nested messages.
fn nested<'a>(message: &'a [u8], path: &[u64]) -> Option<&'a [u8]> {
    path.iter().try_fold(message, |message, wanted| {
        fields(message).find(|(number, _)| number == wanted).map(|(_, content)| content)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn head(path: &str, task: Option<&str>) -> Head {
        let fields = task.map(|task| (TASK_HEADER.to_owned(), task.to_owned()));
        Head { path: path.to_owned(), fields: fields.into_iter().collect(), ..Head::default() }
    }

    #[test]
    fn every_service_accepts_an_empty_message() {
        for (number, service) in SERVICES.iter().enumerate() {
            let head = head(service.path, service.task);
            assert!(reply(&head, &[], &mut ServiceState::default()).is_some(), "{head:?}");
            assert_eq!(find(&head).map(|(number, _)| number), Some(number), "{head:?}");
        }
    }

    #[test]
    fn a_call_without_a_service_gets_no_reply() {
        for head in [head("/a.B/C", None), head(AUTHORIZATION.path, Some("dance"))] {
            assert_eq!(reply(&head, &[], &mut ServiceState::default()), None, "{head:?}");
        }
    }

    proptest! {
        // Each case has thousands of bytes.
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_written_field_is_read(number in 1_u8..16, content in prop::collection::vec(any::<u8>(), 0..40_000)) {
            let message = field(number, &content);
            prop_assert_eq!(fields(&message).collect::<Vec<_>>(), [(u64::from(number), content.as_slice())]);
        }
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
