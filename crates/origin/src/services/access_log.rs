//! The access log service (`envoy.service.accesslog.v3`): accepts all entries. Its method sends no messages.

use super::Service;

pub(super) const SERVICE: Service = Service {
    path: "/envoy.service.accesslog.v3.AccessLogService/StreamAccessLogs",
    task: None,
    is_streaming: true,
    reply: |_, _| None,
};
