//! The collector of access logs (`envoy.service.accesslog.v3`): it takes them and says nothing.

use super::Service;

pub(super) const SERVICE: Service = Service {
    path: "/envoy.service.accesslog.v3.AccessLogService/StreamAccessLogs",
    is_streaming: true,
    answer: |_, _| None,
};
