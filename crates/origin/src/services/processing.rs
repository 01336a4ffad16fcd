//! External processing (`envoy.service.ext_proc.v3`): leaves every part of requests and responses unchanged.

use super::{Service, fields};

pub(super) const SERVICE: Service = Service {
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
