//! Processing of requests and answers (`envoy.service.ext_proc.v3`): each part goes on as it is.

use super::{Service, fields};

pub(super) const SERVICE: Service = Service {
    path: "/envoy.service.ext_proc.v3.ExternalProcessor/Process",
    is_streaming: true,
    answer: |message, _| {
        // Headers, body and trailers of request and answer are the fields 2 to 7 of a question, and 1 to 6 of an answer.
        let (part, _) = fields(message).find(|(number, _)| (2..=7).contains(number))?;
        Some(vec![((part as u8 - 1) << 3) | 2, 0])
    },
};
