//! The collector of traces (`opentelemetry.proto.collector.trace.v1`): it takes them all.

use super::Service;

pub(super) const SERVICE: Service = Service {
    path: "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
    is_streaming: false,
    answer: |_, _| Some(Vec::new()),
};
